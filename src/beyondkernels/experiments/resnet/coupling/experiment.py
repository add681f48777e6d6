"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import beyondkernels as bk
from beyondkernels.core import Reference
from beyondkernels.experiments.base import Experiment, Finished, Label, Rows
from beyondkernels.experiments.resnet.coupling import pictures, tables
from beyondkernels.experiments.resnet.coupling.cases import (
    CouplingSettings,
    accuracy_of,
    power_of,
    sizes_of,
    spec_of,
)
from beyondkernels.reports import Claim, Column, Figure
from beyondkernels.runs import RunSpec

_PAPER_NOTE = (
    "The paper proves these lemmas and measures none of them, so there are no printed numbers and no setting of the "
    "paper's to follow: the largest scale is ours as well. Target, rates, α, steps and the widths of the fits were "
    "chosen in trials with seeds 100 to 102; no choice was made on the reported seeds."
)
_READING_NOTE = (
    "The lemmas bound from above, with high probability, for m beyond an unstated M, and with constants and logarithms "
    "left open: only their powers of m can be held against them, and only from one side; a remark says which powers. A "
    "claim compares the mean over seeds of fitted slopes with the promise, without slack, as was decided beforehand. "
    "In the table “≤” is the right side with all constants 1 and with the norms that were reached as radii; the right "
    "sides of (b), (e), (f), in the rows, include the terms √k σ_w and √(k/m) σ_v of the proof, which the statement "
    "drops. A constant of 1 is claimed for (a) and (d), whose O(·) hides no logarithms; neither does that of (c), "
    "which is in the rows and not claimed. The table's last column says by which factor the norms that were reached "
    "lie above (×) or below (÷) the ranges that Lemma C.1 asks for."
)
_MATRIX_NOTE = (
    "By our reading (f) cannot be had as printed. In trials up to m = 316,228 the spectral norm of A D V⁽⁰⁾ stayed "
    "near τ_v/2 because of the gates that changed. The proof calls (f) a by-product of (e); but gates that change at "
    "z = (out₁, 1) belong to neurons with a small ⟨v⁽⁰⁾, z⟩, not with a small ⟨v⁽⁰⁾, u⟩ for other u. Take u across z, "
    "both of length one, and V with the rows τ a₁ sign⟨v⁽⁰⁾, u⟩ z, where a₁ is the neuron's weight to the first "
    "output: then ‖V‖ → τ as m grows, while the first entry of A (D − D⁽⁰⁾) V⁽⁰⁾ u goes to (τ/π)/√(1 + τ²/σ_v²), so "
    "to τ/π as τ/σ_v → 0. Along z, which is (e), the term does vanish."
)
_ORDER_NOTE = (
    "What the proof takes from (f) is less: Claim C.6 needs ‖A D V⁽⁰⁾‖ ≤ O(τ_v), and App. C.4, which writes O(η_w) "
    "where Claim C.5 gives O(η_w (σ_v + 1)²), needs O(1). For all V of the ball at a fixed x, as Lemma C.1 has it, "
    "that cannot be had either: close or open just the gates with the largest |a₁⟨v⁽⁰⁾, u⟩|/⟨v⁽⁰⁾, z⟩² among those "
    "whose change adds to the first output, by V of rank one along z, until ‖V‖ = τ_v. This reaches the order "
    "τ_v (σ_v/τ_v)^(1/3), also with a u whose last entry is zero, as where Claim C.6 uses it: with τ_v = 0.5 and "
    "σ_v = m^(3/16) we measured 1.2 to 1.9 τ_v from m = 1000 to 1,000,000. "
    "Such a V is made for one x; whether one is as bad in the mean over x, in which Claim C.6 is stated, we did not "
    "examine. For the weights that SGD reached the order is measured and claimed beside (f); a proof along SGD's path "
    "is not in the paper."
)
_WITNESS_NOTE = (
    "W* and V* of Lemma C.2 exist with tiny errors for astronomically large m; here they are the weights of least norm "
    "that write F at points x, and αG at the points F(x), through the gates of the start, nearly (ridge). Nothing is "
    "claimed about their own error, which is far from Lemma C.2's α̃⁴. The labels have no noise, y = H(x)."
)
_ERROR_NOTE = (
    "Claim C.6's right side is taken with constants 1, L_G = 2, B_F = 1, and the larger of ‖V_t‖ and ‖V*‖ as τ_v. It "
    "leaves out what vanishes with m (the start in the output, ♦), so it can hold only once that is small: it is "
    "claimed at the largest width. Ξ_t ≥ ½‖H − out‖² − 2‖Err‖² is algebra and not claimed. The sum of Ξ over a run "
    "equals the fall of the distance to W*, V* plus the squared steps; the proof bounds the latter by a tenth of the "
    "risk, and that is what the claim “regret” asks, with expectations over fresh points at the snapshots in place of "
    "the points that were stepped on."
)
_SNAPSHOT_NOTE = (
    "The claim “regret” depends on where snapshots are taken, and this can decide its verdict: sums are trapezoids "
    "between snapshots, which are too large where Ξ falls ever more slowly. From the same two runs at m = 10,000 "
    "(seeds 100 and 101, 30,000 steps) the ratio came out as 0.72 and 0.69 with 77 snapshots, 0.86 and 0.81 with those "
    "of the settings, and 1.26 and 1.20 with 0, 10, 100, 1000, 3000 and the end."
)


class Coupling(Experiment):
    """Lemmas C.1 to C.3 and Claim C.6 along a run, over width."""

    id: ClassVar[str] = "resnet/coupling"
    title: ClassVar[str] = "What the proof of Theorem 1 stands on: few gates change, the random start vanishes"
    summary: ClassVar[str] = (
        "Theorem 1 is proved by showing that a wide network trained by Algorithm 1 keeps nearly all gates of its "
        "random start, that what the start itself adds vanishes, and that the gradient therefore points towards "
        "weights that write the target. Here the network learns a target on a circle, and each of these quantities is "
        "measured along the run, at widths over three decades."
    )
    reference: ClassVar[Reference] = Reference("resnet", "App. C, Lemmas C.1 to C.3 and Claim C.6")
    notes: ClassVar[tuple[str, ...]] = (
        _PAPER_NOTE,
        _READING_NOTE,
        _MATRIX_NOTE,
        _ORDER_NOTE,
        _WITNESS_NOTE,
        _ERROR_NOTE,
        _SNAPSHOT_NOTE,
    )
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 9.0, "paper": 60.0}

    def settings(self, scale: str) -> CouplingSettings:
        """Widths up to 100,000; at laptop scale with fewer steps, points and seeds."""
        largest = CouplingSettings()
        if scale == "paper":
            return largest
        if scale == "laptop":
            return replace(largest, steps=30_000, points=100, seeds=5)
        return replace(
            largest,
            widths=(50, 200, 800),
            fit_from=50,
            steps=1000,
            snapshots=(0, 30, 300),
            points=50,
            witness_points=40,
            test_samples=200,
            seeds=2,
        )

    def plan(self, settings: CouplingSettings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """Every width with every seed."""
        return {(width, seed): spec_of(settings, width, seed) for width in settings.widths for seed in seeds}

    def rows(self, settings: CouplingSettings, finished: Finished) -> Rows:
        """A row for each width and seed."""
        accuracy = accuracy_of(sizes_of(settings)) if finished else 0.0
        return [
            tables.row(settings, int(width), int(seed), run.outcome, accuracy)
            for (width, seed), run in finished.items()
        ]

    def table(self, settings: CouplingSettings, rows: Rows) -> tuple[Sequence[Column], Rows]:
        """A row for each width: means and standard deviations over seeds."""
        return tables.COLUMNS, tables.summary(rows)

    def claims(self, settings: CouplingSettings, rows: Rows, scale: str) -> list[Claim]:
        """The lemmas, one-sided."""
        return tables.claims(settings, rows, scale in ("laptop", "paper"))

    def remarks(self, settings: CouplingSettings) -> list[str]:
        """What the numbers are to be compared with, and how the case stands to Theorem 1's hypotheses."""
        sizes, width = sizes_of(settings), settings.widths[-1]
        w, v = settings.stds(width)
        found = bk.theory.theorem1(
            sizes,
            bk.networks.theorem_network(width, w, v),
            steps=settings.steps,
            first_rate=settings.first_rate,
            second_rate=settings.second_rate,
            first_std=w,
            second_std=v,
        )
        held = len(found.hypotheses) - len(found.missed)
        levels = f"F alone has a risk of {settings.base_only_risk:.4g}. α̃ of Lemma C.2 is {accuracy_of(sizes):.3g}."
        power = {name: power_of(value) for name, value in settings.exponents.items()}
        promises = (
            f"With σ_w = {power_of(settings.first_power)} and σ_v = {power_of(settings.second_power)}, at radii τ_w "
            f"and τ_v that do not depend on m, the lemmas promise {power['first_flips']} in the first and "
            f"{power['second_flips']} in the second layer for shares of changed gates, and "
            f"{power['first_vanishing']} and {power['second_vanishing']} for vanishing terms."
        )
        theorem = (
            f"Theorem 1 at m = {width}, its hidden constants and C* taken as one, has τ_w = {found.first_radius:.3g} "
            f"and τ_v = {found.second_radius:.3g}; {held} of its {len(found.hypotheses)} hypotheses hold. The others: "
            f"{'; '.join(map(str, found.missed)) or 'none'}."
        )
        return [promises, levels, theorem]

    def figures(self, settings: CouplingSettings, finished: Finished) -> list[Figure]:
        """Sign changes, vanishing terms and Claim C.6 over width; Ξ over steps."""
        rows = self.rows(settings, finished)
        return [
            *pictures.flips(settings, rows),
            *pictures.vanishing(settings, rows),
            *pictures.regret(settings, finished),
            *pictures.errors(settings, rows),
        ]
