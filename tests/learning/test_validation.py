"""The third sample: drawn from a stream of its own, scored by every learner, absent from old keys."""

from __future__ import annotations

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.core import Learner, Problem, Stream, build, describe
from beyondkernels.engine import TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.kernels import (
    ConstantClassifier,
    FixedFeatureClassifier,
    InputFeatures,
    KernelRidge,
    PolynomialKernel,
    RecursiveFeatureMachine,
    TunedKernel,
    TwoStepRidge,
)
from beyondkernels.store import RunSpec

PARITY = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
COMPOSITE = bk.resnet.CompositeParity(dim=12, outputs=4, alpha=0.3)
RESNET = bk.networks.ThreeLayerResNet(width=8, parameterisation=bk.networks.Parameterisation(kind="standard"))
SQUARED = bk.algorithms.GradientDescent(6, 0.05, batch=10, loss=bk.algorithms.Squared())
HINGE = bk.algorithms.GradientDescent(steps=6, learning_rate=0.1)

LEARNERS: dict[str, tuple[Problem, Learner]] = {
    "eager": (COMPOSITE, TrainedNetwork(RESNET, SQUARED, record_at=(3,), record_points=7)),
    "compiled": (COMPOSITE, TrainedNetwork(RESNET, SQUARED, record_at=(3,), record_points=7, backend="compiled")),
    "hinge": (PARITY, TrainedNetwork(bk.networks.TwoLayer(pairs=4), HINGE)),
    "ridge": (COMPOSITE, KernelRidge(PolynomialKernel(2))),
    "held out": (PARITY, KernelRidge(PolynomialKernel(2), choose="validation")),
    "iterative": (PARITY, KernelRidge(PolynomialKernel(2), choose="validation", solver="iterative")),
    "tuned": (PARITY, TunedKernel((PolynomialKernel(2), PolynomialKernel(1)), standardised=True)),
    "two steps": (COMPOSITE, TwoStepRidge(PolynomialKernel(2), PolynomialKernel(2), folds=5)),
    "feature machine": (PARITY, RecursiveFeatureMachine(rounds=2)),
    "features": (PARITY, FixedFeatureClassifier(InputFeatures())),
    "constant": (PARITY, ConstantClassifier()),
}


class _Same(Stream):
    """Streams in which the validation sample is the test sample."""

    def child(self, *names: str) -> Stream:
        return Stream(self.seed).child("test") if names == ("validation",) and not self.name else super().child(*names)


def spec_of(name: str, validation: int) -> RunSpec:
    problem, learner = LEARNERS[name]
    return RunSpec(problem, learner, 40, 25, 3, validation_samples=validation)


@pytest.mark.parametrize("name", LEARNERS)
def test_it_is_scored_as_the_test_sample_is_and_changes_nothing_else(name, monkeypatch):
    (without,), (own,) = perform([spec_of(name, 0)]), perform([spec_of(name, 25)])
    monkeypatch.setattr("beyondkernels.core.streams.Stream", _Same)
    (same,) = perform([spec_of(name, 25)])
    new = set(own.scalars) - set(without.scalars)
    assert new == {
        name.replace("test", "validation") for name in without.scalars if name in ("test_loss", "test_accuracy")
    }
    assert {key: own.scalars[key] for key in without.scalars} == without.scalars
    for key in new:  # on the test sample's own points it must say what the test says
        assert same.scalars[key] == same.scalars[key.replace("validation", "test")]
    assert any(own.scalars[key] != own.scalars[key.replace("validation", "test")] for key in new) or name == "constant"
    for kind in ("series", "arrays"):
        before, after = getattr(without, kind), getattr(own, kind)
        assert all(np.array_equal(before[key], after[key]) for key in before)
        for key in set(after) - set(before):
            twin = key.replace("validation", "test")
            assert np.array_equal(getattr(same, kind)[key], getattr(same, kind)[twin])
            assert not np.array_equal(after[key], after[twin])
    if name in ("eager", "compiled"):
        assert "validation_loss" in own.series
    if name in ("ridge", "two steps"):
        assert "path_validation_loss" in own.arrays


def test_points_come_from_a_stream_of_their_own():
    (outcome,) = perform([spec_of("constant", 25)])
    labels = {part: PARITY.sample(n, Stream(3).child(part)).y for part, n in (("train", 40), ("validation", 25))}
    majority = 1.0 if labels["train"].sum() >= 0 else -1.0
    assert outcome.scalars["validation_accuracy"] == float((labels["validation"] == majority).double().mean())


def test_a_run_without_it_keeps_its_key():
    spec = spec_of("constant", 0)
    assert "validation_samples" not in describe(spec)["fields"]
    assert spec.key == RunSpec(PARITY, ConstantClassifier(), 40, 25, 3).key == "83b84d2c9cdcbe26feda2b9e9c182272"
    assert spec_of("constant", 25).key not in (spec.key, spec_of("constant", 26).key)
    for n in (0, 25):
        assert build(describe(spec_of("constant", n))) == spec_of("constant", n)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_comes_back_predicts(name):
    spec = spec_of(name, 0)
    (outcome,) = perform([spec])
    assert outcome.predictor is not None
    test = spec.problem.sample(25, Stream(3).child("test"))
    out = outcome.predictor(test.x).double()
    assert out.shape == (25, spec.problem.out_dim)
    loss = float((out - test.y.double().reshape(out.shape)).square().sum(1).mean())
    if "test_accuracy" in outcome.scalars:
        right = [
            1.0 if y * f > 0 else 0.5 if f == 0 else 0.0
            for y, f in zip(test.y.tolist(), out[:, 0].tolist(), strict=True)
        ]
        assert outcome.scalars["test_accuracy"] == pytest.approx(sum(right) / 25)
    if name in ("eager", "compiled", "ridge", "held out", "iterative", "two steps", "feature machine"):
        assert outcome.scalars["test_loss"] == pytest.approx(loss, rel=1e-6)
