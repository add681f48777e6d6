"""Quadratic targets a second time: neuron by neuron, with loops over numbers."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from beyondkernels.papers.bfc.problems import LayeredProblem, QuadraticInputs


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


def gauss_grid(inputs: QuadraticInputs, dim: int, nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points and probabilities of Gauss quadrature in each coordinate, exact for polynomials of degree 2·nodes − 1."""
    rows, weights = [], []
    for part in inputs.parts(dim) or ():
        if part.law == "normal":
            points, mass = np.polynomial.hermite_e.hermegauss(nodes)
        else:
            points, mass = np.polynomial.legendre.leggauss(nodes)
            points = points * math.sqrt(3)
        mass = mass / mass.sum()
        for chosen in itertools.product(range(nodes), repeat=dim):
            rows.append(part.root @ torch.tensor(points[list(chosen)]))
            weights.append(part.weight * math.prod(mass[list(chosen)]))
    return torch.stack(rows), torch.tensor(weights)


@pytest.fixture(scope="session")
def quadrature() -> Callable[[QuadraticInputs, int, int], tuple[torch.Tensor, torch.Tensor]]:
    return gauss_grid
