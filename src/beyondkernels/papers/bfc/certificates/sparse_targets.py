"""What no kernel and no feature map can do on sparse quadratic targets of several layers, with explicit constants."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch

from beyondkernels.certificates.certificate import Certificate, Numbers, Verification
from beyondkernels.certificates.universal import (
    PAPER_SHARE,
    PAPER_TARGETS,
    THRESHOLD,
    require_alpha,
    require_functions,
    require_sizes,
    threshold_share,
)
from beyondkernels.core import Stream
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.data.inputs import corners
from beyondkernels.papers.bfc.problems.hard import require_depth, require_sparse, sparse_target

PAPER_ALPHA = 0.1
"""Theorem I.1 asks for α_L below this, Theorem I.3 for at most this."""

PAPER_DEPTH = 100
"""The paper asks for L at most log log d divided by this."""

_LARGEST_TRIAL = 600
"""The most targets for which a random space of functions is tried."""

_ENUMERATED = 10
"""The most coordinates whose signs are enumerated in a verification."""


def top_coefficient(depth: int, alpha: float) -> float:
    r"""The number c in the target's top Boolean coefficient :math:`c \prod_{i \in S} |x_i|`, given all |x_i|.

    .. math:: c = \alpha_L\, p!\, p^{-p/2}, \qquad p = 2^{L-1}

    The paper's text leaves out p!, which counts the orders in which a product takes its factors from
    :math:`\langle w, x\rangle^p`.

    Arguments:
        depth: L.
        alpha: α_L.

    >>> top_coefficient(2, 1.0), top_coefficient(3, 1.0)
    (1.0, 1.5)

    Reference: Allen-Zhu & Li (bfc), App. I.1.
    """
    p = 2 ** (depth - 1)
    return alpha * float(Fraction(math.factorial(p), p ** (p // 2)))


@dataclass(frozen=True)
class SparseTargetCertificate(Certificate):
    r"""Theorems I.1 and I.3 in a finite version, for every kernel or every feature map.

    The targets are those of :func:`bk.bfc.sparse_target`. Let S hold the places of the p entries
    of :math:`w_{2,0}`. Among all products :math:`x_T = \prod_{i \in T} x_i` of p coordinates, which are orthonormal,
    the target is correlated with :math:`x_S` alone, and :math:`E\,G^* x_S = c = \alpha_L\, p!\, p^{-p/2}`. The
    predictors form a space V of dimension at most N. Its projection onto the span of the :math:`x_T` has rank at most
    N; let Q be the projection onto that image. So

    .. math:: \min_{f \in V} E|f - G^*|^2 \ge c^2 (1 - \|Q x_S\|^2), \qquad \sum_S \|Q x_S\|^2 \le N

    The mean over the :math:`C = \binom{d}{p}` places S of the best risk is at least c²(1 − N/C), whatever the other
    weights are. The bound is ours. The paper's has no explicit constants, and it asks for L ≤ (log log d)/100.

    Arguments:
        functions: N points of a kernel, or D features.
        dim: d.
        depth: L.
        alpha: α_L.
        kind: ``kernel`` for Theorem I.1, ``features`` for Theorem I.3.

    >>> certificate = SparseTargetCertificate(functions=50, dim=20, depth=2, alpha=0.05)
    >>> certificate.targets, round(certificate.mean_risk, 6), certificate.holds
    (190, 0.001842, True)

    Reference: Allen-Zhu & Li (bfc), Theorems I.1 and I.3.
    """

    functions: int
    dim: int
    depth: int
    alpha: float
    kind: Literal["kernel", "features"] = "kernel"

    def __post_init__(self) -> None:
        require_depth(self.depth)
        require_sparse(self.dim, self.entries, self.depth)
        require_sizes(self.dim, self.entries, None)
        require_functions(self.functions, self.kind)
        require_alpha(self.alpha)

    @property
    def entries(self) -> int:
        """p, the entries of each weight, :math:`2^{L-1}`."""
        return 2 ** (self.depth - 1)

    @property
    def targets(self) -> int:
        """The number C of places S."""
        return math.comb(self.dim, self.entries)

    @property
    def top(self) -> float:
        """c, the correlation of the target with x_S, the product of the coordinates in S."""
        return top_coefficient(self.depth, self.alpha)

    @property
    def mean_risk(self) -> float:
        """c²(1 − N/C), or 0."""
        return self.top**2 * float(max(Fraction(0), 1 - Fraction(self.functions, self.targets)))

    @property
    def learnable_share(self) -> float:
        """The most targets that can have risk c²/16 or less, as a share: 16N/(15C)."""
        return float(threshold_share(self.functions, self.targets, Fraction(1, THRESHOLD)))

    @property
    def paper_risk(self) -> float:
        r"""The paper's :math:`\alpha_L^2 \log^{-2^{L+2}}(d)`, with 1 in the place of its open constant.

        For d = 2 the logarithm is below 1, so the number is above α_L² and means nothing. It is not among the numbers.
        """
        log = 2 * math.log(self.alpha) - 2 ** (self.depth + 2) * math.log(math.log(self.dim))
        return math.exp(log) if log < 700 else math.inf

    @property
    def title(self) -> str:
        number = "I.1" if self.kind == "kernel" else "I.3"
        return f"Theorem {number} of Allen-Zhu & Li (bfc), in a finite version with explicit constants"

    @property
    def setting(self) -> dict[str, str]:
        p = self.entries
        return {
            "inputs": f"standard Gaussian, d = {self.dim}",
            "targets": f"L = {self.depth} layers of one neuron, weights of p = {p} entries 1/√p, α_L = {self.alpha:g}",
            "predictors": _PREDICTORS[self.kind].format(self.functions),
        }

    @property
    def claim(self) -> str:
        return (
            "whatever the weights, the best risk E(G* − f)² has a mean over all places S of at least c²(1 − N/C) with "
            f"c = α_L·p!·p^(−p/2), and at most the share 16N/(15C) of the places has risk c²/{THRESHOLD} or less. The "
            f"paper: for at least {PAPER_TARGETS:.0%} of the targets the risk is of order α_L²·log^(−2^(L+2)) d, with "
            "a constant that it leaves open."
        )

    @property
    def numbers(self) -> Numbers:
        letter = "N" if self.kind == "kernel" else "D"
        theirs = {"the paper's risk, its constant read as 1": self.paper_risk}
        return {
            "places C": self.targets,
            f"functions {letter}": self.functions,
            "coefficient c": self.top,
            "mean risk, at least": self.mean_risk,
            f"threshold c²/{THRESHOLD}": self.top**2 / THRESHOLD,
            "share of places at or below it, at most": self.learnable_share,
            **(theirs if math.log(self.dim) > 1 else {}),
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Those of the paper; the finite version needs only L ≥ 2 and 2^(L−1) ≤ d."""
        letter, sign = ("N", "<") if self.kind == "kernel" else ("D", "≤")
        reach = max(0.0, math.log(max(math.log(self.dim), 1.0))) / PAPER_DEPTH
        return (
            Hypothesis(f"L ≤ (log log d)/{PAPER_DEPTH}", self.depth, reach, at_least=False),
            Hypothesis(f"{letter} ≤ C/{PAPER_SHARE}", self.functions, self.targets / PAPER_SHARE, at_least=False),
            Hypothesis(f"α_L {sign} {PAPER_ALPHA:g}", self.alpha, PAPER_ALPHA, at_least=False, strict=sign == "<"),
        )

    @property
    def holds(self) -> bool:
        return self.mean_risk > 0

    @property
    def verdict(self) -> str:
        digits = PAPER_DEPTH * self.depth / math.log(10) - math.log10(math.log(10))
        theirs = (
            f"The paper's theorem does not apply: for L = {self.depth} it asks for a d with about 10^{digits:.0f} "
            "digits, which no computation has."
        )
        if not self.holds:
            return f"{theirs} The finite version says nothing, because there are at least as many functions as places."
        return (
            f"{theirs} The finite version: at least {1 - self.learnable_share:.4g} of the targets have risk above "
            f"c²/{THRESHOLD}, and the mean risk is at least {self.mean_risk:.4g}."
        )

    def verify(self) -> Verification:
        r"""Count signs for c; for few coordinates, take it from a target; for few targets, try a space of functions.

        The sum over signs is exact: :math:`2^{-p} \sum_\tau \prod_i \tau_i (\sum_i \tau_i)^p`. The space is random and
        lies in the products of p coordinates, where the bound on the mean is an equality.
        """
        p, C = self.entries, self.targets
        signs = sum((-1) ** k * math.comb(p, k) * (p - 2 * k) ** p for k in range(p + 1))
        bound = Fraction(self.alpha) ** 2 * Fraction(signs, 2**p) ** 2 / p**p
        bound *= max(Fraction(0), Fraction(C - self.functions, C))
        off = abs(float(bound) - self.mean_risk) / self.top**2
        route = "an exact sum over signs"
        if p <= _ENUMERATED:
            off = max(off, self._enumerated())
            route += ", the signs of one target"
        if C <= _LARGEST_TRIAL and self.functions <= C:
            draws = Stream(0).child("certificate").normal(C, self.functions, dtype=torch.float64)
            risks = 1 - torch.linalg.qr(draws).Q.square().sum(1)
            off = max(off, abs(float(risks.mean()) - self.mean_risk / self.top**2))
            off = max(off, float((risks <= 1 / THRESHOLD).double().mean()) - self.learnable_share)
            route += ", and a random space of functions"
        return Verification(route, off, 1e-9).require()

    def _enumerated(self) -> float:
        """How far the coefficients of degree p of a drawn target are from c∏|x_i| at S and zero elsewhere, over c."""
        p, d = self.entries, max(self.entries, min(self.dim, _ENUMERATED))
        target = sparse_target(d, self.depth, (1.0,) * (self.depth - 1))
        sizes, signs = Stream(0).child("sizes").uniform(d, dtype=torch.float64) + 0.5, corners(d)
        values = target.target(sizes * signs)
        chosen = {*target.weights[2, 0][0].nonzero()[:, 0].tolist()}
        off = 0.0
        for T in itertools.combinations(range(d), p):
            wanted = top_coefficient(self.depth, 1.0) * float(sizes[list(T)].prod()) if chosen == {*T} else 0.0
            off = max(off, abs(float((values * signs[:, list(T)].prod(1)).mean()) - wanted))
        return off / float(values.abs().max())


_PREDICTORS = {
    "kernel": "Σ_n v_n K(x, x⁽ⁿ⁾) for any kernel K and any N = {} points",
    "features": "⟨w, φ(x)⟩ for any map φ to D = {} features",
}
