"""Coefficients over training: what stands in the series, and that a run's coefficients approach the target's."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from beyondkernels.algorithms.optimisers import Adam, Rate, chain
from beyondkernels.core import Case, Ended, InputError, Stream
from beyondkernels.engine import TrainedNetwork
from beyondkernels.papers.bfc.algorithms import Joining
from beyondkernels.papers.bfc.measurements import CoefficientErrors
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from beyondkernels.papers.bfc.problems import QuadraticTarget, UniformInputs
from beyondkernels.papers.bfc.theory import QuadraticWeights, layer_agreement, turns

PROBLEM = QuadraticTarget(4, (2, 1), ((1,), (2, 0)), (1.0, 0.5), relative=True, inputs=UniformInputs())
NETWORK = QuadraticDenseNet(PROBLEM.graph, (2, 1), PROBLEM.scales, PROBLEM.second_moments)
LEARNER = TrainedNetwork(
    NETWORK, Joining(chain(Adam(), Rate(0.02)), (150, 600)), snapshot_at=(149, 750), snapshot_names=("all",)
)


@pytest.fixture(scope="module")
def run() -> Ended:
    stream = Stream(0)
    samples = (PROBLEM.sample(n, stream.child(name)) for n, name in ((300, "train"), (20, "test")))
    case = Case(PROBLEM, *samples, stream=stream.child("learner"))
    return Ended(LEARNER, case, LEARNER.fit(case, lambda _: None))


def test_series_are_the_agreement_at_the_snapshots(run):
    found = CoefficientErrors(500).measure(run)
    params = {
        name.removeprefix("snapshot/750/"): torch.tensor(array)
        for name, array in run.outcome.arrays.items()
        if name.startswith("snapshot/750/")
    }
    x = PROBLEM.sample(500, Stream(0).child("coefficients")).x
    turned = turns(PROBLEM.features(x), NETWORK.hidden(params, {}, x))
    weights = QuadraticWeights.of_network(NETWORK, params, {}, 4)
    expected = layer_agreement(QuadraticWeights.of_problem(PROBLEM), weights, turned)
    for layer in (2, 3):
        for name in ("top", "symmetric", "whole"):
            assert found.series[f"coefficients/{name}{layer}"][1] == getattr(expected[layer], name)
        degrees = np.array([*expected[layer].degrees.values()])
        np.testing.assert_array_equal(found.arrays[f"coefficients/difference{layer}"], degrees[:, 0])
        np.testing.assert_array_equal(found.arrays[f"coefficients/target{layer}"], degrees[:, 1])
        assert len(degrees) == 2**layer + 1
    assert found.series["coefficients/cross3.0"][1] == expected[3].cross[0]
    assert found.series["coefficients/step"].tolist() == [149, 750]


def test_sentences(run):
    with pytest.raises(InputError, match=r"^most must be at least 2485, the pairs of monomials of 4 coordinates in la"):
        replace(CoefficientErrors(500), most=100).measure(run)
    wrong = TrainedNetwork(replace(NETWORK, alphas=(1.0, 0.7)), LEARNER.algorithm)
    with pytest.raises(InputError, match=r"^network must have the target's α, .*, got \(1\.0, 0\.7\)$"):
        CoefficientErrors(500).measure(Ended(wrong, run.case, run.outcome))
