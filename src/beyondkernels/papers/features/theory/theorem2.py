"""Theorem 2 of the feature-learning paper: linear models on fixed features, and a sharper bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from beyondkernels.certificates.certificate import Numbers, Verification
from beyondkernels.core import Stream, require_whole
from beyondkernels.papers.features.theory.fixed_feature_bound import (
    FixedFeatureBound,
    counting_share,
    every_parity,
    require_norm,
    telescoped_log,
)

_TRIED = 10
"""Up to so many patterns, :meth:`FixedFeatureCertificate.verify` tries features on the whole cube."""

_MOST_TRIED = 2000
"""The most features that it tries."""


def theorem2_bound(features: int, norm: float, relevant: int, background: float) -> float:
    r"""The bound as Theorem 2 states it; below zero it says nothing.

    .. math:: p_o \Bigl(1 - \frac{\sqrt{2N}\,B}{2^k}\Bigr)

    Arguments:
        features: N.
        norm: B.
        relevant: k.
        background: :math:`p_o`.

    >>> theorem2_bound(features=200, norm=10.0, relevant=11, background=0.5)
    0.451171875

    Reference: Shi, Wei & Liang (features), Theorem 2 (Theorem 28 in App. C).
    """
    return background * (1 - math.ldexp(math.sqrt(2 * features) * norm, -relevant))


@dataclass(frozen=True)
class FixedFeatureCertificate(FixedFeatureBound):
    r"""Theorem 2, and a sharper bound, for every map to N bounded features and every weight vector of norm at most B.

    For fixed Ψ let :math:`c_A = E_z[\Psi(z)\chi_A(z)]` over the uniform cube. The parities are orthonormal and
    :math:`|\Psi_i| \le 1`, so Bessel's inequality gives

    .. math:: \sum_A |c_A|^2 \le N, \qquad
              \min_{|w| \le B} E\,\ell(\langle\Psi, w\rangle, y) \ge p_o\,(1 - B\,|c_A|), \qquad
              \frac1C \sum_A |c_A| \le \sqrt{N/C}, \quad C = \binom Dk

    The mean over A of the best loss is therefore at least :math:`p_o(1 - B\sqrt{N/C})`, and so is the largest. This
    bound is ours. It asks for nothing but 1 ≤ k ≤ D, and within the paper's domain :math:`C \ge 16^k`, where the paper
    has :math:`2^{2k-1}`.

    Arguments:
        patterns: D.
        relevant: k.
        background: :math:`p_o`.
        features: N.
        norm: B.

    >>> certificate = FixedFeatureCertificate(patterns=176, relevant=11, background=0.5, features=200, norm=10.0)
    >>> round(certificate.paper, 4), round(certificate.bound, 6), certificate.verify().agrees
    (0.4512, 0.5, True)

    Reference: Shi, Wei & Liang (features), Theorem 2, App. C.
    """

    predictors: ClassVar[str] = "⟨Ψ(x), w⟩ for any fixed map Ψ to [−1, 1]^N, ‖w‖ ≤ B"

    features: int
    norm: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("features", self.features)
        require_norm("norm", self.norm)

    @property
    def share(self) -> float:
        """B√(N/C)."""
        return counting_share(self.norm * math.sqrt(self.features), self.patterns, self.relevant)

    @property
    def paper(self) -> float:
        """p_o(1 − √(2N)·B/2^k)."""
        return theorem2_bound(self.features, self.norm, self.relevant, self.background)

    @property
    def title(self) -> str:
        return "Theorem 2 of Shi, Wei & Liang (features), with the bound that counting parities gives"

    @property
    def claim(self) -> str:
        return (
            "some A leaves every such predictor a hinge loss of at least p_o(1 − √(2N)·B/2^k) (the paper). The mean "
            "over all A of the best hinge loss is at least p_o(1 − B√(N/C)), where C is the number of sets A (ours)."
        )

    @property
    def numbers(self) -> Numbers:
        return {
            "features N": self.features,
            "norm B": self.norm,
            "targets C": self.targets,
            "hinge loss for some A, at least (paper)": self.paper,
            "mean hinge loss over A, at least (ours)": self.bound,
            "its distance from p_o": self.background * self.share,
            "N·B² at which the paper's bound is 0": 2.0 ** (2 * self.relevant - 1)
            if self.relevant <= 512
            else math.inf,
            "N·B² at which ours is 0": self.targets,
        }

    @property
    def verdict(self) -> str:
        said = f"gives {self.paper:.4g}" if self.paper > 0 else "says nothing, because its bound is not above 0"
        theirs = f"The paper's theorem applies and {said}."
        if self.failing:
            theirs = f"The paper's theorem does not apply, because this fails: {self.failing}."
        if not self.holds:
            return f"{theirs} Counting says nothing, because N·B² is at least the number of targets."
        return f"{theirs} {self.counted}"

    def verify(self) -> Verification:
        """Count the targets by their factors; on a small cube, try two maps against the bound.

        Their correlations with all parities are enumerated. The mean loss of a map of N random signs must not fall
        below the bound. With all C parities as features the bound for N = C is attained.
        """
        log = math.log(self.norm) + math.log(self.features) / 2 - telescoped_log(self.patterns, self.relevant) / 2
        second = self.background * (1 - math.exp(log))
        difference, route = abs(second - self.bound), "the factors of the binomial coefficient"
        if self.patterns <= _TRIED:
            extremal = replace(self, features=self.targets).bound
            parities = every_parity(self.patterns, self.relevant)
            difference = max(difference, abs(extremal - _mean_loss(self, parities)))
            route += ", and all parities as features on the whole cube"
            if self.features <= _MOST_TRIED:
                draws = Stream(0).child("certificate").bernoulli(0.5, len(parities), self.features)
                difference = max(difference, self.bound - _mean_loss(self, 2 * draws.double() - 1))
                route += ", and a map of random signs"
        return Verification(route, difference, 1e-11 * max(1.0, self.share)).require()


def _mean_loss(certificate: FixedFeatureCertificate, values: torch.Tensor) -> float:
    """The mean over A of p_o(1 − B|c_A|), for a map with the given values on the whole cube, shape (2^D, N)."""
    correlations = every_parity(certificate.patterns, certificate.relevant).T @ values / len(values)
    return float(certificate.background * (1 - certificate.norm * correlations.norm(dim=1)).mean())
