"""Lemmas 5.6 and 5.7: gates of the start give the ground truth, and noise hides that gates change."""

from __future__ import annotations

from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.overparam.experiments.common import size
from beyondkernels.papers.overparam.experiments.smoothed_networks import SCALES, SECONDS, SmoothedSettings, spec
from beyondkernels.papers.overparam.paper import PAPER

SLACK = 0.1  # by how much a fitted slope may exceed the power, because the lemmas leave logarithms open (ours)
SAME = 2.0  # what may not depend on η, nor on the distance, may change by this factor (ours)

POWERS = {"existing": -1 / 4, "rows": -3 / 2, "norms": -1 / 2, "gap": -1 / 2}
"""Powers of m, by column: of the error of Lemma 5.6, of longest rows and of norms by (40), and of Lemma 5.7."""


class Smoothing(lab.Experiment):
    id = "overparam/smoothing"
    reference = PAPER.at("Lemmas 5.6 and 5.7")
    quantities = {
        "smoothing": size("σ√m", log=True),
        "existing": size("error", ".3f", "Lemma 5.6 at the start, over the mean of |F*|."),
        "kept": size("Error, end", ".3f", "The same with the gates of the last snapshot, and noise."),
        "rows": size("rows", ".1e", "The product of the longest rows of W* and V*."),
        "norms": size("norms", ".1e", "The product of their Frobenius norms."),
        "gap": size("gap", ".1e", "Lemma 5.7: E|P − P′|/η² at the start, for the least η."),
        "gap_end": size("Gap, end", ".1e", "The same at the last snapshot."),
        "bound": size("right side", ".1e", "Of Lemma 5.7, with constant 1."),
        "first_radius": size("‖W′‖₂,₄", ".1e", "The distance from the start at the last snapshot."),
        "second_radius": size("‖V′‖_F", ".1e", "Likewise."),
        "kept_ratio": lab.Quantity("what is added to the error, over its bound"),
        "square": size("growth of E|P − P′|/η² as η falls"),
        "distance": size("growth of E|P − P′| along the run"),
        "ratio": size("E|P − P′|/η² over its right side"),
        "relative_error": size("relative error", log=True),
        "gaps": size("E|P − P′|/η²", log=True),
    }
    seconds_per_run = SECONDS
    settings_class = SmoothedSettings
    scales = SCALES

    def runs(self, s: SmoothedSettings) -> list[lab.Runs]:
        return [
            lab.Runs(spec, {"width": s.widths, "smoothing": [s.smoothing]}, ends),
            lab.Runs(spec, {"width": s.widths[:1], "smoothing": s.other_smoothing}, ends),
        ]

    def claims(self, s: SmoothedSettings) -> list[lab.Statement]:
        def largest(column: str) -> lab.Value:
            return lab.of(column, "width", smoothing=s.smoothing).largest()

        made = []
        for name, power in POWERS.items():
            slope = lab.of(name, "width", smoothing=s.smoothing).slope()
            made.append(self.claim(s, f"{name}-power", slope, lab.AtMost(power + SLACK), power, power=power))
        least, noises, fastest = s.widths[0], (*s.other_smoothing, s.smoothing), s.coupling_rates[-1]
        noise = lab.of("ratio", "smoothing", width=least, smoothing=noises).largest()
        return [
            *made,
            self.claim(s, "kept", largest("kept_ratio"), lab.AtMost(1.0), "Õ(1)"),
            self.claim(s, "square", largest("square"), lab.AtMost(SAME), "O(1)", high=fastest, low=s.coupling_rates[0]),
            self.claim(s, "distance", largest("distance"), lab.AtMost(SAME), "O(1)", last=s.snapshots[-1]),
            self.claim(s, "bound", largest("ratio"), lab.AtMost(1.0), "Õ(1)"),
            self.claim(s, "noise", noise, lab.AtMost(1.0), "Õ(1)", least=least),
        ]

    def table(self, s: SmoothedSettings) -> lab.Table:
        errors, gaps = ["existing", "kept", "rows", "norms"], ["gap", "gap_end", "bound"]
        return lab.Table(["width", "smoothing"], [*errors, *gaps, "first_radius", "second_radius"])

    def figures(self, s: SmoothedSettings) -> list[lab.Picture]:
        last, least, usual = s.snapshots[-1], s.widths[0], {"smoothing": s.smoothing}
        kept = {"gates of the start": "existing", f"gates after {last} steps, with noise": "kept"}
        gaps = {"at the start": "gap", f"after {last} steps": "gap_end", "right side": "bound"}
        far = "Lemma 5.6: how far fixed gates are from the ground truth, over the width m"
        old = "Lemma 5.7: how far old gates are from new ones, over"
        errors = "Mean absolute error over the mean of |F*|, on fresh points."
        means = f"Means over points and draws, η = {s.coupling_rates[0]:g}. The right side has constant 1."
        kept, gaps = ({label: {"y": column} for label, column in each.items()} for each in (kept, gaps))
        noise, at = f"m = {least}. {means}", {"width": least}
        return [
            lab.Over("existing", far, errors, x="width", y="relative_error", line=kept, where=usual),
            lab.Over("gap", f"{old} the width m", means, x="width", y="gaps", line=gaps, where=usual),
            lab.Over("noise", f"{old} the noise's deviation σ", noise, x="smoothing", y="gaps", line=gaps, where=at),
        ]


def ends(s: SmoothedSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """One run at its start and at its last snapshot, and the largest ratio along its way."""
    if "smoothing/step" not in outcome.series:
        return {}
    found = {name.partition("/")[2]: v for name, v in outcome.series.items() if name.startswith("smoothing/")}
    target, gap = outcome.scalars["smoothing/target"], found["gap"]
    existing = outcome.scalars["smoothing/existing"] / target
    radii = zip(found["first_radius"], found["second_radius"], strict=True)
    shares = [bk.overparam.changed_share(at.width, at.smoothing, tau_w, tau_v) for tau_w, tau_v in radii]
    added = found["kept"] / target - existing
    return {
        "existing": existing,
        "kept": found["kept"][-1] / target,
        "kept_ratio": max(more / bound for more, bound in zip(added, shares, strict=True)),
        **{name: outcome.scalars[f"smoothing/{name}"] for name in ("rows", "norms")},
        "gap": gap[0, 0],
        "gap_end": gap[-1, 0],
        "square": gap[0, 0] / gap[0, -1] if gap[0, -1] > 0 else None,
        "distance": gap[-1, 0] / gap[0, 0] if gap[0, 0] > 0 else None,
        "bound": found["bound"][0],
        "ratio": float((gap / found["bound"][:, None]).max()),
        **{name: found[name][-1] for name in ("first_radius", "second_radius")},
    }
