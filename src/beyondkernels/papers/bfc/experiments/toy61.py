"""The example of §6.1: why layer 2 needs three neurons for two features, and what layer 3 corrects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import toys
from beyondkernels.papers.bfc.experiments.common import error, medians, number
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER
from beyondkernels.papers.bfc.paper import PAPER

WITH_OTHERS = ("1-3", "1-4", "2-3", "2-4", "3-3", "3-4", "4-4")
"""Terms of layer 2 with x₃ or x₄, which layer 2 of the target does not have."""

UNREADABLE = "unreadable part of x₁⁴, x₂⁴"
OUTSIDE = "The part of x₁⁴, x₂⁴ outside the span of layer 2's neurons; medians."

TIMES, LEARNT, FLAT, NEAR, LEFT, A_TENTH = 10.0, 1e-3, 0.3, 0.2, 0.1, "a tenth"
"""Bars, all ours: how many times more, what may be left, a slope of what stays, how near 1 a slope is, what is left."""

CORRECTED = 5.0
"""How many times smaller terms with x₃, x₄ become; ours, half of 1/α at α = 0.1. The paper says α² in place of α."""


@dataclass(frozen=True)
class Toy61Settings(toys.ToySettings):
    alphas: lab.Sizes = lab.setting((0.001, 0.003, 0.01, 0.03, 0.1), "ours", "α; in the paper it is small")
    neurons: lab.Counts = lab.setting((2, 3, 4, 6), "ours", "m₂; the paper asks for more than two, and three suffice")
    top_neurons: lab.Count = lab.setting(3, "ours", "of layer 3, which is k(k + 1)/2 for k = 2")

    def __post_init__(self) -> None:
        super().__post_init__()
        good = self.neurons[0] == 2 and len(self.neurons) > 1
        bk.core.require(good, f"neurons must be 2 and at least one larger number, got {self.neurons}")
        bk.core.require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")

    @property
    def small(self) -> float:
        """The α of what is learnt in the end: small, but large enough for training to come to an end."""
        return self.alphas[len(self.alphas) // 2]


class Toy61(lab.Experiment):
    id = "bfc/toy61"
    reference = PAPER.at("§6.1")
    quantities = {
        "alpha": number("α", log=True),
        "neurons": lab.Quantity("m₂"),
        "moment": lab.Quantity("layer 2"),
        "unreadable": lab.Quantity(UNREADABLE, ".1e", lab.SHARE, log=True, about=OUTSIDE, heading="Unreadable"),
        "overfit": error("largest term with x₃, x₄", "The largest coefficient that the target has not."),
        "test": error("test error", "Relative to the variance of what layer 3 adds to the target."),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 2.5, "paper": 12.0}
    settings_class = Toy61Settings
    scales = {
        "laptop": lab.scale("paper", **toys.LAPTOP, alphas=(0.001, 0.01, 0.1), neurons=(2, 3, 6)),
        "smoke": lab.scale("laptop", **toys.SMOKE, alphas=(0.01, 0.1), neurons=(2, 3)),
    }

    def runs(self, s: Toy61Settings) -> list[lab.Runs]:
        together = {"alpha": s.alphas, "neurons": s.neurons, "method": [TOGETHER]}
        frozen = {**together, "alpha": s.alphas[-1:], "method": [LAYERWISE]}
        return [lab.Runs(spec, over, moments) for over in (together, frozen)]

    def claims(self, s: Toy61Settings) -> list[lab.Statement]:
        least, most, times, small = s.alphas[0], s.alphas[-1], lab.AtLeast(TIMES), "suggested for small α"

        def two_over_three(column: str, moment: str, alpha: float) -> lab.Value:
            two, three = (lab.of(column, moment=moment, alpha=alpha, neurons=count) for count in (2, 3))
            return (two / three).median()

        alone, together = (lab.of("overfit", "alpha", moment=moment, neurons=3) for moment in (ALONE, TOGETHER))
        flat = lab.of("unreadable", "alpha", moment=ALONE, neurons=2).slope().median()
        enough = lab.of("test", "neurons", moment=TOGETHER, alpha=s.small, neurons=s.neurons[1:]).median()
        frozen, slope = (
            lab.of("test", "neurons", moment=LAYERWISE, alpha=most).median(),
            lab.Between(1 - NEAR, 1 + NEAR),
        )
        unreadable = two_over_three("unreadable", ALONE, least)
        needed = {f"needed-{name}": alpha for name, alpha in (("small", least), ("large", most))}
        never = "cannot be corrected by over-parameterization"
        return [
            self.claim(s, "two-neurons", unreadable, times, "two cannot, three can", least=least),
            self.claim(s, "two-stay", flat, lab.AtMost(FLAT)),
            self.claim(s, "overfits", alone.slope().median(), slope, "magnitude α"),
            self.claim(s, "corrected", (alone / together).median(), lab.AtLeast(CORRECTED), "from α to α², and on"),
            self.claim(s, "learnt", enough, lab.AtMost(LEARNT), "arbitrarily small", at=s.small),
            self.claim(s, "layerwise", frozen, lab.AtLeast(LEFT), never, at=most),
            *(
                self.claim(s, name, two_over_three("test", TOGETHER, alpha), times, small, "needed", at=alpha)
                for name, alpha in needed.items()
            ),
        ]

    def table(self, s: Toy61Settings) -> lab.Table:
        unreadable, *rest = medians("unreadable", "overfit", "test")
        largest = lab.Shown("unreadable", "Unreadable, largest", show="largest")
        return lab.Table(["alpha", "neurons", "moment"], [unreadable, largest, *rest], order=("alpha", "neurons"))

    def figures(self, s: Toy61Settings) -> list[lab.Over]:
        alone = {f"{count} neurons": {"neurons": count, "moment": ALONE} for count in s.neurons}
        three = {moment: {"moment": moment, "neurons": 3} for moment in (ALONE, TOGETHER)}

        def over(y: str, lines: Any, beside: str, height: Callable[[float], float]) -> lab.Over:
            def more(_: lab.Rows) -> list[lab.Line]:
                return [lab.Line(beside, s.alphas, [height(alpha) for alpha in s.alphas])]

            return lab.Over(y, x="alpha", y=y, line=lines, more=more, middle="median")

        return [
            over("unreadable", alone, "the paper's two neurons", lambda _: bk.bfc.rotated_part(toys.second_toy(1.0))),
            over("overfit", three, "α²", lambda alpha: alpha**2),
        ]


def spec(s: Toy61Settings, at: lab.At) -> bk.store.RunSpec:
    return toys.toy_spec(s, at, toys.second_toy(at.alpha), (at.neurons, s.top_neurons))


def moments(s: Toy61Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """Rows: what layer 2 holds, and the error over the variance of what layer 3 adds."""
    added = (at.alpha * toys.second_toy(at.alpha).layer_stds[3].value) ** 2

    def look(step: int) -> dict[str, Any]:
        terms = [outcome.at(f"second/{name}", step, math.nan) for name in WITH_OTHERS]
        unreadable, test = (outcome.at(name, step, math.nan) for name in ("second/unreadable", "test_loss"))
        return {"unreadable": unreadable, "overfit": max(map(abs, terms)), "test": test / added}

    return toys.stage_rows(s, at, look)
