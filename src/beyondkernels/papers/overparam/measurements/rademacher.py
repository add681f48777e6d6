"""The Rademacher complexity of networks near a run's start, on the run's own sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from beyondkernels.core import Ended, Measured
from beyondkernels.core.constraints import at_least
from beyondkernels.measure.base import Measurement
from beyondkernels.papers.overparam.measurements.course import course, row_norm
from beyondkernels.papers.overparam.theory.rademacher import (
    real_at_maximum,
    sign_vectors,
    three_layer_bound,
    three_layer_suprema,
    two_layer_bound,
    two_layer_suprema,
)


@dataclass(frozen=True)
class RademacherComplexity(Measurement):
    r"""The complexity of the first output's pseudo networks, with the radii that the run reached.

    Of a ``TwoLayerLearner`` that kept ``W`` and its buffers at the start and the end: ``complexity``, over
    :math:`\|W'\|_{2,\infty} \le \tau`, exact but for the draws of signs, and ``complexity_error``, the standard error
    of the draws; ``unit_complexity``, the same with τ = 1/m; ``real_complexity``, the real network at the pseudo
    network's maximiser, at most the complexity of real networks; ``complexity_bound``, Lemma G.5's right side;
    ``radius``; ``largest_readout``, :math:`B = \max |a_j|`.

    Of a ``ThreeLayerLearner``: ``complexity``, that of Lemma 5.8's bilinear part with what the start gives, over
    :math:`\|W'\|_{2,4} \le \tau_w, \|V'\|_F \le \tau_v`; ``start_complexity`` and ``increment_complexity``, the two
    parts of it; ``unit_complexity``, the bilinear part alone with radii of the powers of m that Lemma 5.3 has,
    :math:`\tau_w = m_1^{-3/4}` and :math:`\tau_v = \sqrt{m_1/m_2}`, in units of the readout's root mean square;
    ``complexity_bound``, Lemma 5.9's right side with that root mean square as :math:`\varepsilon_a`; ``first_radius``
    and ``second_radius``.

    Arguments:
        draws: of signs, where there are too many points to list all.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemmas G.5 and 5.9.
    """

    draws: Annotated[int, at_least(2)] = 20

    def measure(self, run: Ended) -> Measured:
        x = run.case.train.x.double()
        signs = sign_vectors(len(x), self.draws, run.case.stream.child("rademacher"))
        deep = any(name.startswith("snapshot/") and name.endswith("/V") for name in run.outcome.arrays)
        weights, buffers = course(
            run.outcome, ("W", "V") if deep else ("W",), ("b1", "b2", "a") if deep else ("b1", "a")
        )
        buffers["a"] = buffers["a"][:1]
        start, end = weights[0], weights[max(weights)]
        n, m = len(x), len(start["W"])
        if not deep:
            radius, largest = row_norm(end["W"] - start["W"], math.inf), float(buffers["a"].abs().max())
            suprema = two_layer_suprema(x, start["W"], buffers, signs)[:, 0] / n
            real = real_at_maximum(x, start["W"], buffers, signs, radius)[:, 0] / n
            found = {
                "radius": radius,
                "complexity": radius * float(suprema.mean()),
                "complexity_error": radius * float(suprema.std()) / math.sqrt(len(signs)),
                "unit_complexity": float(suprema.mean()) / m,
                "real_complexity": float(real.mean()),
                "complexity_bound": two_layer_bound(n, m, radius, largest),
                "largest_readout": largest,
            }
            return Measured(scalars=found)
        radii = row_norm(end["W"] - start["W"], 4), float((end["V"] - start["V"]).norm())
        hidden = (x @ start["W"].T + buffers["b1"]).relu()
        outputs = (hidden @ start["V"].T + buffers["b2"]).relu() @ buffers["a"].T
        at_start = (signs @ outputs)[:, 0].abs() / n
        bilinear = three_layer_suprema(x, start, buffers, signs)[:, 0] / n
        suprema = at_start + radii[0] * radii[1] * bilinear
        m2, output_std = len(start["V"]), float(buffers["a"].square().mean().sqrt())
        found = {
            "first_radius": radii[0],
            "second_radius": radii[1],
            "complexity": float(suprema.mean()),
            "complexity_error": float(suprema.std()) / math.sqrt(len(signs)),
            "start_complexity": float(at_start.mean()),
            "increment_complexity": radii[0] * radii[1] * float(bilinear.mean()),
            "unit_complexity": m**-0.75 * math.sqrt(m / m2) * float(bilinear.mean()) / output_std,
            "complexity_bound": three_layer_bound(n, (m, m2), radii, output_std=output_std),
        }
        return Measured(scalars=found)
