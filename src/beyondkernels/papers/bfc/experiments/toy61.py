"""The example of §6.1: why layer 2 needs three neurons for two features, and what layer 3 corrects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from beyondkernels.core import require
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Between,
    Count,
    Counts,
    Experiment,
    Line,
    Over,
    Runs,
    Scale,
    Shown,
    Sizes,
    Statement,
    Table,
    Value,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments import toys
from beyondkernels.papers.bfc.experiments.common import medians
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER, in_median
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

WITH_OTHERS = ("1-3", "1-4", "2-3", "2-4", "3-3", "3-4", "4-4")
"""Terms of layer 2 with x₃ or x₄, which layer 2 of the target does not have."""

TIMES, LEARNT, FLAT, NEAR, LEFT, A_TENTH = 10.0, 1e-3, 0.3, 0.2, 0.1, "a tenth"
"""Bars, all ours: how many times more, what may be left, a slope of what stays, how near 1 a slope is, what is left."""

CORRECTED = 5.0
"""How many times smaller terms with x₃, x₄ become; ours, half of 1/α at α = 0.1. The paper says α² in place of α."""


@dataclass(frozen=True)
class Toy61Settings(toys.ToySettings):
    """The numbers of the experiment."""

    alphas: Sizes = setting((0.001, 0.003, 0.01, 0.03, 0.1), "ours", "α; in the paper it is small")
    neurons: Counts = setting((2, 3, 4, 6), "ours", "m₂; the paper asks for more than two, and three suffice")
    top_neurons: Count = setting(3, "ours", "of layer 3, which is k(k + 1)/2 for k = 2")

    def __post_init__(self) -> None:
        super().__post_init__()
        good = self.neurons[0] == 2 and len(self.neurons) > 1
        require(good, f"neurons must be 2 and at least one larger number, got {self.neurons}")
        require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Toy61(Experiment):
    """Neurons of layer 2 against what layer 3 can read off it; over-fitting against α."""

    id: ClassVar[str] = "bfc/toy61"
    reference = PAPER.at("§6.1")
    text_file: ClassVar[str] = "toy61.md"
    symbols: ClassVar[Mapping[str, str]] = {"alpha": "α", "neurons": "m₂"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 2.5, "paper": 12.0}
    settings_class: ClassVar[type] = Toy61Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale("paper", **toys.LAPTOP, alphas=(0.001, 0.01, 0.1), neurons=(2, 3, 6)),
        "smoke": scale("laptop", **toys.SMOKE, alphas=(0.01, 0.1), neurons=(2, 3)),
    }

    def runs(self, s: Toy61Settings) -> list[Runs]:
        """Every α and number of neurons together; layerwise at the largest α."""
        together = {"alpha": s.alphas, "neurons": s.neurons, "method": [TOGETHER]}
        frozen = {**together, "alpha": s.alphas[-1:], "method": [LAYERWISE]}
        return [Runs(spec, over, moments) for over in (together, frozen)]

    def claims(self, s: Toy61Settings) -> list[Statement]:
        """The richer representation, over-fitting and its correction, and whether training needs three neurons."""
        least, most = s.alphas[0], s.alphas[-1]

        def two_over_three(column: str, moment: str, alpha: float) -> Value:
            two, three = (of(column, moment=moment, alpha=alpha, neurons=count) for count in (2, 3))
            return two / three

        overfit = {moment: of("overfit", "alpha", moment=moment, neurons=3) for moment in (ALONE, TOGETHER)}
        return [
            in_median(
                "two-neurons",
                f"α = {least:g}: with two neurons in layer 2 more of x₁⁴, x₂⁴ stays unreadable than with three: "
                f"at least {TIMES:g} times as much, in the median of the same seeds",
                two_over_three("unreadable", ALONE, least),
                AtLeast(TIMES),
                "two cannot, three can",
            ),
            claim(
                "two-stay",
                "With two neurons the unreadable part does not vanish with α: the slope of its logarithm on log α is "
                f"at most {FLAT:g}",
                of("unreadable", "alpha", moment=ALONE, neurons=2).slope(),
                AtMost(FLAT),
            ),
            claim(
                "overfits",
                "Layer 2 alone has terms with x₃, x₄ of size α: the slope of log coefficient on log α is 1, up to "
                f"{NEAR:g} (three neurons)",
                overfit[ALONE].slope(),
                Between(1 - NEAR, 1 + NEAR),
                paper="magnitude α",
            ),
            in_median(
                "corrected",
                f"Trained together these terms become at least {CORRECTED:g} times smaller, at every α, in the median "
                "(three neurons)",
                overfit[ALONE] / overfit[TOGETHER],
                AtLeast(CORRECTED),
                "from α to α², and on",
            ),
            in_median(
                "learnt",
                f"α = {most:g}: with three or more neurons, training together leaves at most {LEARNT:g} of what layer "
                "3 adds, in the median",
                of("test", "neurons", moment=TOGETHER, alpha=most, neurons=s.neurons[1:]),
                AtMost(LEARNT),
                "arbitrarily small",
            ),
            claim(
                "layerwise",
                f"α = {most:g}: more neurons do not save layerwise training: whatever m₂, at least {A_TENTH} of what "
                "layer 3 adds is left",
                of("test", "neurons", moment=LAYERWISE, alpha=most),
                AtLeast(LEFT),
                paper="cannot be corrected by over-parameterization",
            ),
            *(
                in_median(
                    name,
                    f"α = {alpha:g}: trained together for the same time, two neurons leave at least {TIMES:g} times "
                    "the error of three, in the median",
                    two_over_three("test", TOGETHER, alpha),
                    AtLeast(TIMES),
                    "suggested for small α",
                )
                for name, alpha in (("needed-small", least), ("needed-large", most))
            ),
        ]

    def table(self, s: Toy61Settings) -> Table:
        """A line for each α, number of neurons and moment: medians."""
        return Table(
            {"alpha": "α", "neurons": "m₂", "moment": "Layer 2"},
            [
                medians(
                    "unreadable", "Unreadable", "The part of x₁⁴, x₂⁴ outside the span of layer 2's neurons; medians."
                ),
                Shown("unreadable", "Unreadable, largest", ".1e", show="largest"),
                medians("overfit", "Largest term with x₃, x₄", "The largest coefficient that the target has not."),
                medians("test", "Test error", "Relative to the variance of what layer 3 adds to the target."),
            ],
            order=("alpha", "neurons"),
        )

    def figures(self, s: Toy61Settings) -> list[Over]:
        """What cannot be read off layer 2, and what it has too much, over α."""
        over: dict[str, Any] = {"x": "alpha", "x_label": "α", "x_scale": "log", "y_scale": "log", "middle": "median"}
        return [
            Over(
                "unreadable",
                "What layer 3 cannot read off layer 2",
                "The part of x₁⁴, x₂⁴ that is no linear combination of the neurons of layer 2, after layer 2 alone.",
                "The unreadable part over α, a line for each number of neurons, and that of the paper's two neurons",
                y="unreadable",
                line={f"{count} neurons": {"neurons": count, "moment": ALONE} for count in s.neurons},
                y_label="unreadable part of x₁⁴, x₂⁴",
                more=lambda _: [toys.rotated_line(s.alphas)],
                **over,
            ),
            Over(
                "overfit",
                "What layer 2 has of x₃ and x₄, which it should not have",
                "The largest coefficient of a term of layer 2 with x₃ or x₄; three neurons in layer 2.",
                "The largest such coefficient over α, with layer 2 alone and together, beside α²",
                y="overfit",
                line={moment: {"moment": moment, "neurons": 3} for moment in (ALONE, TOGETHER)},
                y_label="largest coefficient",
                more=lambda _: [Line("α²", s.alphas, [alpha**2 for alpha in s.alphas])],
                **over,
            ),
        ]


def spec(s: Toy61Settings, at: At) -> RunSpec:
    """A run with a given number of neurons in layer 2."""
    return toys.toy_spec(s, at, toys.second_toy(at.alpha), (at.neurons, s.top_neurons))


def moments(s: Toy61Settings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """Rows: what layer 2 holds, and the error over the variance of what layer 3 adds."""
    added = (at.alpha * toys.second_toy(at.alpha).layer_stds[3].value) ** 2

    def look(step: int) -> dict[str, Any]:
        terms = [outcome.at(f"second/{name}", step, math.nan) for name in WITH_OTHERS]
        unreadable, test = (outcome.at(name, step, math.nan) for name in ("second/unreadable", "test_loss"))
        return {"unreadable": unreadable, "overfit": max(map(abs, terms)), "test": test / added}

    return toys.stage_rows(s, at, look)
