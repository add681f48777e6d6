"""Quadratic targets a second time: neuron by neuron, with loops over numbers."""

from collections.abc import Callable

import pytest
import torch

from beyondkernels.problems.bfc import LayeredProblem


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


def literal_layers(problem: LayeredProblem, point: list[float]) -> tuple[dict[int, list[float]], float]:
    """S*_ℓ of one point for each layer, and G* of it: §2, read aloud."""
    moments = problem.second_moments
    outputs = {0: list(point), 1: [point[j] ** 2 - moments[j] for j in range(len(point))]}
    features, total = {}, 0.0
    for layer in range(2, problem.depth + 1):
        s: list[float] = []
        for i in range(problem.weights[layer, problem.graph[layer - 2][0]].shape[0]):
            neuron = 0.0
            for j in problem.graph[layer - 2]:
                row = problem.weights[layer, j][i].tolist()
                for weight, value in zip(row, outputs[j], strict=True):
                    neuron += weight * value
            s.append(neuron)
        features[layer] = s
        outputs[layer] = [neuron**2 for neuron in s]
        total += problem.scales[layer - 2] * sum(outputs[layer])
    return features, total


@pytest.fixture(scope="session")
def literal() -> Callable[[LayeredProblem, list[float]], tuple[dict[int, list[float]], float]]:
    return literal_layers
