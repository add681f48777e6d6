"""Means and standard deviations of the layers of a quadratic target: exact where cheap, otherwise from a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from beyondkernels.core import Estimate, Stream
from beyondkernels.papers.bfc.problems.polynomials import Polynomials, features_of

if TYPE_CHECKING:
    from beyondkernels.papers.bfc.problems.layered import LayeredProblem

_PAIRS = 2_000_000  # a polynomial is squared term by term if it has at most so many pairs of terms
_DRAWS = 2**17
_BLOCK = 2**13


@dataclass(frozen=True)
class Spread:
    """What is known about a random number.

    Arguments:
        mean: its mean.
        std: its standard deviation.
    """

    mean: Estimate
    std: Estimate


def layer_spreads(problem: LayeredProblem) -> dict[int, Spread]:
    r"""The mean and the standard deviation of :math:`\mathbf{Sum}(G^*_\ell(x)) = \|S^*_\ell(x)\|^2` for each layer.

    If the inputs are linear images of independent coordinates, or mixtures of such, the features are expanded in
    orthonormal polynomials (Hermite, Legendre). The squares of the coefficients then sum to the moments. Layers whose
    polynomials have too many terms, and other inputs, are estimated from 2¹⁷ draws of a fixed stream. Rare points
    dominate the standard deviation of a polynomial of high degree in Gaussians, so its estimate is too small.
    """
    squares = _squares(problem)
    found = {layer: _exact(problem, square) for layer, square in squares.items()}
    missing = [layer for layer in range(2, problem.depth + 1) if layer not in found]
    draws = _draws(problem) if missing else torch.empty(0)
    return found | {layer: _estimated(draws[:, layer - 2]) for layer in missing}


def target_spread(problem: LayeredProblem) -> Spread:
    """The mean and the standard deviation of G*(x): exact where all layers are, otherwise from the same draws."""
    squares = _squares(problem)
    scales = torch.tensor(problem.scales, dtype=torch.float64)
    if len(squares) < len(scales):
        return _estimated(_draws(problem) @ scales)
    scaled = [
        [p.mixed(scale.reshape(1, 1)) for p in square] for square, scale in zip(squares.values(), scales, strict=True)
    ]
    return _exact(problem, [first.plus(*rest) for first, *rest in zip(*scaled, strict=True)])


def _squares(problem: LayeredProblem) -> dict[int, list[Polynomials]]:
    """‖S*_ℓ‖² in each part of the inputs, in its orthonormal polynomials, for layers where that is quick."""
    parts = problem.inputs.parts(problem.in_dim) or ()
    features = [
        features_of(problem.graph, problem.weights, problem.second_moments, part.root, _PAIRS) for part in parts
    ]
    layers = [layer for layer in (features[0] if features else ()) if all(layer in s for s in features)]
    return {
        layer: [s[layer].squared_norm().expanded(part.law) for s, part in zip(features, parts, strict=True)]
        for layer in layers
    }


def _exact(problem: LayeredProblem, expanded: list[Polynomials]) -> Spread:
    """From a polynomial in each part of the inputs, in orthonormal polynomials."""
    mean = second = 0.0
    for part, p in zip(problem.inputs.parts(problem.in_dim) or (), expanded, strict=True):
        mean += part.weight * float(p.of_degree(0).coefficients.sum())
        second += part.weight * float(p.coefficients.square().sum())
    std = math.sqrt(max(second - mean**2, 0.0))
    # twelve digits do not depend on the order of the sums
    return Spread(*(Estimate(float(f"{value:.12g}"), 0.0, True) for value in (mean, std)))


def _draws(problem: LayeredProblem) -> torch.Tensor:
    """Sum(G*_ℓ) of each layer at the points of a fixed stream, (n, L − 1)."""
    stream = Stream(0).child("layer moments")
    blocks = (problem.inputs.draw(_BLOCK, problem.in_dim, stream.at(step)) for step in range(_DRAWS // _BLOCK))
    return torch.cat([torch.stack([g.sum(1) for g in problem.outputs(x).values()], 1) for x in blocks])


def _estimated(values: torch.Tensor) -> Spread:
    mean, std, n = float(values.mean()), float(values.std()), len(values)
    fourth = float((values - mean).pow(4).mean())
    error = math.sqrt(max(fourth - std**4, 0.0) / n) / (2 * std) if std > 0 else 0.0
    return Spread(Estimate(mean, std / math.sqrt(n), False), Estimate(std, error, False))
