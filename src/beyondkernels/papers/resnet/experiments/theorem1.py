"""Theorem 1: the risk that Algorithm 1 leaves, against α."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Backend,
    Count,
    Experiment,
    Line,
    Over,
    Rows,
    Runs,
    Scale,
    Shown,
    Size,
    Sizes,
    Statement,
    Table,
    Value,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.resnet.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.networks import ThreeLayerResNet
    from beyondkernels.papers.resnet.problems import HardInstance
    from beyondkernels.papers.resnet.theory import Theorem1Settings

NETWORK, FROZEN, SAME, KERNEL = "Algorithm 1", "V frozen", "same T", "two-step kernel"

STEEP = AtLeast(3.5)
"""The least slope that is claimed: α⁴, with room for what a fit over a short range leaves."""

_ANY_WIDTH = 1000  # the limit of infinite width does not depend on it
_MEMORY = 2**30


@dataclass(frozen=True)
class RiskSettings(Checked):
    """The numbers of the experiment."""

    dim: Count = setting(40, "ours", "d")
    outputs: Count = setting(4, "ours", "k")
    alphas: Sizes = setting((0.2, 0.225, 0.25, 0.275, 0.3, 0.325, 0.35, 0.375, 0.4, 0.425, 0.45, 0.475, 0.5), "ours")
    width: Count = setting(1000, "ours", "m")
    first_std: Size = setting(0.5, "ours", "σ_w, within [m^(−1/2+0.01), m^(−0.01)] of Table 1")
    second_std: Size = setting(1.0, "ours", "σ_v as in §8.1; Table 1 asks for polylog(m)")
    unit_alpha: Size = setting(0.5, "ours", "where δ = 1: Theorem 1 leaves its constant open")
    rate: Size = setting(1.0, "ours", "η_w/min{1, δ}; chosen on seeds 100 to 102 at α = 0.5")
    ratio: Size = setting(0.1, "ours", "η_v/η_w at δ = 1, falling as α²; chosen likewise")
    kernel_samples: Count = setting(2000, "ours", "points of the two-step kernel")
    kernel_weights: Sizes = setting((10.0, 100.0, 1e3, 1e4, 1e5), "ours", "of its second kernel, to try")
    seeds: Count = setting(10, "ours", "0, 1, 2, …")
    test_samples: Count = setting(20_000, "ours", "fresh points for the risk at the end")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")

    def __post_init__(self) -> None:
        require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Theorem1(Experiment):
    """Algorithm 1 at several α."""

    id: ClassVar[str] = "resnet/theorem1"
    reference = PAPER.at("Theorem 1, Algorithm 1, eq. (6.2)")
    text_file: ClassVar[str] = "theorem1.md"
    symbols: ClassVar[Mapping[str, str]] = {"alpha": "α"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 6.0, "paper": 30.0}
    settings_class: ClassVar[type] = RiskSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            dim=30,
            alphas=(0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
            width=400,
            kernel_samples=960,
            seeds=5,
            test_samples=10_000,
        ),
        "smoke": scale(
            dim=6,
            outputs=2,
            alphas=(0.4, 0.5),
            width=16,
            kernel_samples=60,
            kernel_weights=(1.0, 10.0),
            seeds=2,
            test_samples=200,
        ),
    }

    def runs(self, s: RiskSettings) -> list[Runs]:
        """Algorithm 1 and its controls, and the two-step kernel, at every α."""
        return [Runs(spec, {"method": [NETWORK, FROZEN, SAME, KERNEL], "alpha": s.alphas}, row)]

    def claims(self, s: RiskSettings) -> list[Statement]:
        """The slopes, and where the risks lie."""
        promised = "order α⁴, from above"
        tail, frozen, same = (of("tail", "alpha", method=method) for method in (NETWORK, FROZEN, SAME))
        average = of("average", "alpha", method=NETWORK)

        def steep(name: str, text: str, value: Value, control: Value | None, paper: str | None = promised) -> Statement:
            beside = None if control is None else ("with V frozen it is", control.slope())
            return claim(name, text, value.slope(), STEEP, paper=paper, beside=beside)

        return [
            steep(
                "slope",
                "With Theorem 1's T and rates for each α, log risk rises with log α by at least 3.5, the risk being "
                "the mean over the last half of the steps",
                tail,
                frozen,
            ),
            steep(
                "slope-average",
                "(6.2)'s average, which is over all steps, rises by at least 3.5 too",
                average,
                of("average", "alpha", method=FROZEN),
            ),
            claim(
                "second-layer",
                "At every α the mean over the last half is at most half of that with V frozen: the largest ratio",
                (tail / frozen).largest(),
                AtMost(0.5),
            ),
            claim(
                "below-floor",
                "At every α the mean over the last half lies below the risk of F alone, kα²: the largest ratio",
                (tail / of("floor", "alpha", method=NETWORK)).largest(),
                AtMost(1.0),
            ),
            claim(
                "fourth-power",
                "With the T and the rates of the smallest α for every α, the mean over the last half lies below kα⁴: "
                "the largest ratio",
                (same / of("fourth_power", "alpha", method=SAME)).largest(),
                AtMost(1.0),
                paper=promised,
            ),
            steep(
                "slope-same-t",
                "With the T and the rates of the smallest α for every α, so that α changes the target alone, log risk "
                "rises by at least 3.5 too",
                same,
                None,
                None,  # a bound from above promises no slope once T stays
            ),
        ]

    def table(self, s: RiskSettings) -> Table:
        """A line for each α, and the slopes."""

        def shown(heading: str, column: str, method: str) -> Shown:
            return Shown(column, heading, ".2g", {"method": method})

        columns = [
            Shown("points", "T", ",.0f", {"method": NETWORK}, "first"),
            shown("Tail", "tail", NETWORK),
            shown("Average (6.2)", "average", NETWORK),
            shown("End", "end", NETWORK),
            Shown("floor", "F alone", ".2g", show="first"),
            shown("V frozen, tail", "tail", FROZEN),
            shown("Same T, tail", "tail", SAME),
            shown("Two steps", "end", KERNEL),
        ]

        def slopes(rows: Rows) -> list[dict[str, Any]]:
            line: dict[str, Any] = {"alpha": "slope"}
            for key, column in zip(table.keys, columns, strict=True):
                if column.show == "mean":
                    found = of(column.column, "alpha", **column.where).slope().compute(rows).dropna()
                    line |= {key: found.mean(), f"{key}_sd": found.std()} if len(found) else {}
            return [line] if len(line) > 1 else []

        table = Table({"alpha": "α"}, columns, more=slopes)
        return table

    def figures(self, s: RiskSettings) -> list[Over]:
        """Risk over α with the theorem's numbers for each α, and with those of the smallest for all."""
        kinds = {"average (6.2)": "average", "last half": "tail", "at the end": "end"}
        own = {label: {"method": NETWORK, "y": kind} for label, kind in kinds.items()}
        own |= {"V frozen, last half": {"method": FROZEN, "y": "tail"}, KERNEL: {"method": KERNEL, "y": "end"}}
        same = {label: {"method": SAME, "y": kind} for label, kind in kinds.items()}
        powers = [
            Line("F alone, kα²", list(s.alphas), [s.outputs * alpha**2 for alpha in s.alphas]),
            Line("slope 4: kα⁴", list(s.alphas), [s.outputs * alpha**4 for alpha in s.alphas]),
        ]
        read = (
            "Both axes are logarithmic. A line that falls faster towards the left than the line of slope 4 keeps the "
            "theorem's promise, and so does one that lies below it."
        )
        return [
            Over(
                name,
                title,
                f"{words}. {read}",
                f"{title}: {', '.join(lines)}, beside lines of slope 2 and 4",
                x="alpha",
                y="tail",
                line=lines,
                x_label="α",
                y_label="risk E‖out − y‖²",
                x_scale="log",
                y_scale="log",
                more=lambda _: powers,
            )
            for name, title, words, lines in (
                ("risk", "Risk over α with Theorem 1's T and rates", "T ∝ α⁻⁸ and the rates fall with α", own),
                ("same-t", "Risk over α with one T and one pair of rates", "Those of the smallest α serve all", same),
            )
        ]

    def remarks(self, s: RiskSettings) -> list[str]:
        """What the risks are to be compared with, and how Theorem 1's hypotheses stand at both ends."""
        ends = s.alphas[0], s.alphas[-1]
        constants = ", ".join(f"{problem_of(s, alpha).polynomial_risk(0):.4g}" for alpha in ends)
        floors = ", ".join(f"{s.outputs * alpha**2:.4g}" for alpha in ends)
        compared = (
            f"At α = {ends[0]:g} and {ends[1]:g}, predicting a constant leaves {constants}. The best linear predictor "
            f"is F and leaves kα² = {floors}."
        )
        return [compared, *(_hypotheses(s, alpha) for alpha in ends)]


def problem_of(s: RiskSettings, alpha: float) -> HardInstance:
    """The hard instance (7.1) on uniform signs."""
    return bk.resnet.HardInstance(s.dim, s.outputs, alpha)


def network_of(s: RiskSettings) -> ThreeLayerResNet:
    """The network of §6."""
    return bk.networks.theorem_network(s.width, s.first_std, s.second_std)


@functools.lru_cache(maxsize=256)
def theorem_of(s: RiskSettings, alpha: float) -> Theorem1Settings:
    r"""Theorem 1's numbers for one α, with C* = 1 and three constants of our choice in place of Θ̃.

    .. math:: \delta = (\alpha/\alpha_1)^4, \quad T = (k p_F \mathfrak C_s(F))^2 / \min\{1, \delta^2\}, \quad
              \eta_w = c \min\{1, \delta\}, \quad \eta_v = \eta_w\, r\, (\alpha/\alpha_1)^2

    with α₁ = ``unit_alpha``, c = ``rate``, r = ``ratio``. In the theorem r comes from the constant of τ_v; here it is
    η_v's alone, and hypotheses on τ_v are checked with constant 1. Sizes are those of the target in Concept 1, labels
    divided by √k.
    """
    sizes = bk.resnet.concept_complexity(problem_of(s, alpha), star=1.0).sizes
    at_one = s.unit_alpha * sizes.composite_size
    constants = bk.resnet.Theorem1Constants(risk=1 / (at_one**4 * (1 + sizes.base_norm) ** 2), rate=s.rate)
    theorem = functools.partial(
        bk.resnet.theorem1, sizes, network_of(s), first_std=s.first_std, second_std=s.second_std
    )
    r = s.ratio**0.5 * sizes.base_size / at_one
    eta_v = theorem(constants=replace(constants, second_radius=r)).second_rate
    return theorem(constants=constants, second_rate=eta_v)


def numbers_of(s: RiskSettings, at: At) -> Theorem1Settings:
    """Whose T and rates a method has: those of its own α, or those of the smallest."""
    return theorem_of(s, min(s.alphas) if at.method == SAME else at.alpha)


def spec(s: RiskSettings, at: At) -> RunSpec:
    """One run."""
    problem = problem_of(s, at.alpha)
    if at.method == KERNEL:
        kernel = tangent_kernel()
        learner: Any = bk.kernels.TwoStepRidge(kernel, kernel, weights=s.kernel_weights)
        return RunSpec(problem, learner, s.kernel_samples, s.test_samples, at.seed)
    rule = numbers_of(s, at).algorithm
    if at.method == FROZEN:
        rule = replace(rule, second_rate=0.0)
    # samples of millions of points: not many of them at a time
    learner = bk.engine.TrainedNetwork(network_of(s), rule, backend=s.backend, memory=_MEMORY)
    return RunSpec(problem, learner, rule.steps, s.test_samples, at.seed)


def row(s: RiskSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """All risks are E‖out − y‖²."""
    found = outcome.scalars
    return {
        "points": s.kernel_samples if at.method == KERNEL else numbers_of(s, at).steps,
        "end": found.get("test_loss"),
        "tail": found.get("online_loss_tail"),
        "average": found.get("online_loss"),
        "floor": s.outputs * at.alpha**2,
        "fourth_power": s.outputs * at.alpha**4,
    }


def tangent_kernel() -> bk.kernels.Kernel:
    """The tangent kernel of a wide two-layer ReLU network with biases, everything of unit variance."""
    scales = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=1)
    return bk.kernels.infinite_tangent(bk.networks.FullyConnected(_ANY_WIDTH, 2, parameterisation=scales))


def _hypotheses(s: RiskSettings, alpha: float) -> str:
    found = theorem_of(s, alpha)
    holding = [str(each) for each in found.hypotheses if each.holds]
    return (
        f"Theorem 1 at α = {alpha:g} (T = {found.steps:,}, η_w = {found.first_rate:.3g}, η_v = "
        f"{found.second_rate:.3g}, δ = {found.risk:.3g}): {len(holding)} of {len(found.hypotheses)} hypotheses hold. "
        f"The others: {'; '.join(map(str, found.missed))}. Those that hold: {'; '.join(holding)}."
    )
