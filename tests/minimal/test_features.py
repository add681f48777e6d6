"""The one-file version agrees with the library: settings, data, every step, the whole course."""

import pytest
import torch

from beyondkernels.algorithms import FeatureLearning, GradientDescent
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.networks import Linearised, TwoLayer
from beyondkernels.papers.features import DictionaryParity, theorem26
from beyondkernels.papers.features.experiments.table1 import Table1

D, K, M, T, N, BATCH = 12, 3, 6, 8, 120, 20
PROBLEM = DictionaryParity(dim=16, patterns=D, relevant=K)


def test_theorem26_agrees(minimal):
    problem = DictionaryParity(dim=500, patterns=100, relevant=5)
    ours = theorem26(problem, TwoLayer(300), steps=600)
    scales, first, rate = minimal.theorem26()
    assert (ours.initial.weight_std, ours.initial.bias_std, ours.initial.output_std) == pytest.approx(scales)
    assert ours.first.hidden_rate == pytest.approx(first)
    assert ours.later.hidden_rate == pytest.approx(rate)


@pytest.mark.parametrize("structured", [True, False])
def test_data_have_the_same_moments(minimal, structured):
    generator = torch.Generator().manual_seed(1)
    dictionary, relevant = minimal.dictionary(generator, 16, D, K)
    x, y = minimal.sample(40_000, dictionary, relevant, structured, generator)
    problem = PROBLEM if structured else PROBLEM.without_structure()
    error = 5 / 40_000**0.5
    assert y.mean().item() == pytest.approx(2 * problem.moments.positive - 1, abs=error)
    assert (x**2).sum(1).mean().item() == pytest.approx(1, abs=error)
    projections = (x @ dictionary[:, relevant] * y[:, None]).mean(0) * problem.moments.scale
    expected = problem.moments.correlations[list(problem.relevant_set)]
    torch.testing.assert_close(projections.double(), expected, rtol=0, atol=error * problem.moments.scale)


NAMES = ("hidden.weight", "hidden.bias", "output.weight")


def member_in_double(network, algorithm) -> Member:
    drawn = PROBLEM.sample(N, Stream(0))
    member = Member(network, algorithm, Sample(drawn.x.double(), drawn.y.double()), Stream(1))
    member.start(16, 1)
    member.params = {name: value.double() for name, value in member.params.items()}
    member.buffers = {name: value.double() for name, value in member.buffers.items()}
    return member


def batches(entered: int, count: int) -> list[torch.Tensor]:
    each = N // BATCH
    orders = [Stream(1).child("batches", str(entered)).at(epoch).permutation(N) for epoch in range(count // each + 1)]
    return list(torch.cat(orders).split(BATCH))[:count]


def assert_same_course(member: Member, seen: dict[int, list[torch.Tensor]]) -> None:
    for t in range(1, T + 1):
        train([member], [frozenset()], lambda _: None, until=t)
        for name, theirs in zip(NAMES, seen[t], strict=True):
            mine = member.params[name].reshape(theirs.shape)
            torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-12, msg=f"{name}, step {t}")


@pytest.mark.parametrize(
    ("frozen", "one_rate"),
    [(None, False), (None, True), (0, True), (1, False), (2, False)],
    ids=["network", "one rate", "rf", "one step", "two step"],
)
def test_every_step_of_the_process_agrees(minimal, frozen, one_rate):
    rate = None if one_rate else minimal.READOUT_RATE
    process = theorem26(PROBLEM, TwoLayer(M), steps=T, batch=BATCH, readout_rate=rate)
    member = member_in_double(TwoLayer(M), FeatureLearning(process, freeze_hidden_after=frozen))
    W, b, a = (member.params[name] for name in NAMES)
    seen, sample = {}, member.sample
    given = {"k": K, "T": T, "D": D, "frozen_after": frozen, "one_rate": one_rate}
    given["snapshot"] = lambda t, *moved: seen.update({t: list(moved)})
    minimal.train(W, b, a[0], sample.x, sample.y, batches(entered=2, count=T - 2), **given)
    assert_same_course(member, seen)


def test_every_step_of_the_tangent_method_agrees(minimal):
    descent = GradientDescent(T, minimal.TANGENT_RATE, BATCH)
    member = member_in_double(Linearised(TwoLayer(M)), descent)
    W, b, a = (member.buffers[f"at.{name}"] for name in NAMES)
    seen, orders = {}, batches(entered=0, count=T)
    keep = lambda t, *moved: seen.update({t: list(moved)})  # noqa: E731
    minimal.train_linearised(W, b, a[0], member.sample.x, member.sample.y, orders, snapshot=keep)
    assert_same_course(member, seen)


def test_its_choices_are_the_librarys(minimal):
    settings = Table1().settings("paper")
    assert (settings.readout_rate, settings.tangent_rate) == (minimal.READOUT_RATE, minimal.TANGENT_RATE)
    sizes = (settings.dim, settings.patterns, settings.relevant, settings.pairs, settings.steps, settings.batch)
    assert (minimal.d, minimal.D, minimal.k, minimal.m, minimal.T, minimal.BATCH) == sizes
