"""Lemmas 5.6 and 5.7 along a run: do old gates give the ground truth, and does noise hide that gates change?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from beyondkernels.core import Ended, InputError, Measured, Stream, Tensors
from beyondkernels.core.constraints import any_number, not_empty, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.papers.overparam.measurements.course import course, row_norm
from beyondkernels.papers.overparam.problems import ThreeLayerTruth
from beyondkernels.papers.overparam.theory import (
    pseudo_three_layer,
    smoothed_coupling_bound,
    smoothed_pseudo,
    three_layer_gates,
    truth_direction,
)

_NAMES = ("W", "V")


@dataclass(frozen=True)
class SmoothedCoupling(Measurement):
    r"""Lemmas 5.6 and 5.7 along a run of a ``ThreeLayerLearner`` that kept ``W``, ``V`` and its buffers.

    W* and V* are those of :func:`bk.overparam.truth_direction` for the gates of the start. Scalars:
    ``smoothing/existing``, :math:`E \sum_r |f^*_r - g_r^{(b,b)}(x; W^*, V^*)|` of Lemma 5.6 with these gates;
    ``smoothing/target``, :math:`E \sum_r |f^*_r|`; ``smoothing/rows``, :math:`\|W^*\|_{2,\infty} \|V^*\|_{2,\infty}`;
    ``smoothing/norms``, :math:`\|W^*\|_F \|V^*\|_F`.

    Series over the snapshots, their names beginning with ``smoothing/``: ``kept``, the error of Lemma 5.6 with the
    gates of now, noise among them, and the same W* and V*; ``first_radius`` and ``second_radius``,
    :math:`\|W'\|_{2,4}` and :math:`\|V'\|_F`; for each η ``gap``, :math:`E|P_{\rho,\eta} - P'_{\rho,\eta}|/\eta^2` of
    Lemma 5.7. Its W″ and V″ are W* and V* with longest rows of :math:`1/m_1` and :math:`\sqrt{m_1}/m_2`, the powers
    of (40), and with random signs Σ. ``bound`` is the lemma's right side with these.

    Arguments:
        smoothing: :math:`\sigma_w, \sigma_v`.
        points: how many fresh points.
        rates: η.
        draws: of the noise and of Σ.
        fit_points: further fresh points, from which W* and V* are made.
        ridge: of their regression.
        seed: where points and draws come from.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemmas 5.6 and 5.7.
    """

    smoothing: Annotated[tuple[float, float], positive]
    points: Annotated[int, positive] = 200
    rates: Annotated[tuple[float, ...], positive, not_empty] = (0.1, 0.3, 1.0)
    draws: Annotated[int, positive] = 20
    fit_points: Annotated[int, positive] = 3000
    ridge: Annotated[float, positive] = 1e-3
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        truth, stream = run.problem, Stream(self.seed).child("smoothing")
        if not isinstance(truth, ThreeLayerTruth):
            raise InputError(f"problem must be a ThreeLayerTruth, got {type(truth).__name__}")
        weights, buffers = course(run.outcome, _NAMES, ("b1", "b2", "a"))
        start = weights[0]
        m1, m2 = len(start["W"]), len(start["V"])
        fit = truth.sample(self.fit_points, stream.child("fit")).x.double()
        gates = three_layer_gates(fit, start["W"], start["V"], buffers)
        star = truth_direction(truth, fit, gates, buffers["a"], self.ridge, stream.child("signs"))
        longest = {name: row_norm(star[name], math.inf) for name in _NAMES}
        wanted = {"W": 1 / m1, "V": m1**0.5 / m2}
        step = {name: star[name] * (wanted[name] / longest[name]) for name in _NAMES}
        x = truth.sample(self.points, stream.child("points")).x.double()
        target = truth.target(x)
        bound = smoothed_coupling_bound((m1, m2), (wanted["W"], wanted["V"]), self.smoothing)
        rows = []
        for now in weights.values():
            found = [
                self._drawn(x, target, now, star, step, buffers, stream.child("draw", str(i)))
                for i in range(self.draws)
            ]
            moved = {name: now[name] - start[name] for name in _NAMES}
            row = {name: np.mean([one[name] for one in found], 0) for name in found[0]}
            radii = {"first_radius": row_norm(moved["W"], 4), "second_radius": float(moved["V"].norm())}
            rows.append(row | radii | {"bound": bound})
        return Measured(
            scalars={
                "smoothing/existing": _error(x, target, start, star, buffers),
                "smoothing/target": float(target.abs().sum(1).mean()),
                "smoothing/rows": longest["W"] * longest["V"],
                "smoothing/norms": float(star["W"].norm() * star["V"].norm()),
            },
            series=over_steps("smoothing", weights, rows),
        )

    def _drawn(
        self,
        x: torch.Tensor,
        target: torch.Tensor,
        now: Tensors,
        star: Tensors,
        step: Tensors,
        buffers: Tensors,
        stream: Stream,
    ) -> dict[str, np.ndarray]:
        """Both lemmas with one draw of the noise and of Σ."""
        stds = dict(zip(_NAMES, self.smoothing, strict=True))
        noise = {n: stds[n] * stream.child(n).normal(*now[n].shape, dtype=torch.float64) for n in _NAMES}
        signs = 2 * stream.child("signs").bernoulli(0.5, len(now["W"])).double() - 1
        signed = {"W": signs[:, None] * step["W"], "V": step["V"] * signs}
        gaps = []
        for eta in self.rates:
            after, before = smoothed_pseudo(x, now, noise, signed, eta, buffers)
            gaps.append(float((after - before).abs().mean()) / eta**2)
        noisy = {name: now[name] + noise[name] for name in _NAMES}
        return {"gap": np.array(gaps), "kept": np.array(_error(x, target, noisy, star, buffers))}


def _error(x: torch.Tensor, target: torch.Tensor, at: Tensors, star: Tensors, buffers: Tensors) -> float:
    """What Lemma 5.6 leaves over with the gates of these weights."""
    gates = three_layer_gates(x, at["W"], at["V"], buffers)
    given = pseudo_three_layer(x, star["W"], star["V"], gates, buffers, (False, False))
    return float((target - given).abs().sum(1).mean())
