from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import InputError, Problem, Sample, Stream
from beyondkernels.engine import Member, TrainedNetwork, compare, fit
from beyondkernels.engine.learner import predict
from beyondkernels.kernels import ConstantClassifier, Gaussian, KernelRidge, PolynomialKernel
from beyondkernels.networks import FromModule, FullyConnected, TwoLayer
from beyondkernels.problems import DictionaryParity

PROBLEM = DictionaryParity(dim=8, patterns=6, relevant=3)
RULE = GradientDescent(steps=5, learning_rate=0.1)


def test_fit_gives_scalars_as_attributes():
    run = fit(TwoLayer(pairs=4), PROBLEM, n=60, algorithm=RULE, seed=1, test=30)
    assert run.status == "finished"
    assert 0 <= run.test_accuracy <= 1
    with pytest.raises(AttributeError, match="this run has no 'risk'; it has steps, test_accuracy"):
        _ = run.risk


def test_fit_needs_a_rule_for_a_network():
    with pytest.raises(InputError, match="a network needs an algorithm that trains it"):
        fit(TwoLayer(pairs=4), PROBLEM, n=60)
    with pytest.raises(InputError, match="n must be positive, got 0"):
        fit(TwoLayer(pairs=4), PROBLEM, n=0, algorithm=RULE)


def test_measure_on_a_run():
    run = fit(TwoLayer(pairs=4), PROBLEM, n=60, algorithm=RULE, snapshot_at=(0, 5), snapshot_names=("hidden.weight",))
    scalars, arrays = run.measure(bk.measure.Alignment())
    assert set(scalars) == {"cosine/0", "cosine/5", "cosine_either/0", "cosine_either/5"}
    assert arrays["cosines/5"].shape == (8,)


def test_compare_gives_all_learners_the_same_samples():
    learners = {"slow": TrainedNetwork(TwoLayer(pairs=4), RULE), "again": TrainedNetwork(TwoLayer(pairs=4), RULE)}
    comparison = compare(PROBLEM, 60, learners=learners, seeds=2, test=30)
    slow, again = comparison.rows
    assert slow["seeds"] == 2
    assert {k: v for k, v in slow.items() if k != "learner"} == {k: v for k, v in again.items() if k != "learner"}
    assert "slow" in str(comparison)
    accuracies = [run.test_accuracy for run in comparison.runs["slow"]]
    assert slow["test_accuracy"] == pytest.approx(sum(accuracies) / 2)


def test_a_kernel_stands_for_ridge_regression_with_it():
    kernel = Gaussian(bandwidth=8.0)
    run = fit(kernel, PROBLEM, n=60, test=30)
    assert run.learner == KernelRidge(kernel)
    assert run.test_accuracy == fit(KernelRidge(kernel), PROBLEM, n=60, test=30).test_accuracy
    shown = str(compare(PROBLEM, 60, learners={"a kernel with a rather long name": kernel}, seeds=1, test=30))
    head, line = shown.splitlines()
    assert len(head) == len(line)
    assert line.startswith("a kernel with a rather long name ")
    assert f"{100 * run.test_accuracy:.2f}%" in line


@dataclass(frozen=True)
class Doubled(Problem):
    @property
    def in_dim(self):
        return 3

    @property
    def out_dim(self):
        return 2

    def sample(self, n, stream):
        x = stream.normal(n, 3)
        return Sample(x, 2 * x[:, :2])


def test_regressions_are_shown_by_their_errors():
    comparison = compare(Doubled(), 40, learners={"line": PolynomialKernel(degree=1)}, seeds=2, test=20)
    assert comparison.rows[0]["test_error"] < 1e-6
    assert f"{comparison.rows[0]['test_error']:.3g}" in str(comparison)
    assert "%" not in str(comparison)


def make(in_dim, out_dim):
    return torch.nn.Linear(in_dim, out_dim)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: compare(PROBLEM, 60, learners={}, seeds=1), "learners must hold at least one learner by name"),
        (
            lambda: compare(PROBLEM, 60, learners={"a": ConstantClassifier()}, seeds=0),
            "seeds must give at least one seed",
        ),
        (
            lambda: compare(PROBLEM, 60, learners={"a": TwoLayer(4)}),  # pyright: ignore[reportArgumentType]
            "a must be a learner or a kernel, got a TwoLayer; a network becomes one with TrainedNetwork",
        ),
        (lambda: fit(ConstantClassifier(), PROBLEM, n=60, algorithm=RULE), "ConstantClassifier knows how to learn"),
        (
            lambda: fit(TwoLayer(4), PROBLEM, n=60, algorithm=RULE, snapshot_names=("hiden.weight",)),
            "unknown parameter in snapshot_names 'hiden.weight', did you mean hidden.weight",
        ),
        (
            lambda: FromModule(torch.nn.Linear(8, 1), "mine"),  # pyright: ignore[reportArgumentType]
            "factory must be a function of",
        ),
        (
            lambda: bk.theory.theorem26(PROBLEM, FromModule(make, "mine")),  # pyright: ignore[reportArgumentType]
            "network must be a TwoLayer, got FromModule",
        ),
    ],
)
def test_sentences_at_the_front_door(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_the_record_begins_at_the_start_where_it_is_asked_to(backend):
    network = bk.networks.FullyConnected(6, 2, parameterisation=bk.networks.Parameterisation("standard"))
    rule = GradientDescent(10, 0.1, 10, objective=bk.algorithms.Squared())
    problem, words = DictionaryParity(dim=8, patterns=6, relevant=3), dict[str, Any](n=50, test=20, seed=100)
    fields: dict[str, Any] = {"backend": backend, "snapshot_at": (0,), "snapshot_names": ("layer1.weight",)}
    run = fit(TrainedNetwork(network, rule, record_at=(0, 4, 10), **fields), problem, **words)
    assert run.outcome.series["step"].tolist() == [0, 4, 10]
    without = fit(TrainedNetwork(network, rule, record_at=(4, 10), **fields), problem, **words)
    for name, values in without.outcome.series.items():
        assert run.outcome.series[name][1:].tolist() == values.tolist()
    assert run.outcome.scalars == without.outcome.scalars
    untrained = fit(TrainedNetwork(network, replace(rule, steps=1, learning_rate=1e-30), **fields), problem, **words)
    for name in ("train_loss", "test_loss"):
        assert run.outcome.series[name][0] == untrained.outcome.scalars[name]


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 70])
def test_predictions_of_blocks_are_put_together(n, monkeypatch):
    monkeypatch.setattr("beyondkernels.networks.evaluation.evaluation_block", lambda _: 32)
    network = FullyConnected(6, depth=3)
    x = Stream(0).child("x").normal(n, 4)
    member = Member(network, GradientDescent(1, 0.1, objective=Squared()), Sample(x, x[:, :2]), Stream(1))
    member.start(4, 2)
    out = predict(member, x)
    assert out.shape == (n, 2)
    assert torch.allclose(out, network.apply(member.params, member.buffers, x)[0], atol=1e-6)
