"""What no kernel with N points and no map to D features can do: bounds from counting alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch

from beyondkernels.certificates.certificate import Certificate, Numbers, Verification
from beyondkernels.core import InputError, Stream, require, require_between, require_whole
from beyondkernels.core.hypotheses import Hypothesis

PAPER_SHARE = 1000
"""The paper asks for N at most this part of the number of targets."""

PAPER_TARGETS = 0.99
"""The paper's share of targets that no predictor learns."""

THRESHOLD = 16
"""The paper's risk is above α² divided by this."""

_LARGEST_CLASS = 300
"""The most digits of the number of targets, which float64 must hold."""

_LARGEST_TRIAL = 600
"""The most targets for which :meth:`UniversalCertificate.verify` tries a random space."""


def threshold_share(functions: int, targets: int, threshold: Fraction) -> Fraction:
    r"""At most this share of targets has a best risk at or below a threshold.

    .. math:: \frac{1}{C}\,\#\{S : 1 - \|Q\chi_S\|^2 \le \theta\} \le \frac{N}{(1 - \theta)\,C}

    because each such S takes at least 1 − θ out of :math:`\sum_S \|Q\chi_S\|^2 \le N`.

    Arguments:
        functions: N or D.
        targets: C.
        threshold: θ, the risk relative to that of predicting no parity at all; below 1.

    >>> threshold_share(15, 1000, Fraction(1, 16))
    Fraction(2, 125)
    """
    return min(Fraction(1), Fraction(functions, targets) / (1 - threshold))


@dataclass(frozen=True)
class UniversalCertificate(Certificate):
    r"""Theorems 2 and 3, and a sharper bound, for every kernel or every feature map.

    The predictors of one output form a linear space V of dimension at most N. Let Q be the projection onto the degree-k
    part of V, averaged over the background. It has rank at most N, and the :math:`C = \binom{d_1}{k}` parities
    :math:`\chi_S` are orthonormal there. The degree-k part of a target :math:`x_i + \alpha\chi_S` is
    :math:`\alpha\chi_S`, because :math:`k \ge 2`. So

    .. math:: \min_{f \in V} E|f - (x_i + \alpha\chi_S)|^2 \ge \alpha^2 (1 - \|Q\chi_S\|^2), \qquad
              \sum_S \|Q\chi_S\|^2 \le N

    The mean over targets of the best risk is at least α²(1 − N/C) in one output and kα²(1 − N/C) over k outputs, each
    of which may have a kernel of its own. The bound needs neither N ≤ C/1000 nor α < 1, and it is ours.

    Arguments:
        functions: N points of a kernel, or D features.
        dim: d.
        outputs: k.
        alpha: α.
        uniform: d₁, by default d.
        kind: ``kernel`` for Theorem 2, ``features`` for Theorem 3.

    >>> certificate = UniversalCertificate(functions=4, dim=30, outputs=3, alpha=0.3)
    >>> certificate.targets, round(certificate.mean_risk, 6), certificate.holds
    (4060, 0.269734, True)

    Reference: Allen-Zhu & Li (resnet), Theorems 2 and 3 (§7, App. D).
    """

    functions: int
    dim: int
    outputs: int
    alpha: float
    uniform: int | None = None
    kind: Literal["kernel", "features"] = "kernel"

    def __post_init__(self) -> None:
        require_sizes(self.dim, self.outputs, self.uniform)
        require_functions(self.functions, self.kind)
        require_alpha(self.alpha)

    @property
    def targets(self) -> int:
        """The number C of targets."""
        return math.comb(self._uniform, self.outputs)

    @property
    def mean_risk(self) -> float:
        """kα²(1 − N/C), or 0."""
        return self.outputs * self.alpha**2 * float(max(Fraction(0), 1 - Fraction(self.functions, self.targets)))

    @property
    def learnable_share(self) -> float:
        """The most targets that can have risk α²/16 or less, as a share: 16N/(15C)."""
        return float(threshold_share(self.functions, self.targets, Fraction(1, THRESHOLD)))

    @property
    def title(self) -> str:
        number = 2 if self.kind == "kernel" else 3
        return f"Theorem {number} of Allen-Zhu & Li (resnet), with the bound that counting dimensions gives"

    @property
    def setting(self) -> dict[str, str]:
        return {
            "inputs": f"d = {self.dim}, of which d₁ = {self._uniform} coordinates are uniform",
            "targets": f"x_i + αχ_S in k = {self.outputs} outputs, α = {self.alpha:g}, |S| = k",
            "predictors": _PREDICTORS[self.kind].format(self.functions),
        }

    @property
    def claim(self) -> str:
        return (
            "whatever the weights, the best risk E‖H − f‖² has a mean over all targets of at least kα²(1 − N/C), and "
            f"at most the share 16N/(15C) of the targets has risk α²/{THRESHOLD} or less. The paper: for at least "
            f"{PAPER_TARGETS:.0%} of the targets the risk is above α²/{THRESHOLD}."
        )

    @property
    def numbers(self) -> Numbers:
        letter = "N" if self.kind == "kernel" else "D"
        return {
            "targets C": self.targets,
            f"functions {letter}": self.functions,
            "mean risk in one output, at least": self.mean_risk / self.outputs,
            "mean risk over all outputs, at least": self.mean_risk,
            "risk without the parity, kα²": self.outputs * self.alpha**2,
            f"threshold α²/{THRESHOLD}": self.alpha**2 / THRESHOLD,
            "share of targets at or below it, at most": self.learnable_share,
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Those of the paper; the sharper bound needs only 2 ≤ k ≤ d₁ ≤ d."""
        return paper_hypotheses(self.functions, self.targets, self.outputs, self._uniform, self.alpha, self.kind)

    @property
    def holds(self) -> bool:
        """Whether the bound on the mean risk is above zero."""
        return self.mean_risk > 0

    @property
    def verdict(self) -> str:
        paper = all(hypothesis.holds for hypothesis in self.hypotheses)
        theirs = "The paper's theorem applies." if paper else "The paper's theorem does not apply."
        if not self.holds:
            return f"{theirs} The counting bound says nothing, because there are at least as many functions as targets."
        return (
            f"{theirs} By counting, at least {1 - self.learnable_share:.4g} of the targets have risk above "
            f"α²/{THRESHOLD}, and the mean risk is at least {self.mean_risk:.4g}."
        )

    def verify(self) -> Verification:
        """Count the targets by Pascal's rule; for few targets, try a random space of functions against the bounds.

        The random space lies in degree k, where the bound on the mean is an equality.
        """
        count = _pascal(self._uniform, self.outputs)
        bound = self.outputs * Fraction(self.alpha) ** 2 * max(Fraction(0), Fraction(count - self.functions, count))
        difference = abs(float(bound) - self.mean_risk)
        route = "Pascal's rule and exact fractions"
        if count <= _LARGEST_TRIAL and self.functions <= count:
            draws = Stream(0).child("certificate").normal(count, self.functions, dtype=torch.float64)
            risks = 1 - torch.linalg.qr(draws).Q.square().sum(1)
            difference = max(difference, abs(self.outputs * self.alpha**2 * float(risks.mean()) - self.mean_risk))
            share = float((risks <= 1 / THRESHOLD).double().mean())
            difference = max(difference, share - self.learnable_share)
            route += ", and the exact risks of a random space of functions"
        return Verification(route, difference, 1e-12 * max(1.0, self.outputs * self.alpha**2)).require()

    @property
    def _uniform(self) -> int:
        return self.dim if self.uniform is None else self.uniform


_PREDICTORS = {
    "kernel": "Σ_n w_n K(x, x⁽ⁿ⁾) for any kernel K and any N = {} points; a kernel for each output",
    "features": "⟨w, φ(x)⟩ for any map φ to D = {} features",
}


def paper_hypotheses(
    functions: int, targets: int, outputs: int, uniform: int, alpha: float, kind: str
) -> tuple[Hypothesis, ...]:
    """What Theorems 2 and 3 ask for.

    Arguments:
        functions: N or D.
        targets: C.
        outputs: k.
        uniform: d₁.
        alpha: α.
        kind: ``kernel`` or ``features``.
    """
    letter = "N" if kind == "kernel" else "D"
    return (
        Hypothesis("k ≥ 2", outputs, 2),
        Hypothesis("k ≤ d₁", outputs, uniform, at_least=False),
        Hypothesis(f"{letter} ≤ C(d₁, k)/{PAPER_SHARE}", functions, targets / PAPER_SHARE, at_least=False),
        Hypothesis("α < 1", alpha, 1, at_least=False, strict=True),
    )


def require_sizes(dim: int, outputs: int, uniform: int | None) -> None:
    """Ask for 2 ≤ k ≤ d₁ ≤ d."""
    require_whole("dim", dim)
    require_whole("outputs", outputs)
    d1 = dim if uniform is None else uniform
    require_whole("uniform", d1)
    require(outputs >= 2, f"outputs (k) must be at least 2, since a parity of one sign is linear, got {outputs}")
    require(d1 <= dim, f"uniform (d₁) must not exceed dim = {dim}, got {d1}")
    require(outputs <= d1, f"outputs (k) must not exceed the {d1} uniform coordinates (d₁), got {outputs}")
    size = math.lgamma(d1 + 1) - math.lgamma(outputs + 1) - math.lgamma(d1 - outputs + 1)
    require(
        size < _LARGEST_CLASS * math.log(10),
        f"the number of targets must be below 1e{_LARGEST_CLASS}, got about 1e{size / math.log(10):.0f} for "
        f"d₁ = {d1}, k = {outputs}",
    )


def require_alpha(alpha: float) -> None:
    """Ask for an α whose square float64 holds."""
    require_between("alpha", alpha, 1e-100, 1e100)


def require_functions(functions: int, kind: str) -> None:
    """Ask for at least one function."""
    what = "training points (N)" if kind == "kernel" else "features (D)"
    if not isinstance(functions, int) or functions < 1:
        raise InputError(f"the number of {what} must be at least 1, got {functions}")


def _pascal(n: int, k: int) -> int:
    """The binomial coefficient by additions alone."""
    row = [1]
    for _ in range(n):
        row = list(_next(row, k))
    return row[k]


def _next(row: list[int], k: int) -> Iterator[int]:
    for j in range(min(len(row), k) + 1):
        yield (row[j] if j < len(row) else 0) + (row[j - 1] if j else 0)
