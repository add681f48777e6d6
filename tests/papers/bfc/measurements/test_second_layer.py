"""The second layer as a polynomial, against its weights multiplied out and against the paper's example."""

import itertools
import math

import pytest
import torch

from beyondkernels.algorithms.optimisers import adam
from beyondkernels.core import Stream
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.papers.bfc.algorithms import Joining
from beyondkernels.papers.bfc.measurements import SecondLayer
from beyondkernels.papers.bfc.measurements.course import Moment
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from beyondkernels.papers.bfc.problems import QuadraticTarget, SecondToy, UniformInputs
from beyondkernels.store import RunSpec


def numbers(problem, M, points=2000):
    """The measurement of a network that has this second layer, whatever its third."""
    network = QuadraticDenseNet(problem.graph, (len(M), 1), problem.scales, problem.second_moments)
    params = {"M2.1": M, "M3.2": torch.zeros(1, len(M)).double(), "M3.0": torch.zeros(1, problem.dim).double()}
    measurement = SecondLayer(points)
    x = problem.inputs.draw(points, problem.dim, Stream(7))
    return measurement.compare(measurement.truth(problem, x), Moment(Predictor(network, params, {})), x)


@pytest.mark.parametrize("problem", [SecondToy(), QuadraticTarget(4, inputs=UniformInputs())])
def test_coefficients_are_those_of_the_sum_of_squares(problem):
    M = torch.linspace(-1, 2, 12).double().reshape(3, 4).sin()
    found = numbers(problem, M)
    x = problem.inputs.draw(5, 4, Stream(1))
    g = x.square() - torch.tensor(problem.second_moments).double()
    for row in range(5):
        polynomial = sum(
            found[f"{i + 1}-{j + 1}"] * float(g[row, i] * g[row, j])
            for i, j in itertools.combinations_with_replacement(range(4), 2)
        )
        assert polynomial == pytest.approx(sum(float(m @ g[row]) ** 2 for m in M), rel=1e-9)


def test_the_papers_basis_is_unreadable_and_three_neurons_are_not():
    problem, root = SecondToy(), math.sqrt(1 / 5)
    eye = torch.eye(4).double()
    rotated = torch.stack([root * (eye[0] + 2 * eye[1]), root * (2 * eye[0] - eye[1])])
    right, two = numbers(problem, eye[:2]), numbers(problem, rotated)
    assert right["1-1"] == pytest.approx(two["1-1"]) == pytest.approx(1) and two["1-2"] == pytest.approx(0)
    assert right["unreadable"] < 1e-20 and two["unreadable"] > 0.05
    # what two neurons lack, by least squares on x₁⁴, x₂⁴, x₁²x₂² written out
    angles = torch.tensor([0.3, 1.2, 2.5]).double()
    three = angles.cos()[:, None] * eye[0] + angles.sin()[:, None] * eye[1]
    assert numbers(problem, three)["unreadable"] < 1e-20


def test_series_and_scalars_of_a_run():
    problem = SecondToy(inputs=UniformInputs())
    rule = Joining(adam(0.01), (4, 4), batch=10)
    network = QuadraticDenseNet(problem.graph, (3, 2), problem.scales, 0.0, scale=0.3)
    learner = TrainedNetwork(network, rule, snapshot_at=(0, 3, 8), snapshot_names=("all",))
    outcome = perform([RunSpec(problem, learner, 50, 20, 0, (SecondLayer(100),))])[0]
    M = torch.tensor(outcome.arrays["snapshot/3/M2.1"])
    assert outcome.at("second/1-3", 3, None) == pytest.approx(2 * float(M[:, 0] @ M[:, 2]))
    assert outcome.scalars["second/unreadable"] == outcome.at("second/unreadable", 8, None)
