"""Fixed maps to bounded features, whose correlations with every parity are known exactly."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Case, InputError, Problem, Stream, require, shown
from beyondkernels.core.constraints import any_number, at_least, at_most, not_negative, positive
from beyondkernels.kernels import DenseFeatures, FeatureMap, FeatureSource
from beyondkernels.papers.features.problems import DictionaryProblem, Orthonormal, Parity, StructuredMixture
from beyondkernels.papers.features.theory.signed_laws import SignedLaws

_RESOLUTION = 4
"""Weights are whole multiples of this part of their standard deviation."""


@dataclass(frozen=True)
class FixedMap(FeatureSource):
    r"""Features of :math:`u_i = \langle w_i, z\rangle + b_i`, where z holds the signs of the D patterns.

    .. math:: w_i = \frac{s}{r\sqrt D}\,\mathrm{round}(r\,g_i),\ g_i \sim N(0, I), \qquad b_i \sim N(0, s_b^2)

    The weights are rounded to a grid, with r = 4. The sum :math:`\langle w_i, z\rangle` then takes few values, and its
    distribution, signed by a parity, is found exactly. The map is drawn before anything is known of the data.

    Arguments:
        neurons: how many pairs :math:`w_i, b_i`.
        spread: s, the standard deviation of :math:`\langle w_i, z\rangle` for uniform signs, up to rounding.
        bias_std: :math:`s_b`.
        seed: of the draw.
    """

    times_signs: ClassVar[bool] = False
    """Whether there is a feature for each neuron and sign, or for each neuron."""

    neurons: Annotated[int, at_least(1), at_most(10_000)]
    spread: Annotated[float, positive] = 1.0
    bias_std: Annotated[float, not_negative] = 0.5
    seed: Annotated[int, any_number] = 0

    def drawn(self, patterns: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights in units of the grid, shape (neurons, D), whole numbers, and the biases."""
        stream = Stream(self.seed).child("fixed map")
        weights = (_RESOLUTION * stream.child("weights").normal(self.neurons, patterns, dtype=torch.float64)).round()
        return weights, self.bias_std * stream.child("biases").normal(self.neurons, dtype=torch.float64)

    def unit(self, patterns: int) -> float:
        """s/(r√D), the step of the grid of the weights."""
        return self.spread / (_RESOLUTION * math.sqrt(patterns))

    @abstractmethod
    def shape(self, u: torch.Tensor) -> torch.Tensor:
        """What a neuron makes of u, entry by entry, in [−1, 1]."""

    def size(self, patterns: int) -> int:
        """The number N of features."""
        return self.neurons * (patterns if self.times_signs else 1)

    def values(self, z: torch.Tensor) -> torch.Tensor:
        """Ψ(z), shape (n, N), entries in [−1, 1].

        Arguments:
            z: signs, shape (n, D), float64.
        """
        weights, biases = self.drawn(z.shape[1])
        shaped = self.shape(z @ weights.T * self.unit(z.shape[1]) + biases)
        return (shaped[:, :, None] * z[:, None, :]).flatten(1) if self.times_signs else shaped

    def correlations(self, problem: DictionaryProblem) -> tuple[torch.Tensor, torch.Tensor]:
        r"""E[yΨ] over the uniform part of the mixture and over the other part, each of shape (N,), exactly.

        Arguments:
            problem: parity labels in the mixture.
        """
        _, background = require_parity(problem)
        weights, biases = self.drawn(problem.patterns)
        found = []
        for n, b in zip(weights, biases, strict=True):
            laws = SignedLaws(n, problem.relevant_set, background)
            shaped = self.shape(self.unit(problem.patterns) * laws.sums + b)
            found.append([(law(self.times_signs) @ shaped).reshape(-1) for law in (laws.uniform, laws.other)])
        first, second = (torch.cat(parts) for parts in zip(*found, strict=True))
        return first, second

    def feature_map(self, case: Case) -> FeatureMap:
        """The map as a function of inputs: it reads off the signs of the patterns first."""
        problem, _ = require_parity(case.problem)
        return lambda x: DenseFeatures(self.values(signs_of(problem, x)))


@dataclass(frozen=True)
class FixedNeurons(FixedMap):
    r"""Random neurons with the truncated ReLU: :math:`\Psi_i = \min(1, \max(0, u_i))`.

    >>> FixedNeurons(neurons=3).values(torch.ones(2, 5, dtype=torch.float64)).shape
    torch.Size([2, 3])

    Reference: Shi, Wei & Liang (features), eq. (2) for the activation.
    """

    def shape(self, u: torch.Tensor) -> torch.Tensor:
        """The truncated ReLU min(1, max(0, u))."""
        return u.clamp(0, 1)


@dataclass(frozen=True)
class FixedWaves(FixedMap):
    r"""Random Fourier features: :math:`\Psi_i = \cos(u_i + \vartheta_i)` with uniform phases in place of biases.

    >>> bool(FixedWaves(neurons=3).values(torch.ones(2, 5, dtype=torch.float64)).abs().max() <= 1)
    True

    Reference: Rahimi & Recht (2008), as in Shi, Wei & Liang (features), Corollary 3.
    """

    def drawn(self, patterns: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights, and phases from [0, 2π)."""
        phases = Stream(self.seed).child("fixed map", "phases").uniform(self.neurons, dtype=torch.float64)
        return super().drawn(patterns)[0], 2 * math.pi * phases

    def shape(self, u: torch.Tensor) -> torch.Tensor:
        """The cosine of u, in which the phases are already."""
        return u.cos()


@dataclass(frozen=True)
class FixedTangents(FixedMap):
    r"""The tangent features of random neurons in their weights: :math:`\Psi_{ij} = 1[0 < u_i < 1]\,z_j`.

    The derivative of the network in :math:`w_{ij}` is this times the readout's weight and the length of an input. Both
    are left out, so that the features fill [−1, 1].

    >>> FixedTangents(neurons=3).values(torch.ones(2, 5, dtype=torch.float64)).shape
    torch.Size([2, 15])

    Reference: Shi, Wei & Liang (features), App. E.1 (NTK).
    """

    times_signs: ClassVar[bool] = True

    def shape(self, u: torch.Tensor) -> torch.Tensor:
        """Whether a neuron is active."""
        return ((u > 0) & (u < 1)).double()


def require_parity(problem: Problem) -> tuple[DictionaryProblem, float]:
    """A problem of App. C and its p_o: parity labels in the mixture, odd k, orthonormal patterns, no noise."""
    if not isinstance(problem, DictionaryProblem) or not isinstance(problem.hidden, StructuredMixture):
        raise InputError(f"problem must be a DictionaryProblem with a StructuredMixture, got {shown(problem)}")
    require(
        isinstance(problem.dictionary, Orthonormal)
        and problem.noise_std == 0
        and problem.negative_ratio is None
        and problem.relevant % 2 == 1
        and problem.labels.counts(problem.relevant) == Parity().counts(problem.relevant),
        "problem must have an Orthonormal dictionary, no noise, no class ratio and Parity labels of an odd number of "
        f"patterns, got {shown(problem)}",
    )
    return problem, problem.hidden.background


def signs_of(problem: DictionaryProblem, x: torch.Tensor) -> torch.Tensor:
    """The signs z = 2φ̃ − 1 of the patterns, shape (n, D), from inputs x = Mφ."""
    exact = problem.moments
    return torch.where(x.double() @ problem.matrix * exact.scale + exact.means > 0.5, 1.0, -1.0).double()
