"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, Reference, require
from beyondkernels.core.constraints import at_least, between, not_empty, not_negative, rising
from beyondkernels.frame import (
    At,
    Backend,
    Count,
    Counts,
    Experiment,
    Frame,
    Over,
    Picture,
    Runs,
    Scale,
    Shown,
    Size,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.frame.figures import OverTime
from beyondkernels.reports import AtMost, Line
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.problems import SmoothComposite
    from beyondkernels.theory import ConceptSizes

OUTPUTS = 2
BASE_NORM = 1.0
"""B_F: F lies on a circle."""

LIPSCHITZ = 2.0
"""L_G in the unit ball: G(h) = √2·(h₁h₂, −h₁h₂), whose derivative has the norm 2‖h‖."""

PROMISES = {
    "first_flips": ("first-flips", "(a) The share of the first layer's gates that changed falls"),
    "second_flips": ("second-flips", "(d) The share of the second layer's gates that changed falls"),
    "first_vanishing": ("first-vanishing", "(b) What is left of the start in out₁ falls"),
    "second_vanishing": ("second-vanishing", "(e) What is left of the start in the second layer's output falls"),
    "second_matrix": ("second-matrix", "(f) The spectral norm of A D V⁽⁰⁾ falls"),
    "first_gates": ("first-witness", "Lemma C.3: what W* loses to changed gates falls"),
    "second_gates": ("second-witness", "Lemma C.3: what V* loses to changed gates falls"),
}
"""By term, the claim's short name and the beginning of its sentence."""

RIGHT_SIDE = "The right side that the paper gives, with all constants 1 and the norms that were reached as radii."
OUTSIDE = "By which factor the norms lie above (×) or below (÷) the ranges that Lemma C.1 asks for."

_BOUNDED = ("first_flips", "first_vanishing", "first_output", "second_flips", "second_vanishing", "second_matrix")
_AT_THE_END = (
    *("first_radius", "second_radius", "regret", "regret_se", "risk", "club", "spade", "diamond"),
    *("first_start", "first_now", "first_rest", "second_start", "second_now"),
)
_KEPT = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")
_MANY = 4  # lines over steps that can still be told apart


@dataclass(frozen=True)
class CouplingSettings(Checked):
    """The numbers of the experiment; the defaults are those of its largest scale."""

    dim: Annotated[int, at_least(2)] = setting(5, "ours", "d; inputs are uniform on the sphere")
    frequency: Annotated[float, between(0, 5, "(]")] = setting(
        2.0, "ours", "ω of F(x) = (sin ω⟨w, x⟩, cos ω⟨w, x⟩) with ‖w‖ = 1/√2"
    )
    alpha: Size = setting(
        0.1, "ours", "at 0.3, tried too, Claim C.6's right side is above the whole signal and says nothing"
    )
    widths: Annotated[Counts, at_least(2)] = setting(
        (100, 316, 1000, 3162, 10_000, 31_623, 100_000), "ours", "m, half-decades"
    )
    fit_from: Count = setting(
        1000, "ours", "slopes are fitted over the widths from here on: the lemmas speak of m beyond an unstated M"
    )
    first_power: Annotated[float, between(-0.5, -0.125, "()")] = setting(
        -5 / 16, "theorem", "σ_w = m to this power: the middle of what Table 1 leaves as m grows at a fixed τ_w"
    )
    second_power: Annotated[float, between(0, 0.375, "()")] = setting(
        3 / 16, "theorem", "σ_v = m to this power: likewise, between m⁰ and m^(3/8)"
    )
    steps: Count = setting(100_000, "ours", "T, one fresh point a step, the same at all widths")
    first_rate: Size = setting(0.05, "ours", "η_w; the theorem's Θ̃(min{1, δ})")
    second_rate: Size = setting(
        0.005, "ours", "η_v; the theorem's own share of η_w, 0.0058 with constants 1, hardly moves V in so many steps"
    )
    snapshots: Annotated[tuple[int, ...], not_negative, rising, not_empty] = setting(
        (0, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000), "ours", "where everything is measured, beside the end"
    )
    points: Count = setting(500, "ours", "fresh points at which terms are measured")
    witness_points: Count = setting(150, "ours", "on which W* and V* are fitted")
    witness_ridge: Size = setting(0.01, "ours", "of that fit, as a share of the Gram matrix's mean diagonal")
    test_samples: Count = setting(5000, "ours")
    seeds: Count = setting(10, "ours", "0, 1, 2, …: start and points of the training; all share the measured points")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        require(len(self.wide) >= 2, f"fit_from must leave at least two widths to fit over, got {self.fit_from}")
        require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")

    @property
    def times(self) -> tuple[int, ...]:
        """The snapshots that the run reaches, and its end."""
        return (*(step for step in self.snapshots if step < self.steps), self.steps)

    @property
    def wide(self) -> tuple[int, ...]:
        """The widths over which slopes are fitted."""
        return tuple(width for width in self.widths if width >= self.fit_from)

    def stds(self, width: int) -> tuple[float, float]:
        """σ_w and σ_v at a width."""
        return width**self.first_power, width**self.second_power

    @property
    def exponents(self) -> dict[str, float]:
        r"""The powers of m that the right sides fall with, at fixed radii :math:`\tau_w, \tau_v`.

        Terms as the measurements call them; flips as shares of the width. The start's own share in the sums,
        :math:`\sqrt k \sigma_w` and :math:`\sqrt{k/m} \sigma_v`, falls faster for every power that Table 1 leaves.
        """
        a, b = self.first_power, self.second_power
        return {
            "first_flips": -2 * a / 3 - 1 / 3,
            "second_flips": -2 * b / 3,
            "first_vanishing": -a / 3 - 1 / 6,
            "second_vanishing": -b / 3,
            "second_matrix": -b / 3,
            "first_gates": -a / 3 - 1 / 6,
            "second_gates": -b / 3,
        }

    @property
    def base_only_risk(self) -> float:
        r"""The risk of F alone, :math:`\alpha^2 E \sin^2(2\omega\langle w, x\rangle)`, known without the problem.

        On the sphere :math:`E \cos(s x_1) = \sum_j \frac{(-s^2/4)^j}{j!\,(d/2)(d/2+1)\cdots(d/2+j-1)}`.
        """
        quarter, terms = 2 * self.frequency**2, [1.0]  # s²/4 with s = 4ω/√2
        while abs(terms[-1]) > 1e-18 or len(terms) <= quarter:
            j = len(terms)
            terms.append(-terms[-1] * quarter / (j * (self.dim / 2 + j - 1)))
        return self.alpha**2 * (1 - math.fsum(terms)) / 2


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
    notes_file: ClassVar[str] = "coupling.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 9.0, "paper": 60.0}
    numbers: ClassVar[type] = CouplingSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(steps=30_000, points=100, seeds=5),
        "smoke": scale(
            widths=(50, 200, 800),
            fit_from=50,
            steps=1000,
            snapshots=(0, 30, 300),
            points=50,
            witness_points=40,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: CouplingSettings) -> list[Runs]:
        """Algorithm 1 at every width, with everything measured at the snapshots."""
        return [Runs(spec, {"width": s.widths}, row)]

    def claims(self, s: CouplingSettings) -> list[Statement]:
        """The exponents of Lemmas C.1 and C.3, constants where the paper has O(·), Claim C.6, and App. C.4's sum."""
        first = f"m = {s.wide[0]}"
        made = [
            claim(
                name,
                f"{words} with the width at least as fast as {power_of(s.exponents[term])}, by its slope from {first} "
                "on",
                of(term, "width", width=s.wide).slope(),
                AtMost(s.exponents[term]),
                paper=s.exponents[term],
            )
            for term, (name, words) in PROMISES.items()
        ]

        def ratio(name: str, text: str, column: str, paper: str | None = "O(1)", **where: Any) -> Statement:
            bound = AtMost(s.base_only_risk if column == "test_error" else 1.0)
            return claim(name, text, of(column, "width", **where).largest(), bound, paper=paper)

        constant = "At the end of the run a constant of 1 is enough at every point and width"
        widest = s.widths[-1]
        return [
            *made,
            ratio("first-constant", f"(a) {constant}", "first_flips_ratio"),
            ratio("second-constant", f"(d) {constant}", "second_flips_ratio"),
            ratio(
                "second-matrix-order",
                "(f) weakened to what Claim C.6 needs, at the weights that SGD ends with: ‖A D V⁽⁰⁾‖ is at most ‖V‖ "
                f"at every measured point and width from {first} on, by the ratio",
                "second_matrix_order",
                width=s.wide,
            ),
            ratio(
                "error",
                f"Claim C.6 with constants 1: at m = {widest} E‖Err‖² keeps below its right side along the whole run, "
                "by the ratio of the two",
                "error_ratio",
                width=widest,
            ),
            ratio(
                "error-size",
                "Claim C.6 with constant 1: ‖Err‖ keeps below τ_w at every point, width and snapshot, by the ratio",
                "error_size",
            ),
            ratio(
                "regret",
                "App. C.4: at every width and from the start to every snapshot the mean of Ξ keeps below what the way "
                "to W*, V* and a tenth of the mean risk allow, by the ratio",
                "regret_ratio",
                "at most 1",
            ),
            ratio(
                "learns",
                "Meanwhile the network learns more than F: its test error ends below that of F alone at every width",
                "test_error",
                None,
            ),
        ]

    def table(self, s: CouplingSettings) -> Table:
        """A line for each width."""
        return Table(
            {"width": "m"},
            [
                Shown("test_error", "Test error", ".1e"),
                Shown("first_radius", "‖W‖", ".2f", about="How far the first layer moved from its start."),
                Shown("second_radius", "‖V‖", ".2f", about="How far the second layer moved from its start."),
                Shown("first_flips", "(a)", ".3f", about="Share of the first layer's gates that training changed."),
                Shown("first_flips_bound", "(a) ≤", ".2f", about=RIGHT_SIDE),
                Shown("second_flips", "(d)", ".3f", about="Share of the second layer's gates that training changed."),
                Shown("second_flips_bound", "(d) ≤", ".2f", about=RIGHT_SIDE),
                Shown("first_vanishing", "(b)", ".3f", about="What is left of the random start in $\\mathrm{out}_1$."),
                Shown("second_vanishing", "(e)", ".3f", about="What is left of it in the second layer's output."),
                Shown("second_matrix", "(f)", ".3f", about="The spectral norm of $A D V^{(0)}$."),
                Shown("error", "E‖Err‖²", ".3f", about="Claim C.6's error, its mean square."),
                Shown("error_bound", "E‖Err‖² ≤", ".3f", about=RIGHT_SIDE),
                Shown("first_radius", "Off C.1", show=outside, about=OUTSIDE),
            ],
        )

    def figures(self, s: CouplingSettings) -> list[Picture]:
        """Sign changes and vanishing terms over width, Ξ over steps, Claim C.6 over width."""

        def over_width(name: str, title: str, caption: str, y: str, lines: dict[str, str], more: Any = None) -> Over:
            return Over(
                name,
                title,
                caption,
                f"{title}: {', '.join(lines.values())}",
                x="width",
                y=next(iter(lines)),
                line={label: {"y": column} for column, label in lines.items()},
                x_label="width m",
                y_label=y,
                x_scale="log",
                y_scale="log",
                more=more,
            )

        step = -(-len(s.widths) // _MANY)
        shown = s.widths[::-1][::step][::-1]
        return [
            over_width(
                "flips",
                "Gates that training changes, over width",
                "Means over points at the end of the run. Right sides have constants 1 and the radii that were "
                "reached. The straight lines start on the measured ones where fits begin and fall as the lemma "
                "promises at fixed radii: the measured ones must fall no slower.",
                "share of a layer's gates",
                {
                    "first_flips": "first layer (a)",
                    "second_flips": "second layer (d)",
                    "first_flips_bound": "right side of (a)",
                    "second_flips_bound": "right side of (d)",
                },
                _promised(s, {"first_flips": "(a)", "second_flips": "(d)"}),
            ),
            over_width(
                "vanishing",
                "Terms that vanish, over width",
                "Means over points at the end of the run. All may fall as slowly as the straight lines, which start on "
                "(b) and (f) where fits begin. Of Lemma C.3's terms the root mean square over points is shown.",
                "norm",
                {
                    "first_vanishing": "(b) start in out₁",
                    "second_vanishing": "(e) start in layer 2",
                    "second_matrix": "(f) ‖A D V⁽⁰⁾‖",
                    "first_gates": "C.3: lost by W*",
                    "second_gates": "C.3: lost by V*",
                },
                _promised(s, {"first_vanishing": "(b)", "second_matrix": "(f)"}),
            ),
            OverTime(
                "regret",
                "Ξ along the run",
                "E Ξ_t = E⟨∇Obj, (W_t − W*, V_t − V*)⟩ over fresh points: how much the gradient still knows of the "
                "way to weights that write the target.",
                "Ξ begins near one and falls to zero within the first thousand steps at every width",
                x="regret/step",
                y="regret/regret",
                line={f"m = {width}": {"width": width} for width in shown},
                x_label="step t",
                y_label="E Ξ_t",
                x_scale="steps",
            ),
            over_width(
                "error",
                "Claim C.6's error and its right side, over width",
                "Means over points: E‖Err‖² and the right side, with constants 1, at the snapshot where their ratio is "
                "largest; the three parts of Err at the end. Narrow networks miss the right side because the terms "
                "that vanish with m, which it leaves out, have not yet vanished.",
                "mean square",
                {
                    "error": "E‖Err‖²",
                    "error_bound": "right side",
                    "diamond": "♦: the start in the output",
                    "spade": "♠: the witness's own error",
                    "club": "♣: first error in layer 2",
                },
            ),
        ]

    def facts(self, settings: CouplingSettings) -> Any:
        """The settings, and the promised powers in words."""
        power = {name: power_of(value) for name, value in settings.exponents.items()}
        return SimpleNamespace(
            s=settings,
            **power,
            first_power=power_of(settings.first_power),
            second_power=power_of(settings.second_power),
        )

    def remarks(self, s: CouplingSettings) -> list[str]:
        """How the case stands to Theorem 1's hypotheses."""
        sizes, width = sizes_of(s), s.widths[-1]
        w, v = s.stds(width)
        found = bk.theory.resnet.theorem1(
            sizes,
            bk.networks.theorem_network(width, w, v),
            steps=s.steps,
            first_rate=s.first_rate,
            second_rate=s.second_rate,
            first_std=w,
            second_std=v,
        )
        held = len(found.hypotheses) - len(found.missed)
        return [
            f"F alone has a risk of {s.base_only_risk:.4g}. α̃ of Lemma C.2 is {accuracy_of(sizes):.3g}.",
            (
                f"Theorem 1 at m = {width}, its hidden constants and C* taken as one, has τ_w = "
                f"{found.first_radius:.3g} and τ_v = {found.second_radius:.3g}; {held} of its "
                f"{len(found.hypotheses)} hypotheses hold. The others: {'; '.join(map(str, found.missed)) or 'none'}."
            ),
        ]


def power_of(exponent: float) -> str:
    """A power of m as it is written.

    >>> power_of(-1 / 16), power_of(0.25)
    ('m^(−1/16)', 'm^(1/4)')
    """
    return f"m^({Fraction(exponent).limit_denominator(1000)})".replace("-", "−")


def problem_of(s: CouplingSettings) -> SmoothComposite:
    """A target of Concept 1: F on a circle, G the product of its two coordinates, ‖G(F)‖ at most one."""
    from beyondkernels.problems import resnet as maps

    root = math.sqrt(2)
    return bk.problems.SmoothComposite(
        maps.Sphere(s.dim),
        maps.CircleMap(s.dim, OUTPUTS, s.frequency),
        maps.product_map(OUTPUTS, range(OUTPUTS), (root, -root)),
        s.alpha,
    )


def sizes_of(s: CouplingSettings) -> ConceptSizes:
    """The target's sizes, with C* = 1."""
    return bk.theory.concept_complexity(problem_of(s), star=1.0).sizes


def accuracy_of(sizes: ConceptSizes) -> float:
    r""":math:`\tilde\alpha = \alpha/(k p_F \mathfrak C_s(F) + k p_G \mathfrak C_s(G))` of Lemma C.2."""
    return sizes.alpha / (sizes.base_size + sizes.composite_size)


def spec(s: CouplingSettings, at: At) -> RunSpec:
    """Algorithm 1 at a width."""
    learner = bk.engine.TrainedNetwork(
        bk.networks.theorem_network(at.width, *s.stds(at.width)),
        bk.algorithms.OnePass(s.steps, s.first_rate, s.second_rate),
        snapshot_at=s.times,
        snapshot_names=_KEPT,
        backend=s.backend,
    )
    measurements = (
        bk.measure.Coupling(s.points),
        bk.measure.Regret(s.points, s.witness_points, s.witness_ridge),
    )
    return RunSpec(problem_of(s), learner, s.steps, s.test_samples, at.seed, measurements)


def row(s: CouplingSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """One run at its end, and the worst along its way."""
    from beyondkernels.measure.resnet.regret import error_bound

    line: dict[str, Any] = dict(zip(("first_std", "second_std"), s.stds(at.width), strict=True))
    if outcome.status != "finished":
        return line
    found, times = outcome.scalars, s.times
    over = {name: along(outcome, name, times) for name in ("risk", "error", "error_max", "regret")}
    over |= {name: along(outcome, name, times) for name in ("first_radius", "second_radius")}
    over |= {name: along(outcome, name, times) for name in ("first_gradient", "second_gradient")}

    def end(name: str) -> float:
        return along(outcome, name, times)[-1]

    first, second = found["first_witness"], found["second_witness"]
    line |= {"test_error": found["test_loss"], "first_witness": first, "second_witness": second}
    line |= {name: end(name) for name in _AT_THE_END}
    for name in (*_BOUNDED, "second_output"):
        line |= {name + part: end(name + part) for part in ("", "_max", "_bound", "_ratio")}
    line["second_matrix_order"] = line["second_matrix_max"] / line["second_radius"]
    for name in ("first_gates", "second_gates"):  # squares as measured; the lemma speaks of the norm
        line |= {name: math.sqrt(end(name)), f"{name}_ratio": math.sqrt(end(f"{name}_ratio"))}
    # τ_v has to bound ‖V‖ and ‖V*‖; the proof's 10‖V*‖ would only make the right side larger
    accuracy = accuracy_of(sizes_of(s))
    bounds = [
        error_bound(risk, s.alpha, max(radius, second), LIPSCHITZ, BASE_NORM, accuracy)
        for risk, radius in zip(over["risk"], over["second_radius"], strict=True)
    ]
    worst = max(range(len(times)), key=lambda i: over["error"][i] / bounds[i])
    line |= {"error": over["error"][worst], "error_bound": bounds[worst], "error_step": times[worst]}
    line["error_ratio"] = line["error"] / line["error_bound"]
    sizes = zip(over["error_max"], over["first_radius"], strict=True)
    line["error_size"] = max(math.sqrt(error) / max(radius, first) for error, radius in sizes)
    start = first**2 / s.first_rate + second**2 / s.second_rate
    line["regret_ratio"] = regret_ratio(times, over["regret"], over["risk"], start)
    gradients = zip(over["first_gradient"], over["second_gradient"], over["risk"], strict=True)
    line["gradient_share"] = max((s.first_rate * w + s.second_rate * v) / (2 * risk) for w, v, risk in gradients)
    return line


def along(outcome: Outcome, name: str, times: tuple[int, ...]) -> list[float]:
    """A measured quantity at the snapshots."""
    home = "coupling" if f"coupling/{name}" in outcome.series else "regret"
    return [outcome.at(f"{home}/{name}", t) for t in times]


def regret_ratio(times: tuple[int, ...], regret: list[float], risk: list[float], start: float) -> float:
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
    """
    sums, largest = [0.0, 0.0], -math.inf
    for (before, after), *ends in zip(
        itertools.pairwise(times), itertools.pairwise(regret), itertools.pairwise(risk), strict=True
    ):
        sums = [total + (after - before) * (a + b) / 2 for total, (a, b) in zip(sums, ends, strict=True)]
        largest = max(largest, sums[0] / (start / 2 + 0.1 * sums[1]))
    return largest


def outside(rows: Frame) -> str:
    """By which factor the mean radii lie above (×) or below (÷) Lemma C.1's ranges, where they do.

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """
    mean = rows[rows["status"] == "finished"].mean(numeric_only=True)
    if math.isnan(mean.get("first_radius", math.nan)):
        return "all runs diverged"
    m, sigma_w, sigma_v, k = mean["width"], mean["first_std"], mean["second_std"], OUTPUTS
    ranges = {
        "W": (max(1.0, m ** (1 / 8 + 0.001) * sigma_w), m ** (1 / 8 - 0.001) * sigma_w**0.25),
        "V": (sigma_v * (k / m) ** (3 / 8), sigma_v),
    }
    found = []
    for (name, (low, high)), tau in zip(ranges.items(), (mean["first_radius"], mean["second_radius"]), strict=True):
        if tau > high:
            found.append(f"‖{name}‖ ×{tau / high:.1f}")
        elif tau < low:
            found.append(f"‖{name}‖ ÷{low / tau:.1f}" if tau else f"‖{name}‖ is zero")
    return ", ".join(found)


def _promised(s: CouplingSettings, terms: dict[str, str]) -> Callable[[Frame], list[Line]]:
    """Where a term would lie if it fell exactly as promised from the first width of the fit on."""

    def lines(rows: Frame) -> list[Line]:
        made, wide = [], list(s.wide)
        for term, letter in terms.items():
            start = rows.loc[rows["width"] == wide[0], term].mean() if term in rows else math.nan
            if start > 0:
                power = s.exponents[term]
                heights = [start * (width / wide[0]) ** power for width in wide]
                made.append(Line(f"{letter} promises {power_of(power)}", wide, heights))
        return made

    return lines
