"""The one-file version agrees with the library: settings, data, every step, the whole course."""

import importlib.util
from pathlib import Path

import pytest
import torch

from beyondkernels.algorithms import FeatureLearning
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.networks import Linearised, TwoLayer
from beyondkernels.problems import DictionaryParity
from beyondkernels.theory import theorem26

FILE = Path(__file__).parents[2] / "minimal" / "features.py"
D, K, M, T, N, BATCH = 12, 3, 6, 8, 120, 20
PROBLEM = DictionaryParity(dim=16, patterns=D, relevant=K)


@pytest.fixture(scope="module")
def minimal():
    spec = importlib.util.spec_from_file_location("minimal_features", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short():
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 150


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


@pytest.mark.parametrize(
    ("network", "frozen", "one_rate"),
    [
        (TwoLayer(M), None, False),
        (TwoLayer(M), None, True),
        (TwoLayer(M), 0, True),
        (TwoLayer(M), 1, False),
        (TwoLayer(M), 2, False),
        (Linearised(TwoLayer(M)), None, True),
    ],
    ids=["network", "one rate", "rf", "one step", "two step", "ntk"],
)
def test_every_step_agrees(minimal, network, frozen, one_rate):
    rate = None if one_rate else minimal.READOUT_RATE
    process = theorem26(PROBLEM, TwoLayer(M), steps=T, batch=BATCH, readout_rate=rate)
    drawn = PROBLEM.sample(N, Stream(0))
    sample = Sample(drawn.x.double(), drawn.y.double())
    member = Member(network, FeatureLearning(process, freeze_hidden_after=frozen), sample, Stream(1))
    member.start(16, 1)
    member.params = {name: value.double() for name, value in member.params.items()}
    member.buffers = {name: value.double() for name, value in member.buffers.items()}
    linearised = isinstance(network, Linearised)
    start = member.buffers if linearised else member.params
    names = ("hidden.weight", "hidden.bias", "output.weight")
    W, b, a = (start[f"at.{name}" if linearised else name] for name in names)
    batches = [
        Stream(1).child("batches", "classifier").at(0).permutation(N)[i * BATCH : (i + 1) * BATCH] for i in range(6)
    ]
    seen = {}
    minimal.train(
        W,
        b,
        a[0],
        sample.x,
        sample.y,
        batches,
        frozen_after=frozen,
        linearised=linearised,
        one_rate=one_rate,
        k=K,
        T=T,
        D=D,
        snapshot=lambda t, *moved: seen.update({t: [value.clone() for value in moved]}),
    )
    for t in range(1, T + 1):
        train([member], [frozenset()], lambda _: None, until=t)
        ours = [member.params[name] for name in names]
        for name, mine, theirs in zip(names, ours, seen[t], strict=True):
            torch.testing.assert_close(
                mine.reshape(theirs.shape), theirs, rtol=1e-6, atol=1e-12, msg=f"{name}, step {t}"
            )
