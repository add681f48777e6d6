"""Means and standard deviations of the layers of a quadratic target: exact where cheap, otherwise from a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from beyondkernels.core import Stream
from beyondkernels.problems.bfc.polynomials import features_of

if TYPE_CHECKING:
    from beyondkernels.problems.bfc.layered import LayeredProblem

_PAIRS = 2_000_000  # a polynomial is squared term by term if it has at most so many pairs of terms
_DRAWS = 2**17
_BLOCK = 2**13


@dataclass(frozen=True)
class Estimate:
    """A number that is exact, or the mean over a sample with its standard error.

    Arguments:
        value: the number.
        error: the standard error of ``value``; zero if it is exact.
        exact: whether it is exact up to rounding.

    >>> print(Estimate(4.0, 0.0, exact=True), Estimate(3.97, 0.02, exact=False))
    4 (exact) 3.97 ± 0.02
    """

    value: float
    error: float
    exact: bool

    def __str__(self) -> str:
        return f"{self.value:.6g} (exact)" if self.exact else f"{self.value:.6g} ± {self.error:.2g}"


@dataclass(frozen=True)
class LayerMoments:
    """What is known about Sum(G*_ℓ(x)).

    Arguments:
        mean: its mean.
        std: its standard deviation.
    """

    mean: Estimate
    std: Estimate


def layer_moments(problem: LayeredProblem) -> dict[int, LayerMoments]:
    r"""The mean and the standard deviation of :math:`\mathbf{Sum}(G^*_\ell(x)) = \|S^*_\ell(x)\|^2` for each layer.

    If the inputs are linear images of independent coordinates, or mixtures of such, the features are expanded in
    orthonormal polynomials (Hermite, Legendre). The squares of the coefficients then sum to the moments. Layers whose
    polynomials have too many terms, and other inputs, are estimated from 2¹⁷ draws of a fixed stream. Rare
    points dominate the standard deviation of a polynomial of high degree in Gaussians, so its estimate is too small.
    """
    found = _exact(problem)
    missing = [layer for layer in range(2, problem.depth + 1) if layer not in found]
    if missing:
        found |= _estimated(problem, missing)
    return dict(sorted(found.items()))


def _exact(problem: LayeredProblem) -> dict[int, LayerMoments]:
    """The layers whose polynomials are small enough."""
    first: dict[int, float] = {}
    second: dict[int, float] = {}
    for part in problem.inputs.parts(problem.in_dim) or ():
        features = features_of(problem.graph, problem.weights, problem.second_moments, part.root, _PAIRS)
        for layer, s in features.items():
            expanded = s.squared_norm().expanded(part.law)
            mean, square = expanded.of_degree(0).coefficients.sum(), expanded.coefficients.square().sum()
            first[layer] = first.get(layer, 0.0) + part.weight * float(mean)
            second[layer] = second.get(layer, 0.0) + part.weight * float(square)
        first = {layer: value for layer, value in first.items() if layer in features}  # in all parts
    return {
        layer: LayerMoments(Estimate(mean, 0.0, True), Estimate(math.sqrt(max(second[layer] - mean**2, 0)), 0.0, True))
        for layer, mean in first.items()
    }


def _estimated(problem: LayeredProblem, layers: list[int]) -> dict[int, LayerMoments]:
    stream = Stream(0).child("layer moments")
    blocks = [
        problem.features(problem.inputs.draw(_BLOCK, problem.in_dim, stream.at(step)))
        for step in range(_DRAWS // _BLOCK)
    ]
    found = {}
    for layer in layers:
        values = torch.cat([block[layer].square().sum(1) for block in blocks])
        mean, std = float(values.mean()), float(values.std())
        fourth = float((values - mean).pow(4).mean())
        error = math.sqrt(max(fourth - std**4, 0.0) / len(values)) / (2 * std) if std > 0 else 0.0
        found[layer] = LayerMoments(Estimate(mean, std / math.sqrt(len(values)), False), Estimate(std, error, False))
    return found
