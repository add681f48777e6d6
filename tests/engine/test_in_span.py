"""Training in the span of the inputs gives the network of the whole space."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Case, InputError, Learner, Outcome, Stream
from beyondkernels.papers.features.problems import DictionaryParity, Incoherent
from fitting import case_of

PROBLEM = DictionaryParity(dim=40, patterns=12, relevant=3)
NETWORK = bk.networks.TwoLayer(pairs=6)
PROCESS = bk.features.theorem26(PROBLEM, NETWORK, steps=12, batch=50, readout_rate=2.0)


def case(problem: Any = PROBLEM, seed: int = 0) -> Case:
    return case_of(problem, 200, 100, seed, validation=problem.sample(30, Stream(seed).child("more")))


def trained(freeze: int | None = None, **more: Any) -> bk.engine.TrainedNetwork:
    rule = bk.algorithms.FeatureLearning(PROCESS, freeze_hidden_after=freeze, **more)
    return bk.engine.TrainedNetwork(
        NETWORK, rule, record_at=(2, 6, 12), snapshot_at=(0, 1, 2, 12), snapshot_names=("hidden.weight",)
    )


def linearised(decay: float = 0.0) -> bk.engine.TrainedNetwork:
    network = bk.networks.Linearised(bk.networks.TwoLayer(pairs=6, initialisation=PROCESS.initial))
    rule = bk.algorithms.GradientDescent(12, 0.01, 50, momentum=0.9, weight_decay=decay)
    names = ("hidden.weight", "buffers/at.hidden.weight")
    return bk.engine.TrainedNetwork(network, rule, record_at=(3,), snapshot_at=(0, 12), snapshot_names=names)


def decaying() -> bk.engine.TrainedNetwork:
    """Weights outside the span shrink."""
    rule = bk.algorithms.GradientDescent(12, 0.1, 50, momentum=0.5, weight_decay=0.3)
    return bk.engine.TrainedNetwork(NETWORK, rule, snapshot_at=(0, 5, 12), snapshot_names=("hidden.weight",))


def same(one: Outcome, other: Outcome, near: float = 2e-5) -> None:
    assert one.scalars.keys() == other.scalars.keys() and one.arrays.keys() == other.arrays.keys()
    for name, value in one.scalars.items():
        assert other.scalars[name] == pytest.approx(value, rel=1e-3, abs=near), name
    for name, series in one.series.items():
        np.testing.assert_allclose(other.series[name], series, rtol=1e-3, atol=near, err_msg=name)
    for name, array in one.arrays.items():
        assert other.arrays[name].shape == array.shape
        np.testing.assert_allclose(other.arrays[name], array, rtol=0, atol=near * abs(array).max(), err_msg=name)


@pytest.mark.parametrize(
    "learner", [trained(), trained(0), trained(1), trained(2), trained(noise_kind="drawn"), linearised(0.1), decaying()]
)
def test_the_same_network(learner: bk.engine.TrainedNetwork) -> None:
    given = case()
    whole, inside = (each.fit(given, lambda _: None) for each in (learner, bk.engine.InSpan(learner)))
    same(whole, inside)
    assert whole.predictor is not None and inside.predictor is not None
    torch.testing.assert_close(inside.predictor(given.test.x), whole.predictor(given.test.x), rtol=1e-3, atol=1e-4)


def test_the_part_outside_is_there_and_shrinks() -> None:
    outcome = bk.engine.InSpan(decaying()).fit(case(), lambda _: None)
    M = PROBLEM.matrix.numpy()
    outside = [np.linalg.norm(w - w @ M @ M.T) for w in (outcome.arrays[f"snapshot/{t}/hidden.weight"] for t in (0, 5))]
    assert 0.2 * outside[0] < outside[1] < 0.95 * outside[0]


@pytest.mark.parametrize("kind", ["neurons", "tangent", "inputs"])
def test_the_same_features(kind: Any) -> None:
    features: Any = bk.kernels.InputFeatures()
    if kind != "inputs":
        features = bk.engine.NetworkFeatures(NETWORK, bk.algorithms.FeatureLearning(PROCESS), 2, kind)
    learner = bk.kernels.FixedFeatureClassifier(features, ridges=(0.01, 0.1), smallest=0.01, largest=0.1)
    whole, inside = (each.fit(case(), lambda _: None) for each in (learner, bk.engine.InSpan(learner)))
    assert inside.scalars["ridge"] == whole.scalars["ridge"]
    assert inside.scalars["test_accuracy"] == pytest.approx(whole.scalars["test_accuracy"], abs=0.021)


@pytest.mark.parametrize(
    ("problem", "span"),
    [
        (PROBLEM, (40, 12)),
        (replace(PROBLEM, dictionary=Incoherent(mu=2.0)), (40, 12)),
        (replace(PROBLEM, noise_std=0.1), None),
        (replace(PROBLEM, dim=12), None),
    ],
)
def test_the_span_of_a_problem(problem: Any, span: tuple[int, int] | None) -> None:
    if span is None:
        assert problem.span is None
        with pytest.raises(InputError, match="problem must have inputs that span a known, smaller space"):
            bk.engine.InSpan(trained()).check(problem, 100, 10)
        return
    Q, x = problem.span, problem.sample(50, Stream(0)).x.double()
    assert Q.shape == span
    torch.testing.assert_close(Q.T @ Q, torch.eye(12, dtype=torch.float64))
    torch.testing.assert_close(x @ Q @ Q.T, x, rtol=0, atol=1e-6)


def test_what_is_refused() -> None:
    adam = bk.algorithms.Descent(3, bk.algorithms.optimisers.adamw(0.01))
    refused: dict[str, Learner] = {
        "algorithm must be FeatureLearning or GradientDescent": bk.engine.TrainedNetwork(NETWORK, adam),
        "network must be a TwoLayer": bk.engine.TrainedNetwork(
            bk.networks.FullyConnected(4), bk.algorithms.GradientDescent(3, 0.1)
        ),
    }
    for sentence, learner in refused.items():
        with pytest.raises(InputError, match=sentence):
            bk.engine.InSpan(learner)  # type: ignore[arg-type]
