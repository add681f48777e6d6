"""Staircases: sums of a few parities, whose leap says how many coordinates gradient descent must find at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import not_empty, not_negative, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.data.inputs import signs


@dataclass(frozen=True)
class Staircase(ScalarProblem):
    r"""A sum of parities of few coordinates.

    .. math:: y = \sum_j c_j \prod_{i \in S_j} s_i x_{\pi(i)} + \xi, \qquad x \sim U(\{-1, 1\}^d), \quad
              \xi \sim N(0, \tau^2)

    The coordinates π and the signs s are drawn once for each instance. A learner does not know them, so the target is
    one of a class. Two numbers say how hard it is:

    - Its *degree* :math:`D = \max_j |S_j|` decides for kernels and all other fixed features. They need about
      :math:`d^D` points, whatever the terms are (:meth:`fixed_features_risk`).
    - Its *leap* decides for gradient descent on a network. Order the terms so that each brings few coordinates that no
      earlier term has. The leap is the largest number that some term brings in the best order. Networks are expected
      to need about :math:`d^{\max(1,\,\mathrm{leap} - 1)}` steps of one point each. With leap 1 the target is a
      merged staircase, and each term helps to find the next one.

    Arguments:
        dim: d.
        terms: the sets S_j, each the numbers of its coordinates, from 0.
        coefficients: c_j, one for each term; all 1 unless given.
        noise_std: τ.
        instance: selects the draw of the coordinates and signs.

    >>> Staircase(20).leap, Staircase(20, terms=((0, 1, 2),)).leap, Staircase(20, terms=((0,), (0, 1, 2))).leap
    (1, 3, 2)

    Reference: Abbe, Boix-Adserà & Misiakiewicz (2022), The merged-staircase property, eq. (2); the same (2023), SGD
    learning on neural networks: leap complexity and saddle-to-saddle dynamics, Definition 1.
    """

    dim: Annotated[int, size]
    terms: Annotated[tuple[tuple[int, ...], ...], not_empty] = ((0,), (0, 1), (0, 1, 2))
    coefficients: tuple[float, ...] = ()
    noise_std: Annotated[float, not_negative] = 0.0
    instance: int = 0

    def __post_init__(self) -> None:
        for term in self.terms:
            inside = all(isinstance(i, int) and 0 <= i < self.dim for i in term)
            require(
                inside and len(set(term)) == len(term) > 0,
                f"terms must hold sets of different coordinates from 0 to {self.dim - 1}, got {shown(term)}",
            )
        sets = [frozenset(term) for term in self.terms]
        require(len(set(sets)) == len(sets), f"terms must be different sets, got {shown(self.terms)}")
        require(
            not self.coefficients or len(self.coefficients) == len(self.terms),
            f"coefficients must be one for each of the {len(self.terms)} terms, got {shown(self.coefficients)}",
        )

    @property
    def factors(self) -> tuple[float, ...]:
        """c_j, one for each term; all 1 where no coefficients are given."""
        return self.coefficients or (1.0,) * len(self.terms)

    @property
    def degree(self) -> int:
        """The size of the largest term, D."""
        return max(map(len, self.terms))

    @property
    def leap(self) -> int:
        r"""The leap of the terms whose coefficient is not zero.

        .. math:: \min_\pi \max_j |S_{\pi(j)} \setminus (S_{\pi(1)} \cup \dots \cup S_{\pi(j-1)})|
        """
        terms = [set(S) for S, c in zip(self.terms, self.factors, strict=True) if c != 0]
        found: set[int] = set()
        most = 0
        while terms:
            # Taking the term with the fewest new coordinates is best: what is found only makes later terms smaller.
            nearest = min(terms, key=lambda S: len(S - found))
            most = max(most, len(nearest - found))
            found |= nearest
            terms.remove(nearest)
        return most

    @property
    def variance(self) -> float:
        """The variance of the target, and so the risk of the best constant: Σ c², without the noise."""
        return math.fsum(c**2 for c in self.factors)

    def polynomial_risk(self, degree: int) -> float:
        """The risk of the best polynomial of a degree: Σ c² over larger terms, without the noise.

        Arguments:
            degree: 1 for the best linear predictor.
        """
        return math.fsum(c**2 for S, c in zip(self.terms, self.factors, strict=True) if len(S) > degree)

    def fixed_features_risk(self, features: int) -> float:
        r"""The least mean risk of fixed features over all coordinates π and signs s, without the noise.

        Take any N functions that are chosen before the target is drawn, and the best linear combination of them for
        each target. With the signs, products of different terms have mean zero, so the targets have the covariance

        .. math:: E\,[h h^\top] = \sum_k \frac{\lambda_k}{\binom dk} \sum_{|S| = k} \chi_S \chi_S^\top, \qquad
                  \lambda_k = \sum_{|S_j| = k} c_j^2.

        No N functions explain more of it than its N largest eigenvalues, and the parities that belong to these reach
        that. A kernel on n training points has n such functions, if the points do not depend on the target.

        Arguments:
            features: N.
        """
        require(features >= 0, f"features must not be negative, got {features}")
        power = {k: math.fsum(self._power(k)) for k in {len(S) for S in self.terms}}
        left, missed = features, 0.0
        for k in sorted(power, key=lambda k: power[k] / math.comb(self.dim, k), reverse=True):
            count = math.comb(self.dim, k)
            missed += power[k] * max(0.0, 1 - left / count)
            left = max(0, left - count)
        return missed

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """The target (n,) float64 at points (n, d)."""
        places, s = self._drawn
        relevant = x.double()[:, places] * s
        return sum(
            (c * relevant[:, list(S)].prod(1) for S, c in zip(self.terms, self.factors, strict=True)),
            torch.zeros(len(x), dtype=torch.float64),
        )

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) and y (n,), float32; ``hidden["signal"]`` is y without the noise."""
        x = signs(n, self.dim, stream.child("inputs"))
        signal = self.target(x)
        noise = self.noise_std * stream.child("noise").normal(n, dtype=torch.float64)
        return Sample(x.float(), (signal + noise).float(), {"signal": signal.float()})

    @property
    def _drawn(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The places π of coordinates 0, 1, … and their signs s."""
        stream = Stream(self.instance).child("staircase")
        return stream.child("places").permutation(self.dim), signs(1, self.dim, stream.child("signs"))[0]

    def _power(self, k: int) -> Iterable[float]:
        return (c**2 for S, c in zip(self.terms, self.factors, strict=True) if len(S) == k)
