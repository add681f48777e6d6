"""Lemmas 5.6 and 5.7: gates of the start give the ground truth, and noise hides that gates change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from beyondkernels.lab import At, AtMost, Experiment, Over, Picture, Runs, Scale, Shown, Statement, Table, claim, of
from beyondkernels.papers.overparam.experiments.smoothed_networks import SCALES, SECONDS, SmoothedSettings, spec
from beyondkernels.papers.overparam.paper import PAPER

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

SLACK = 0.1
"""By how much a fitted slope may exceed the power, because the lemmas leave logarithms open (ours)."""

SAME = 2.0
"""What may not depend on η, nor on the distance, may change by this factor (ours)."""

EXISTING, ROWS, NORMS, GAP = -1 / 4, -3 / 2, -1 / 2, -1 / 2
"""Powers of m: of the error of Lemma 5.6, of longest rows and of norms by (40), and of Lemma 5.7."""


class Smoothing(Experiment):
    """The errors of Lemmas 5.6 and 5.7 over width, distance and noise."""

    id: ClassVar[str] = "overparam/smoothing"
    reference = PAPER.at("Lemmas 5.6 and 5.7")
    text_file: ClassVar[str] = "smoothing.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m", "smoothing": "σ√m"}
    seconds_per_run: ClassVar[Mapping[str, float]] = SECONDS
    settings_class: ClassVar[type] = SmoothedSettings
    scales: ClassVar[Mapping[str, Scale]] = SCALES

    def runs(self, s: SmoothedSettings) -> list[Runs]:
        """Algorithm 2 at every width, and with other noise at the least."""
        return [
            Runs(spec, {"width": s.widths, "smoothing": [s.smoothing]}, ends),
            Runs(spec, {"width": s.widths[:1], "smoothing": s.other_smoothing}, ends),
        ]

    def claims(self, s: SmoothedSettings) -> list[Statement]:
        """Powers of m, the order in η, distance, noise, and constants of 1 where the lemma has Õ(1)."""
        usual, last = {"smoothing": s.smoothing}, s.snapshots[-1]
        noise = (*s.other_smoothing, s.smoothing)
        powers = {
            "existing": ("Lemma 5.6: the error with the gates of the start", "existing", EXISTING),
            "rows": ("(40): the product of the longest rows of W* and V*", "rows", ROWS),
            "norms": ("(40): the product of the Frobenius norms of W* and V*", "norms", NORMS),
            "gap": ("Lemma 5.7: E|P − P′|/η² at the start", "gap", GAP),
        }
        return [
            *(
                claim(
                    f"{name}-power",
                    f"{words} is at most of the order m^({power:.2g}), by its slope, with a slack of {SLACK:g}",
                    of(column, "width", **usual).slope(),
                    AtMost(power + SLACK),
                    paper=power,
                )
                for name, (words, column, power) in powers.items()
            ),
            claim(
                "kept",
                "Lemma 5.6: what training and noise add to the error keeps below the bound of Lemma 5.5 on the share "
                "of changed gates, with constant 1, at every snapshot and width, by the largest ratio",
                of("kept_ratio", "width", **usual).largest(),
                AtMost(1.0),
                paper="Õ(1)",
            ),
            claim(
                "square",
                f"Lemma 5.7: E|P − P′| falls like η² at the start: over η² it grows at most {SAME:g}-fold from "
                f"η = {s.coupling_rates[-1]:g} to η = {s.coupling_rates[0]:g}, at every width",
                of("square", "width", **usual).largest(),
                AtMost(SAME),
                paper="O(1)",
            ),
            claim(
                "distance",
                f"Lemma 5.7: E|P − P′| does not depend on the distance: after {last} steps it is at most {SAME:g} "
                "times that at the start, at every width",
                of("distance", "width", **usual).largest(),
                AtMost(SAME),
                paper="O(1)",
            ),
            claim(
                "bound",
                "Lemma 5.7: E|P − P′|/η² keeps below its right side with constant 1 at every snapshot, η and width, by "
                "the largest ratio",
                of("ratio", "width", **usual).largest(),
                AtMost(1.0),
                paper="Õ(1)",
            ),
            claim(
                "noise",
                f"Lemma 5.7: the same with any of the noises, at m = {s.widths[0]}",
                of("ratio", "smoothing", width=s.widths[0], smoothing=noise).largest(),
                AtMost(1.0),
                paper="Õ(1)",
            ),
        ]

    def table(self, s: SmoothedSettings) -> Table:
        """A line for each width and noise."""
        return Table(
            {"width": "m", "smoothing": "σ√m"},
            [
                Shown("existing", "Error", ".3f", about="Lemma 5.6 at the start, over the mean of |F*|."),
                Shown("kept", "Error, end", ".3f", about="The same with the gates of the last snapshot, and noise."),
                Shown("rows", "Rows", ".1e", about="The product of the longest rows of W* and V*."),
                Shown("norms", "Norms", ".1e", about="The product of their Frobenius norms."),
                Shown("gap", "Gap", ".1e", about="Lemma 5.7: E|P − P′|/η² at the start, for the least η."),
                Shown("gap_end", "Gap, end", ".1e", about="The same at the last snapshot."),
                Shown("bound", "Right side", ".1e", about="Of Lemma 5.7, with constant 1."),
                Shown("first_radius", "‖W′‖₂,₄", ".1e", about="The distance from the start at the last snapshot."),
                Shown("second_radius", "‖V′‖_F", ".1e", about="Likewise."),
            ],
        )

    def figures(self, s: SmoothedSettings) -> list[Picture]:
        """Both lemmas over width, and the second over the noise."""
        last = s.snapshots[-1]

        def over(name: str, title: str, caption: str, x: str, y: str, columns: dict[str, str], **at: Any) -> Over:
            return Over(
                name,
                title,
                caption,
                f"{title}: {', '.join(columns)}",
                x=x,
                y=next(iter(columns.values())),
                line={label: {"y": column} for label, column in columns.items()},
                where=at,
                x_label="width m" if x == "width" else "standard deviation of the noise · √m",
                y_label=y,
                x_scale="log",
                y_scale="log",
            )

        gaps = {"at the start": "gap", f"after {last} steps": "gap_end", "right side": "bound"}
        caption = f"Means over points and draws, η = {s.coupling_rates[0]:g}. The right side has constant 1."
        return [
            over(
                "existing",
                "Lemma 5.6: how far fixed gates are from the ground truth",
                "Mean absolute error over the mean of |F*|, on fresh points.",
                "width",
                "relative error",
                {"gates of the start": "existing", f"gates after {last} steps, with noise": "kept"},
                smoothing=s.smoothing,
            ),
            over(
                "gap",
                "Lemma 5.7: how far old gates are from new ones, over width",
                caption,
                "width",
                "E|P − P′|/η²",
                gaps,
                smoothing=s.smoothing,
            ),
            over(
                "noise",
                "Lemma 5.7: how far old gates are from new ones, over the noise",
                f"m = {s.widths[0]}. {caption}",
                "smoothing",
                "E|P − P′|/η²",
                gaps,
                width=s.widths[0],
            ),
        ]


def changed_share(width: int, smoothing: float, tau_w: float, tau_v: float) -> float:
    r"""The bounds of Lemma 5.5 on the shares of changed gates of both layers, added, with σ = smoothing/√m.

    .. math:: \tau_w^{4/5} m^{1/5} + \sigma_w m^{1/2} + \sigma_v m^{1/2} + \tau_v^{2/3} + \tau_w^{2/3} m^{1/6}

    The second term is that of (254). The lemma leaves it out, because it asks σ_w ≤ τ_w m^(−1/4).
    """
    return tau_w**0.8 * width**0.2 + 2 * smoothing + tau_v ** (2 / 3) + tau_w ** (2 / 3) * width ** (1 / 6)


def ends(s: SmoothedSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """One run at its start and at its last snapshot, and the largest ratio along its way."""
    if "smoothing/step" not in outcome.series:
        return {}
    found = {name.partition("/")[2]: v for name, v in outcome.series.items() if name.startswith("smoothing/")}
    target, gap = outcome.scalars["smoothing/target"], found["gap"]
    existing = outcome.scalars["smoothing/existing"] / target
    radii = zip(found["first_radius"], found["second_radius"], strict=True)
    shares = [changed_share(at.width, at.smoothing, tau_w, tau_v) for tau_w, tau_v in radii]
    return {
        "existing": existing,
        "kept": found["kept"][-1] / target,
        "kept_ratio": max(
            added / bound for added, bound in zip(found["kept"] / target - existing, shares, strict=True)
        ),
        **{name: outcome.scalars[f"smoothing/{name}"] for name in ("rows", "norms")},
        "gap": gap[0, 0],
        "gap_end": gap[-1, 0],
        "square": gap[0, 0] / gap[0, -1] if gap[0, -1] > 0 else None,
        "distance": gap[-1, 0] / gap[0, 0] if gap[0, 0] > 0 else None,
        "bound": found["bound"][0],
        "ratio": float((gap / found["bound"][:, None]).max()),
        **{name: found[name][-1] for name in ("first_radius", "second_radius")},
    }
