"""Lemmas 5.5 and 5.8 along a run: changed gates of both layers, and what random signs leave over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Ended, Measured, Stream
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.point_blocks import blocks
from beyondkernels.papers.overparam.measurements.course import course, row_norm
from beyondkernels.papers.overparam.theory import stronger_coupling, three_layer_gates


def three_layer_bounds(widths: tuple[int, int], radii: tuple[float, float]) -> dict[str, float]:
    r"""The right sides of Lemmas 5.5 (1), without smoothing noise, and 5.8, with every Õ(·) read as 1.

    .. math:: \text{first\_flips: } \tau_w^{4/5} m_1^{1/5}, \qquad
              \text{second\_flips: } \tau_v^{2/3} + \tau_w^{2/3} m_1^{1/6}, \qquad
              \text{left\_over: } \tau_w^{16/5} m_1^{4/5} m_2^{3/2} + \sqrt{m_2/m_1}\,\tau_v

    Flips are shares of a layer's gates.

    Arguments:
        widths: :math:`m_1, m_2`.
        radii: :math:`\tau_w = \|W'\|_{2,4}` and :math:`\tau_v = \|V'\|_F`.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemmas 5.5 and 5.8.
    """
    (m1, m2), (tau_w, tau_v) = widths, radii
    return {
        "first_flips": tau_w ** (4 / 5) * m1 ** (1 / 5),
        "second_flips": tau_v ** (2 / 3) + tau_w ** (2 / 3) * m1 ** (1 / 6),
        "left_over": tau_w ** (16 / 5) * m1 ** (4 / 5) * m2 ** (3 / 2) + math.sqrt(m2 / m1) * tau_v,
    }


def allowed_radii(width: int, radii: tuple[float, float]) -> tuple[float, float] | None:
    r"""The radii with which Lemmas 5.5 and 5.8 speak of increments at m₁ = m₂ = m; None if these are too long.

    .. math:: m^{-3/4} \le \tau_w \le m^{-1/2}, \qquad m^{-1/2} \le \tau_v \le 1

    Shorter increments lie within the least radii that are allowed.

    Arguments:
        width: m.
        radii: :math:`\|W'\|_{2,4}` and :math:`\|V'\|_F`.

    >>> allowed_radii(100, (0.001, 0.5)), allowed_radii(100, (0.11, 0.5))
    ((0.0316..., 0.5), None)

    Reference: Allen-Zhu, Li & Liang (overparam), Lemmas 5.5 and 5.8.
    """
    tau_w, tau_v = radii
    if tau_w > width**-0.5 or tau_v > 1:
        return None
    return max(tau_w, width**-0.75), max(tau_v, width**-0.5)


def changed_share(width: int, smoothing: float, tau_w: float, tau_v: float) -> float:
    r"""The bounds of Lemma 5.5 on the shares of changed gates of both layers, added, with σ = smoothing/√m.

    .. math:: \tau_w^{4/5} m^{1/5} + \sigma_w m^{1/2} + \sigma_v m^{1/2} + \tau_v^{2/3} + \tau_w^{2/3} m^{1/6}

    The second term is that of (254). The lemma leaves it out, because it asks σ_w ≤ τ_w m^(−1/4).

    Arguments:
        width: m₁ = m₂ = m.
        smoothing: σ√m, the same for both layers.
        tau_w: :math:`\|W'\|_{2,4}`.
        tau_v: :math:`\|V'\|_F`.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.5, (254), (261) and (270).
    """
    return tau_w**0.8 * width**0.2 + 2 * smoothing + tau_v ** (2 / 3) + tau_w ** (2 / 3) * width ** (1 / 6)


@dataclass(frozen=True)
class ThreeLayerCoupling(Measurement):
    r"""Lemmas 5.5 and 5.8 along a run of a ``ThreeLayerLearner`` that kept ``W``, ``V`` and its buffers.

    Series over the snapshots, their names beginning with ``coupling/``: ``first_flips`` and ``second_flips``, the mean
    share of a layer's gates that differ from those of the start; ``left_over``, the mean over points, outputs and
    draws of Σ of what Lemma 5.8 leaves over, without its sign; ``<term>_max``, the largest of each; ``<term>_bound``,
    the right side; ``first_radius`` and ``second_radius``, :math:`\|W'\|_{2,4}` and :math:`\|V'\|_F`.

    Arguments:
        points: how many fresh points.
        draws: how many Σ.
        seed: where points and Σ come from.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemmas 5.5 and 5.8.
    """

    points: Annotated[int, positive] = 100
    draws: Annotated[int, positive] = 5
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        stream = Stream(self.seed).child("coupling")
        x = run.problem.sample(self.points, stream).x.double()
        weights, buffers = course(run.outcome, ("W", "V"), ("b1", "b2", "a"))
        start, rows = weights[0], []
        m1, m2 = len(start["W"]), len(start["V"])
        signs = [2 * stream.child("signs").at(i).bernoulli(0.5, m1).double() - 1 for i in range(self.draws)]
        for now in weights.values():
            moved = {name: now[name] - start[name] for name in now}
            found: dict[str, list[torch.Tensor]] = {"first_flips": [], "second_flips": [], "left_over": []}
            for part in blocks(x, m1 + m2):
                before = three_layer_gates(part, start["W"], start["V"], buffers)
                after = three_layer_gates(part, now["W"], now["V"], buffers)
                found["first_flips"].append((before.first != after.first).double().mean(1))
                found["second_flips"].append((before.second != after.second).double().mean(1))
                found["left_over"] += [stronger_coupling(part, start, moved, buffers, s).abs().flatten() for s in signs]
            radii = row_norm(moved["W"], 4), float(moved["V"].norm())
            row = dict(zip(("first_radius", "second_radius"), radii, strict=True))
            for term, values in found.items():
                row |= {term: float(torch.cat(values).mean()), f"{term}_max": float(torch.cat(values).max())}
            row |= {f"{term}_bound": value for term, value in three_layer_bounds((m1, m2), radii).items()}
            rows.append(row)
        return Measured(series=over_steps("coupling", weights, rows))
