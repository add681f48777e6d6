"""Claim C.6 and App. C.4 over a whole run, from what ``Coupling`` and ``Regret`` measured along it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import fields

from beyondkernels.core import Outcome
from beyondkernels.papers.resnet.measurements.coupling import CouplingTerms
from beyondkernels.papers.resnet.measurements.regret import error_bound

_AT_A_SNAPSHOT = (
    *("first_radius", "second_radius", "regret", "regret_se", "risk", "club", "spade", "diamond"),
    *("first_start", "first_now", "first_rest", "second_start", "second_now"),
)


def terms_at(outcome: Outcome, step: int) -> dict[str, float]:
    r"""Lemmas C.1 to C.3 at one snapshot of a run: what ``Coupling`` and ``Regret`` measured there, by name.

    Beside it the witnesses' norms, and ``second_matrix_order``, the largest :math:`\|A D V^{(0)}\|` over the norm of
    what V has learnt. ``first_gates`` and ``second_gates`` are norms here, as Lemma C.3 has them, where ``Regret`` has
    their squares.

    Arguments:
        outcome: a run that was measured with ``Coupling`` and ``Regret``.
        step: the snapshot.

    Reference: Allen-Zhu & Li (resnet), Lemmas C.1 to C.3.
    """

    def measured(name: str) -> float:
        home = "coupling" if f"coupling/{name}" in outcome.series else "regret"
        return outcome.at(f"{home}/{name}", step)

    found = {name: outcome.scalars[name] for name in ("first_witness", "second_witness")}
    found |= {name: measured(name) for name in _AT_A_SNAPSHOT}
    terms = [field.name for field in fields(CouplingTerms)]
    found |= {name + part: measured(name + part) for name in terms for part in ("", "_max", "_bound", "_ratio")}
    found["second_matrix_order"] = found["second_matrix_max"] / found["second_radius"]
    for name in ("first_gates", "second_gates"):
        found |= {each: math.sqrt(measured(each)) for each in (name, f"{name}_ratio")}
    return found


def error_along(
    outcome: Outcome, alpha: float, lipschitz: float, base_norm: float, accuracy: float
) -> dict[str, float]:
    r"""Claim C.6 along a run: ``error`` and ``error_bound``, its two sides, where their ratio is largest.

    Beside them ``error_step``, which snapshot that is, ``error_ratio``, and ``error_size``, the largest of
    :math:`\|\mathrm{Err}\|/\tau_w` over points and snapshots. Each τ is the larger of the present norm and the
    witness's; the proof's ten times the witness's would only make the right side larger.

    Arguments:
        outcome: a run that was measured with ``Coupling`` and ``Regret``.
        alpha: α.
        lipschitz: :math:`L_G`.
        base_norm: :math:`B_F`.
        accuracy: :math:`\tilde\alpha` of Lemma C.2.

    Reference: Allen-Zhu & Li (resnet), Claim C.6.
    """
    first, second = outcome.scalars["first_witness"], outcome.scalars["second_witness"]
    errors, largest, risks = (_series(outcome, f"regret/{name}") for name in ("error", "error_max", "risk"))
    bounds = [
        error_bound(risk, alpha, max(radius, second), lipschitz, base_norm, accuracy)
        for risk, radius in zip(risks, _series(outcome, "coupling/second_radius"), strict=True)
    ]
    worst = max(range(len(bounds)), key=lambda i: errors[i] / bounds[i])
    radii = _series(outcome, "coupling/first_radius")
    return {
        "error": errors[worst],
        "error_bound": bounds[worst],
        "error_step": int(outcome.series["regret/step"][worst]),
        "error_ratio": errors[worst] / bounds[worst],
        "error_size": max(math.sqrt(e) / max(radius, first) for e, radius in zip(largest, radii, strict=True)),
    }


def regret_along(outcome: Outcome, first_rate: float, second_rate: float) -> dict[str, float]:
    r"""App. C.4 along a run: ``regret_ratio``, see :func:`regret_ratio`, and ``gradient_share``.

    The latter is the largest over snapshots of what the squared steps add to the sum, over the risk, which the proof
    wants to be at most a tenth:

    .. math:: E(\eta_w \|\nabla_W\|_F^2 + \eta_v \|\nabla_V\|_F^2) \big/ \bigl(2\, E\|H - \mathrm{out}\|^2\bigr)

    Arguments:
        outcome: a run that was measured with ``Regret``.
        first_rate: :math:`\eta_w`.
        second_rate: :math:`\eta_v`.

    Reference: Allen-Zhu & Li (resnet), Claim C.5 and App. C.4.
    """
    first, second = outcome.scalars["first_witness"], outcome.scalars["second_witness"]
    regret, risks = _series(outcome, "regret/regret"), _series(outcome, "regret/risk")
    gradients = zip(*(_series(outcome, f"regret/{name}_gradient") for name in ("first", "second")), risks, strict=True)
    steps = [int(step) for step in outcome.series["regret/step"]]
    return {
        "regret_ratio": regret_ratio(steps, regret, risks, first**2 / first_rate + second**2 / second_rate),
        "gradient_share": max((first_rate * w + second_rate * v) / (2 * risk) for w, v, risk in gradients),
    }


def regret_ratio(times: Sequence[int], regret: Sequence[float], risk: Sequence[float], start: float) -> float:
    r"""The largest, over the ends :math:`T_0` of a run's beginning, of App. C.4's left side over its right side.

    .. math:: \frac{1}{T_0}\sum_{t < T_0} E\,\Xi_t \le \frac{\|W^\star\|_F^2}{2\eta_w T_0} +
              \frac{\|V^\star\|_F^2}{2\eta_v T_0} + \frac{0.1}{T_0}\sum_{t < T_0} E\|H - \mathrm{out}_t\|^2

    Sums are trapezoids between snapshots, which are too large where Ξ falls ever more slowly; 0.1 is what the proof
    lets :math:`O(\eta_w + \eta_v \tau_w^2)` be. So the largest ratio hangs on which snapshots there are.

    Arguments:
        times: the snapshots.
        regret: E Ξ there.
        risk: E‖H − out‖² there.
        start: ‖W*‖²/η_w + ‖V*‖²/η_v.

    >>> regret_ratio([0, 10], regret=[0.5, 0.1], risk=[1.0, 1.0], start=4.0)  # 3 over 2 + 1
    1.0

    Reference: Allen-Zhu & Li (resnet), App. C.4.
    """
    sums, largest = [0.0, 0.0], -math.inf
    for (before, after), *ends in zip(
        itertools.pairwise(times), itertools.pairwise(regret), itertools.pairwise(risk), strict=True
    ):
        sums = [total + (after - before) * (a + b) / 2 for total, (a, b) in zip(sums, ends, strict=True)]
        largest = max(largest, sums[0] / (start / 2 + 0.1 * sums[1]))
    return largest


def _series(outcome: Outcome, name: str) -> list[float]:
    return outcome.series[name].tolist()
