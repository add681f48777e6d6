"""Lemma G.3 along a run: changed gates, and how far the pseudo network is from the real one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.algorithms.losses import Loss, Squared
from beyondkernels.core import Ended, Measured, Stream, Tensors
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.point_blocks import blocks
from beyondkernels.papers.overparam.measurements.course import course, row_norm
from beyondkernels.papers.overparam.theory import gates, pseudo_two_layer


@dataclass(frozen=True)
class TwoLayerTerms:
    r"""The left sides of Lemma G.3 point by point.

    Arguments:
        flips: (1) the share of gates that changed.
        gap: (2) :math:`\max_r |f_r(x) - g_r(x)|`.
        gradient_gap: (3) :math:`\|\nabla L(F(x), y) - \nabla L(G(x), y)\|_{2,1}`.
        gradient: :math:`\|\nabla L(F(x), y)\|_{2,1}`, for comparison; the lemma has no bound on it.
    """

    flips: torch.Tensor
    gap: torch.Tensor
    gradient_gap: torch.Tensor
    gradient: torch.Tensor


def two_layer_terms(
    start: torch.Tensor, W: torch.Tensor, buffers: Tensors, x: torch.Tensor, y: torch.Tensor, loss: Loss
) -> TwoLayerTerms:
    """The left sides of Lemma G.3; the third in the norm in which the proof of Lemma G.4 uses it.

    Arguments:
        start: W⁽⁰⁾, (m, d).
        W: the weights now.
        buffers: ``b1`` and ``a``.
        x: points, (n, d).
        y: labels, (n, k).
        loss: L.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.3.
    """
    b, a = buffers["b1"], buffers["a"]
    before, now = gates(x, start, b), gates(x, W, b)
    real, pseudo = torch.relu(x @ W.T + b) @ a.T, pseudo_two_layer(x, W, start, buffers)
    # the gradient in w_i is Σ_r L'_r a_{r,i} times the gate times x
    of_real, of_pseudo = (now * (_slope(loss, real, y) @ a), before * (_slope(loss, pseudo, y) @ a))
    lengths = x.norm(dim=1)
    return TwoLayerTerms(
        flips=(before != now).double().mean(1),
        gap=(real - pseudo).abs().amax(1),
        gradient_gap=(of_real - of_pseudo).abs().sum(1) * lengths,
        gradient=of_real.abs().sum(1) * lengths,
    )


def two_layer_bounds(width: int, outputs: int, radius: float, largest: float) -> dict[str, float]:
    r"""The right sides of Lemma G.3 as its proof adds them up, for a 1-Lipschitz and 1-smooth loss.

    .. math:: \text{flips: } \tau\sqrt m, \qquad \text{gap: } B\,\tau^2 m^{3/2}, \qquad
              \text{gradient\_gap: } \sqrt k B\,\tau m^{3/2} + k B^2\,\tau^2 m^{5/2}

    Here τ bounds how far any neuron moved. In the lemma τ is :math:`\eta t`, and the proof bounds the distance by
    :math:`\sqrt k B \eta t`. With that distance the right sides have the powers of m and :math:`\eta t` that the lemma
    prints. The powers of k are larger by 1/2 in the first, in the second and in the last summand: where the proof
    counts the changed gates, it drops the :math:`\sqrt k` of the distance. The constant 1 of the first is larger than
    :math:`\sqrt{2/\pi}`, which the density of the neurons' inputs gives.

    Arguments:
        width: m.
        outputs: k.
        radius: :math:`\tau = \|W_t\|_{2,\infty}`.
        largest: :math:`B = \max |a_{r,i}|`.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.3 and its proof.
    """
    flips = radius * math.sqrt(width)
    gap = largest * radius * flips * width
    both = math.sqrt(outputs) * largest
    return {"flips": flips, "gap": gap, "gradient_gap": both * width * (flips + math.sqrt(outputs) * gap)}


@dataclass(frozen=True)
class TwoLayerCoupling(Measurement):
    r"""Lemma G.3 along a run of a ``TwoLayerLearner`` that kept ``W``, ``buffers/b1`` and ``buffers/a``.

    Series over the snapshots, their names beginning with ``coupling/``: ``<term>`` and ``<term>_max``, mean and largest
    over points, for the terms of :class:`TwoLayerTerms`; ``<term>_bound``, the right side; ``radius``,
    :math:`\|W_t\|_{2,\infty}`.

    Arguments:
        points: how many fresh points.
        seed: where they come from.
        loss: L of the third term.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.3.
    """

    points: Annotated[int, positive] = 100
    seed: Annotated[int, any_number] = 0
    loss: Loss = field(default_factory=Squared)

    def measure(self, run: Ended) -> Measured:
        drawn = run.problem.sample(self.points, Stream(self.seed).child("coupling"))
        x, y = drawn.x.double(), drawn.y.double().reshape(self.points, -1)
        weights, buffers = course(run.outcome, ("W",), ("b1", "a"))
        start = weights[0]["W"]
        (k, m), largest, rows = buffers["a"].shape, float(buffers["a"].abs().max()), []
        for now in weights.values():
            radius = row_norm(now["W"] - start, math.inf)
            parts = [
                two_layer_terms(start, now["W"], buffers, points, labels, self.loss)
                for points, labels in zip(blocks(x, m), blocks(y, m), strict=True)
            ]
            row = {"radius": radius}
            for term in ("flips", "gap", "gradient_gap", "gradient"):
                values = torch.cat([getattr(part, term) for part in parts])
                row |= {term: float(values.mean()), f"{term}_max": float(values.max())}
            row |= {f"{term}_bound": value for term, value in two_layer_bounds(m, k, radius, largest).items()}
            rows.append(row)
        return Measured(series=over_steps("coupling", weights, rows))


def _slope(loss: Loss, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The derivative of the loss in the outputs, point by point."""
    return torch.func.grad(lambda each: loss.each(each, y).sum())(out)
