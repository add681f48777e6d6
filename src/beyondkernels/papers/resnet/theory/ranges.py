"""Table 1 of the paper on ResNets and kernels: the ranges of Theorem 1's parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from beyondkernels.core import require, require_positive
from beyondkernels.core.hypotheses import Hypothesis


@dataclass(frozen=True)
class Theorem1Ranges:
    r"""Where the initial scales and the radii of Theorem 1 must lie.

    .. math::
        \sigma_w &\in [m^{-1/2+0.01},\ m^{-0.01}], & \sigma_v &\in [\mathrm{polylog}(m),\ m^{3/8-0.01}], \\
        \tau_w &\in [m^{1/8+0.001}\sigma_w,\ m^{1/8-0.001}\sigma_w^{1/4}],\ \tau_w \ge 1, &
        \tau_v &\in [\sigma_v (k/m)^{3/8},\ \sigma_v/\mathrm{polylog}(m)],\ \tau_v \le 1/\mathrm{polylog}(m) .

    The proof of Claim C.6 also uses :math:`1/\sigma_v \le \tau_v^2`, which the table does not print.

    Arguments:
        width: m.
        outputs: k.
        first_radius: :math:`\tau_w`.
        second_radius: :math:`\tau_v`.
        polylog: what stands for polylog(m).

    >>> table = Theorem1Ranges(width=10**12, outputs=1, first_radius=3.0, second_radius=0.01, polylog=10.0)
    >>> low, high = table.first_std
    >>> print(f"{low:.3g} {high:.3g}")
    9.05e-05 0.0923

    Reference: Allen-Zhu & Li (resnet), Table 1 and Claim C.6.
    """

    width: int
    outputs: int
    first_radius: float
    second_radius: float
    polylog: float

    def __post_init__(self) -> None:
        require(self.width >= 2, f"width must be at least 2 for its logarithm to be positive, got {self.width}")
        require_positive("polylog", self.polylog)

    @property
    def first_std(self) -> tuple[float, float]:
        r"""The ends of the range of :math:`\sigma_w` for these radii; the lower lies above where the range is empty."""
        m, tau = self.width, self.first_radius
        low, high = self._first_ends
        return max(low, (tau / m ** (1 / 8 - 0.001)) ** 4), min(high, tau / m ** (1 / 8 + 0.001))

    @property
    def second_std(self) -> tuple[float, float]:
        r"""The ends of the range of :math:`\sigma_v`, Claim C.6's included; likewise."""
        m, k, tau = self.width, self.outputs, self.second_radius
        low, high = self._second_ends
        if tau == 0:  # no composite signal: nothing is asked of σ_v but its own range
            return low, high
        return max(low, tau * self.polylog, tau**-2), min(high, tau * (m / k) ** (3 / 8))

    @property
    def middle(self) -> tuple[float, float]:
        r"""The geometric middles of both ranges; where one is empty, moved into what m alone asks of σ."""
        pairs = ((self.first_std, self._first_ends), (self.second_std, self._second_ends))
        w, v = (min(max((low * high) ** 0.5, ends[0]), ends[1]) for (low, high), ends in pairs)
        return w, v

    def hypotheses(self, first_std: float, second_std: float) -> tuple[Hypothesis, ...]:
        r"""Every end of every range, for given :math:`\sigma_w` and :math:`\sigma_v`."""
        m, k, log = self.width, self.outputs, self.polylog
        w, v, tau_w, tau_v = first_std, second_std, self.first_radius, self.second_radius
        (w_low, w_high), (v_low, v_high) = self._first_ends, self._second_ends
        (tau_w_low, tau_w_high), (tau_v_low, tau_v_high) = radius_ranges(m, k, w, v)
        return (
            Hypothesis("σ_w ≥ m^(−1/2+0.01)", w, w_low),
            Hypothesis("σ_w ≤ m^(−0.01)", w, w_high, at_least=False),
            Hypothesis("σ_v ≥ polylog(m)", v, v_low),
            Hypothesis("σ_v ≤ m^(3/8−0.01)", v, v_high, at_least=False),
            Hypothesis("τ_w ≥ 1", tau_w, 1),
            Hypothesis("τ_w ≥ m^(1/8+0.001) σ_w", tau_w, tau_w_low),
            Hypothesis("τ_w ≤ m^(1/8−0.001) σ_w^(1/4)", tau_w, tau_w_high, at_least=False),
            Hypothesis("τ_v ≤ 1/polylog(m)", tau_v, 1 / log, at_least=False),
            Hypothesis("τ_v ≥ σ_v (k/m)^(3/8)", tau_v, tau_v_low),
            Hypothesis("τ_v ≤ σ_v/polylog(m)", tau_v, tau_v_high / log, at_least=False),
            Hypothesis("σ_v ≥ 1/τ_v² (proof of Claim C.6)", v, tau_v**-2 if tau_v else math.inf),
        )

    @property
    def _first_ends(self) -> tuple[float, float]:
        return self.width ** (-1 / 2 + 0.01), self.width**-0.01

    @property
    def _second_ends(self) -> tuple[float, float]:
        return self.polylog, self.width ** (3 / 8 - 0.01)


Range = tuple[float, float]


def radius_ranges(width: int, outputs: int, first_std: float, second_std: float) -> tuple[Range, Range]:
    r"""Between which ends Lemma C.1 wants :math:`\tau_w` and :math:`\tau_v`, a polylog(m) read as 1.

    .. math:: \tau_w \in [m^{1/8+0.001}\sigma_w,\ m^{1/8-0.001}\sigma_w^{1/4}], \qquad
              \tau_v \in [\sigma_v (k/m)^{3/8},\ \sigma_v]

    and :math:`\tau_w \ge 1` besides.

    Arguments:
        width: m.
        outputs: k.
        first_std: :math:`\sigma_w`.
        second_std: :math:`\sigma_v`.

    >>> radius_ranges(width=2**16, outputs=1, first_std=2**-16, second_std=4.0)[1]
    (0.0625, 4.0)

    Reference: Allen-Zhu & Li (resnet), Table 1 and Lemma C.1.
    """
    m, w, v = width, first_std, second_std
    return (m ** (1 / 8 + 0.001) * w, m ** (1 / 8 - 0.001) * w**0.25), (v * (outputs / m) ** (3 / 8), v)


def radius_excess(width: int, outputs: int, stds: Range, radii: Range) -> Range:
    r"""By which factors :math:`\tau_w` and :math:`\tau_v` lie above (more than 1) or below (less) Lemma C.1's ranges.

    Within a range the factor is 1.

    Arguments:
        width: m.
        outputs: k.
        stds: :math:`\sigma_w` and :math:`\sigma_v`.
        radii: :math:`\tau_w` and :math:`\tau_v`.

    >>> radius_excess(width=10_000, outputs=2, stds=(0.1, 4.0), radii=(0.5, 8.0))
    (0.5, 2.0)

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """
    of_w, of_v = radius_ranges(width, outputs, *stds)
    ends = (max(1.0, of_w[0]), of_w[1]), of_v
    w, v = (tau / high if tau > high else min(1.0, tau / low) for tau, (low, high) in zip(radii, ends, strict=True))
    return w, v
