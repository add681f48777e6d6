"""Errors, contributions and sizes of each layer along a run, against sums written out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Case, Ended, InputError, Learner, Outcome, Problem, Stream
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.kernels import KernelRidge, PolynomialKernel, SequentialKernels
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.bfc.measurements import FeatureErrors, HiddenNorms, LayerContributions, below_from
from beyondkernels.papers.bfc.measurements.course import course
from beyondkernels.papers.bfc.theory import distilled, procrustes
from beyondkernels.papers.features.problems import DictionaryParity
from bfc_cases import ALPHAS, TRUTH, Net, Target, layers

RULE = GradientDescent(20, 1e-3, loss=Squared())
LEARNER = TrainedNetwork(Net(), RULE, snapshot_at=(0, 20), snapshot_names=("all",))
TARGET = Target()
MEASUREMENTS = (FeatureErrors(500), LayerContributions(500), HiddenNorms(500))


def ended(learner: Learner = LEARNER, problem: Problem = TARGET, n: int = 50) -> Ended:
    stream = Stream(0)
    samples = (problem.sample(n, stream.child(name)) for n, name in ((n, "train"), (20, "test")))
    case = Case(problem, *samples, stream=stream.child("learner"))
    return Ended(learner, case, learner.fit(case, lambda _: None))


def points(group):
    return TARGET.sample(500, Stream(0).child("bfc", group)).x


@pytest.mark.parametrize("step", [0, 20])
def test_series_are_those_of_the_snapshots(step):
    run = ended()
    prefix = f"snapshot/{step}/"
    kept = {
        name.rpartition("/")[2]: torch.tensor(array)
        for name, array in run.outcome.arrays.items()
        if name.startswith(prefix)
    }
    assert kept.keys() == {"A", "B", "scale"}
    assert f"snapshot/{step}/buffers/scale" in run.outcome.arrays
    for measurement in MEASUREMENTS:
        found = measurement.measure(run)
        x = points(measurement.group)
        S, S_star = layers(kept, kept["scale"], x), TARGET.features(x)
        at = [0, 20].index(step)
        series = {name: values[at] for name, values in found.series.items()}
        assert series[f"{measurement.group}/step"] == step
        for layer in (2, 3):
            size = sum(float(row @ row) for row in S_star[layer]) / 500
            if measurement.group == "features":
                expected = {"layer": procrustes(S_star[layer], S[layer])}
                expected["relative"] = expected["layer"] / size
                expected["distilled"] = procrustes(S_star[layer], distilled(S[layer], S_star[layer].shape[1])) / size
            elif measurement.group == "norms":
                expected = {"layer": sum(float(row @ row) for row in S[layer]) / 500}
                expected["relative"] = expected["layer"] / size
            else:
                learnt, given = (
                    np.array([ALPHAS[layer] * float(row @ row) for row in values[layer]]) for values in (S, S_star)
                )
                expected = {"layer": ((learnt - given) ** 2).mean()}
                expected["relative"] = expected["layer"] / given.var()
                expected["centred"] = (learnt - given).var() / given.var()
            for name, value in expected.items():
                assert series[f"{measurement.group}/{name}{layer}"] == pytest.approx(value, rel=1e-10)
        if step == 20:  # the last snapshot is the end
            assert found.scalars == pytest.approx({name: series[name] for name in found.scalars}, rel=1e-12)
            assert found.scalars.keys() | {f"{measurement.group}/step"} == found.series.keys()


def test_the_right_weights_have_no_error():
    run = ended()
    right = Predictor(Net(), TRUTH, {"scale": torch.ones((), dtype=torch.float64)})
    run = Ended(run.learner, run.case, replace(run.outcome, arrays={}, predictor=right))
    for measurement in MEASUREMENTS:
        found = measurement.measure(run)
        assert not found.series
        for name, value in found.scalars.items():
            wanted = 1 if name.startswith("norms/relative") else 0
            if not name.startswith("norms/layer"):
                assert value == pytest.approx(wanted, abs=1e-25)


def test_a_layer_that_is_missing_counts_as_zero():
    class Shallow(Net):
        def hidden(self, params, buffers, x):
            return {2: super().hidden(params, buffers, x)[2]}

    run = ended()
    predictor = run.outcome.predictor
    assert isinstance(predictor, Predictor)
    shallow = replace(predictor, network=Shallow())
    run = Ended(run.learner, run.case, replace(run.outcome, arrays={}, predictor=shallow))
    errors, parts, norms = (measurement.measure(run).scalars for measurement in MEASUREMENTS)
    assert errors["features/relative3"] == errors["features/linear3"] == pytest.approx(1)
    assert parts["contributions/centred3"] == pytest.approx(1)
    assert parts["contributions/relative3"] > 1  # the mean is missing as well
    assert norms["norms/layer3"] == 0


def test_features_that_no_network_learnt():
    """Kernels in sequence hand on features; the first round's are those of the second layer."""
    run = ended(SequentialKernels(2, features=(2,)))
    found = FeatureErrors(500).measure(run)
    S = run.predictor.hidden(points("features"))[2]  # pyright: ignore[reportFunctionMemberAccess]
    S_star = TARGET.features(points("features"))
    assert found.scalars["features/layer2"] == pytest.approx(procrustes(S_star[2], S))
    assert found.scalars["features/linear2"] < 0.2
    assert found.scalars["features/relative3"] == pytest.approx(1)
    assert not found.series
    with pytest.raises(InputError, match=r"^learner must train a network whose layers add up to the prediction"):
        LayerContributions(5).measure(run)


def test_sentences():
    run = ended()
    arrays = {name: array for name, array in run.outcome.arrays.items() if not name.endswith("/A")}
    with pytest.raises(InputError, match=r"^the run must keep all parameters and buffers, got a snapshot without 'A'"):
        FeatureErrors(5).measure(Ended(run.learner, run.case, replace(run.outcome, arrays=arrays)))
    with pytest.raises(InputError, match=r"^problem must know the layers of its target, got DictionaryProblem$"):
        FeatureErrors(5).measure(Ended(run.learner, replace(run.case, problem=DictionaryParity(8, 4, 3)), run.outcome))
    with pytest.raises(InputError, match=r"^network must show its layers, got TwoLayer$"):
        predictor = Predictor(TwoLayer(2), *TwoLayer(2).init(3, 1, Stream(0)))
        FeatureErrors(5).measure(Ended(run.learner, run.case, replace(run.outcome, arrays={}, predictor=predictor)))
    with pytest.raises(InputError, match=r"^learner must train a network whose layers can be seen, got KernelRidge$"):
        FeatureErrors(5).measure(ended(KernelRidge(PolynomialKernel(2))))
    assert list(course(run)) == [0, 20]


@pytest.mark.parametrize(
    ("errors", "step"),
    [([1, 0.05, 0.2, 0.05, 0.01], 30.0), ([0.01] * 5, 0.0), ([1, 0.05, 0.01, 0.01, 0.2], math.nan)],
)
def test_below_from_then_on(errors, step):
    steps = np.array([0.0, 10, 20, 30, 40])
    outcome = Outcome("finished", {}, {"features/step": steps, "features/distilled2": np.array(errors)})
    assert below_from(outcome, "features/distilled2", 0.1) == pytest.approx(step, nan_ok=True)
    assert math.isnan(below_from(outcome, "features/distilled3", 0.1))
