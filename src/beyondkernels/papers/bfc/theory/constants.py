"""The numbers of Algorithm 1: the thresholds and regulariser weights of (4.1), and a practical choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from beyondkernels.core import Component, require, require_positive, shown
from beyondkernels.core.constraints import any_number, not_empty, not_negative, positive
from beyondkernels.core.hypotheses import Hypothesis, WithHypotheses
from beyondkernels.papers.bfc.problems.graph import Graph, require_graph, skip_graph


@dataclass(frozen=True)
class DenseNetSettings(WithHypotheses, Component):
    r"""What Algorithm 1 is told, for each layer from the second to the last.

    Arguments:
        join_at: :math:`\mathrm{Thres}_{\ell,\Delta}`: at or below this objective :math:`W_\ell` joins. The first is
            not looked at, since the second layer joins at once.
        distill_at: :math:`\mathrm{Thres}_{\ell,\nabla}`: at or below this objective :math:`K_\ell` joins.
        cross: :math:`\lambda_{3,\ell}`.
        own: :math:`\lambda_{4,\ell}`.
        whole: :math:`\lambda_{5,\ell}`.
        decay: :math:`\lambda_{6,\ell} / \varepsilon_0^2`.
        rank_cut: the least singular value that counts for :math:`k_\ell`.
        relative_cut: whether ``rank_cut`` is in units of the largest singular value (ours).
        error: ε, the target error at which training ends.
        first_error: ε₀ at the start; None begins with the root of the objective.
        hypotheses: what the theorem asks and how this case stands to it; not part of the identity.
    """

    join_at: Annotated[tuple[Annotated[float, any_number], ...], not_empty]
    distill_at: tuple[Annotated[float, any_number], ...]
    cross: Annotated[tuple[float, ...], not_negative]
    own: Annotated[tuple[float, ...], not_negative]
    whole: Annotated[tuple[float, ...], not_negative]
    decay: Annotated[tuple[float, ...], not_negative]
    rank_cut: Annotated[tuple[float, ...], positive]
    error: Annotated[float, positive]
    first_error: Annotated[float, positive] | None = None
    relative_cut: bool = False
    hypotheses: tuple[Hypothesis, ...] = field(default=(), compare=False, metadata={"identity": False})

    def __post_init__(self) -> None:
        count = len(self.join_at)
        for name in ("distill_at", "cross", "own", "whole", "decay", "rank_cut"):
            values = getattr(self, name)
            require(
                len(values) == count, f"{name} must hold {count} values, one for each layer, got {shown(len(values))}"
            )
        for name in ("join_at", "distill_at"):
            for value in getattr(self, name):
                require(value >= 0, f"{name} must not be negative, got {shown(value)}")

    @property
    def depth(self) -> int:
        """L."""
        return len(self.join_at) + 1

    @property
    def thresholds(self) -> dict[str, float]:
        """Every threshold that lets a stage begin, by its symbol, in the order of the stages.

        >>> practical((1.0, 0.2), (1.0, 0.2), error=0.01, distill_last=0.05).thresholds
        {'Thres₂,∇: K₂ joins': 0.05, 'Thres₃,Δ: W₃ joins': 0.05, 'Thres₃,∇: K₃ joins': 0.002...}
        """
        found: dict[str, float] = {}
        for i, (join, distill) in enumerate(zip(self.join_at, self.distill_at, strict=True), 2):
            low = _low(i)
            found |= {} if i == 2 else {f"Thres{low},Δ: W{low} joins": join}  # the first layer joins at once
            found[f"Thres{low},∇: K{low} joins"] = distill
        return found


def theorem1(
    dim: int,
    alphas: tuple[float, ...],
    widths: tuple[int, ...],
    *,
    error: float,
    kappa: float = 1.0,
    bounds: tuple[float, ...] | None = None,
    graph: Graph | None = None,
    gap_base: int = 2,
    base: int = 3,
) -> DenseNetSettings:
    r"""The numbers of (4.1) and Algorithm 1 in the special case of Theorem 1, with its hypotheses checked.

    .. math::
        \mathrm{Thres}_{\ell,\Delta} = \alpha_{\ell-1}^2\, d^{-1/(3 C^{\ell-1})}, \quad
        \mathrm{Thres}_{\ell,\nabla} = \alpha_\ell^2\, d^{-1/(6 C^\ell)}, \quad
        \lambda_{3,\ell} = \alpha_\ell^2\, d^{-1/(6 C^\ell)}, \quad
        \lambda_{4,\ell} = \alpha_\ell^2\, d^{-1/(3 C^\ell)}, \quad
        \lambda_{5,\ell} = \alpha_\ell^2\, d^{-1/(2 C^\ell)}, \quad
        \lambda_{6,\ell} = \varepsilon_0^2 / (\bar k_\ell L \kappa)^8

    and the singular values of INITIAL-DISTILL count from :math:`1/(10 \kappa^2)` on. The paper's
    :math:`\bar k_\ell` is the largest width among the layers from the second on that enter layer ℓ; for the second
    layer itself, where the set is empty, it is 1 (ours).
    The thresholds leave out the size of the layers: with d = 10 they are hardly below :math:`\alpha^2`, and a target
    whose layers vary much more than 1 does not reach them. :func:`practical` has thresholds in units of the layers.

    Arguments:
        dim: d.
        alphas: α₂, α₃, …
        widths: k₂, k₃, …
        error: ε.
        kappa: κ, the condition of the target's weights.
        bounds: B₂, B₃, …, which bound E[Sum(G*)]; ε₀ begins at the square of their largest. None begins with the root
            of the objective.
        graph: 𝒥₂, 𝒥₃, …; None takes :func:`bk.bfc.skip_graph`.
        gap_base: C₁ of the theorem, at least 2.
        base: C, larger than C₁.

    >>> settings = theorem1(10, (1.0, 0.1), (2, 2), error=0.01)
    >>> [round(value, 4) for value in settings.distill_at]
    [0.9583, 0.0099]
    >>> print(settings.hypotheses[0])
    holds by a factor 5.62: α₃/α₂ ≤ d^(−1/C₁²) (0.1 against 0.5623)

    Reference: Allen-Zhu & Li (bfc), §3, Theorem 1; §4, eq. (4.1) and Algorithm 1; Corollary B.2.
    """
    require_layers(alphas, widths=widths, **({} if bounds is None else {"bounds": bounds}))
    for name, value in (("dim", dim), ("error", error), ("kappa", kappa)):
        require_positive(name, value)
    require_small(error)
    if graph is not None:
        require_graph(graph)
        require(len(graph) == len(alphas), f"graph must hold {len(alphas)} sets, one for each α, got {len(graph)}")
    require(gap_base >= 2, f"gap_base must be at least 2, got {gap_base}")
    require(base > gap_base, f"base must be larger than gap_base={gap_base}, got {base}")
    L = len(alphas) + 1
    layers, wiring = range(2, L + 1), skip_graph(L) if graph is None else graph

    def scaled(factor: int) -> tuple[float, ...]:
        return tuple(a**2 * dim ** (-1 / (factor * base**layer)) for layer, a in zip(layers, alphas, strict=True))

    # Thres(ℓ,Δ) speaks of the layer below, so its numbers are those of λ₄ one layer lower.
    before = scaled(3)
    entering = [entering_width(widths, sources) for sources in wiring]
    return DenseNetSettings(
        # The second layer joins whatever the objective is.
        join_at=(math.inf, *before[:-1]),
        distill_at=scaled(6),
        cross=scaled(6),
        own=scaled(3),
        whole=scaled(2),
        decay=tuple((k * L * kappa) ** -8.0 for k in entering),
        rank_cut=(1 / (10 * kappa**2),) * (L - 1),
        error=error,
        first_error=None if bounds is None else max(bounds) ** 2,
        hypotheses=_special_case(dim, alphas, widths, kappa, bounds, wiring, gap_base),
    )


def practical(
    stds: tuple[float, ...],
    alphas: tuple[float, ...],
    *,
    error: float,
    join: float = 0.05,
    distill: float = 0.05,
    distill_last: float = 5e-4,
    weight: float = 0.3,
    decay: float = 1e-4,
    rank_cut: float = 0.3,
) -> DenseNetSettings:
    r"""Numbers for Algorithm 1 at sizes that can be run; ours.

    .. math::
        \mathrm{Thres}_{\ell,\Delta} = a\, s_{\ell-1}^2, \quad \mathrm{Thres}_{\ell,\nabla} = b_\ell\, s_\ell^2, \quad
        \lambda_{3,\ell} = \lambda_{4,\ell} = \lambda_{5,\ell} = c\, \alpha_\ell^2, \quad
        \lambda_{6,\ell} = e\, \varepsilon_0^2

    where :math:`s_\ell` is the standard deviation of what layer ℓ adds to the target. The defaults of a, b and c were
    chosen by test errors on the targets of ``bfc/theorem1`` with seeds 100 to 103, which it does not report.

    Arguments:
        stds: s₂, s₃, …
        alphas: α₂, α₃, …
        error: ε.
        join: a.
        distill: b of all layers but the last.
        distill_last: b of the last layer, which can be small because no layer is missing any more.
        weight: c.
        decay: e.
        rank_cut: the least singular value that counts for k, in units of the largest. With κ = 1 those of the target
            differ little.

    >>> practical((2.0, 0.4), (1.0, 0.1), error=0.001).distill_at
    (0.2, 8.000000000000002e-05)
    """
    require_layers(alphas, stds=stds)
    tie = tuple(weight * a**2 for a in alphas)
    return DenseNetSettings(
        join_at=(math.inf, *(join * s**2 for s in stds[:-1])),
        # What the missing layers add cannot be learnt by this one, so a threshold below their share would never be
        # reached. The last layer misses none.
        distill_at=(*(distill * s**2 for s in stds[:-1]), distill_last * stds[-1] ** 2),
        # One weight for all three: the paper's different powers of d order the steps of a proof and differ little at
        # small d.
        cross=tie,
        own=tie,
        whole=tie,
        # The paper's (k̄ L κ)⁻⁸ changes by orders of magnitude with a width; one number for all layers does here.
        decay=(decay,) * len(alphas),
        rank_cut=(rank_cut,) * len(alphas),
        error=error,
        relative_cut=True,
    )


def require_layers(alphas: tuple[float, ...], **fields: tuple[float, ...]) -> None:
    """Ask for positive numbers, one for each layer."""
    require(len(alphas) > 0, "alphas must hold at least one value, got none")
    for name, values in {"alphas": alphas, **fields}.items():
        require(
            len(values) == len(alphas),
            f"{name} must hold {len(alphas)} values, one for each layer, got {len(values)}",
        )
        for value in values:
            require_positive(name, value)


def require_small(error: float) -> None:
    """Ask for an ε that the theorems speak of."""
    require(0 < error < 1, f"error must lie in (0, 1), got {shown(error)}")


def entering_width(values: tuple[float, ...], sources: tuple[int, ...]) -> float:
    """The largest value among the layers from the second on that enter a layer; 1 where there is none.

    >>> entering_width((3, 2, 1), (3, 1)), entering_width((3, 2, 1), (1,))
    (2, 1.0)
    """
    return max((values[j - 2] for j in sources if j >= 2), default=1.0)


def _special_case(
    dim: int,
    alphas: tuple[float, ...],
    widths: tuple[int, ...],
    kappa: float,
    bounds: tuple[float, ...] | None,
    graph: Graph,
    c1: int,
) -> tuple[Hypothesis, ...]:
    """The hypotheses of Theorem 1 that have numbers; L = o(log log d) has none.

    A layer takes no layer that lies C₁ or more below it, other than 0 and 1: skip connections do not go deep, unless
    they come from the input.
    """
    L = len(alphas) + 1
    found = [
        Hypothesis(
            f"α{_low(layer + 1)}/α{_low(layer)} ≤ d^(−1/C₁{_high(layer)})",
            alphas[layer - 1] / alphas[layer - 2],
            dim ** (-1 / c1**layer),
            at_least=False,
        )
        for layer in range(2, L)
    ]
    found += [
        Hypothesis(f"k{_low(i)} ≤ d^(1/(C₁{_high(i)} + C₁))", k, dim ** (1 / (c1**i + c1)), at_least=False)
        for i, k in enumerate(widths, 2)
    ]
    found.append(Hypothesis("κ ≤ 2^(C₁^L)", kappa, 2.0 ** min(c1**L, 1000), at_least=False))
    found += [
        Hypothesis(f"B{_low(i)} ≤ 2^(C₁{_high(i)}) k{_low(i)}", b, 2.0 ** min(c1**i, 1000) * k, at_least=False)
        for i, (b, k) in enumerate(zip(bounds or (), widths, strict=False), 2)
    ]
    found += [
        Hypothesis(
            f"|𝒥{_low(layer)} ∩ {{2, …, {layer} − C₁}}| = 0",
            sum(2 <= j <= layer - c1 for j in sources),
            0,
            at_least=False,
        )
        for layer, sources in enumerate(graph, 2)
        if layer - c1 >= 2
    ]
    return tuple(found)


def _low(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _high(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
