"""The example of §6.1: why layer 2 needs three neurons for two features, and what layer 3 corrects."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Reference, require
from beyondkernels.core.constraints import at_least, not_empty, positive, rising
from beyondkernels.experiments.bfc.common import medians
from beyondkernels.experiments.bfc.toys import (
    ALONE,
    LAYERWISE,
    TOGETHER,
    UNIFORM,
    ToySettings,
    inputs_of,
    rotated_part,
    toy_spec,
)
from beyondkernels.frame import (
    At,
    Count,
    Experiment,
    Over,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    Value,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.reports import AtLeast, AtMost, Between, Line
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.problems.bfc import SecondToy

WITH_OTHERS = ("1-3", "1-4", "2-3", "2-4", "3-3", "3-4", "4-4")
"""Terms of layer 2 with x₃ or x₄, which layer 2 of the target does not have."""

TIMES, CORRECTED, LEARNT = 10.0, 5.0, 1e-3
MEDIAN = "median over seeds"


@dataclass(frozen=True)
class Toy61Settings(ToySettings):
    """The numbers of the experiment."""

    alphas: Annotated[tuple[float, ...], positive, rising, not_empty] = setting(
        (0.001, 0.003, 0.01, 0.03, 0.1), "ours", "α; in the paper it is small"
    )
    neurons: Annotated[tuple[int, ...], at_least(2), rising, not_empty] = setting(
        (2, 3, 4, 6), "ours", "m₂; the paper asks for more than two, and three suffice"
    )
    top_neurons: Count = setting(3, "ours", "of layer 3, which is k(k + 1)/2 for k = 2")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.neurons[0] == 2 and len(self.neurons) > 1,
            f"neurons must be 2 and at least one larger number, got {self.neurons}",
        )
        require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Toy61(Experiment):
    """Neurons of layer 2 against what layer 3 can read off it; over-fitting against α."""

    id: ClassVar[str] = "bfc/toy61"
    title: ClassVar[str] = "§6.1: more neurons than features give a richer representation, and layer 3 corrects it"
    summary: ClassVar[str] = (
        "The target is x₁⁴ + x₂⁴ + α((x₁⁴ + x₃)² + (x₂⁴ + x₄)²). Layer 2 can fit x₁⁴ + x₂⁴ with two neurons in "
        "infinitely many bases, and layer 3 needs x₁⁴ and x₂⁴ themselves. With three or more neurons, whatever their "
        "random start, both can be read off. Trained alone, layer 2 also picks up terms with x₃ and x₄ of size α; "
        "trained together with layer 3 it loses them."
    )
    reference: ClassVar[Reference] = Reference("bfc", "§6.1")
    notes_file: ClassVar[str] = "toy61.md"
    symbols: ClassVar[Mapping[str, str]] = {"alpha": "α", "neurons": "m₂"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 2.5, "paper": 12.0}
    numbers: ClassVar[type] = Toy61Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            samples=5000, alone_steps=3000, steps=12_000, alphas=(0.001, 0.01, 0.1), neurons=(2, 3, 6), seeds=5
        ),
        "smoke": scale(
            "laptop",
            samples=100,
            batch=20,
            alone_steps=4,
            steps=6,
            alphas=(0.01, 0.1),
            neurons=(2, 3),
            points=100,
            test_samples=100,
            seeds=2,
        ),
    }

    def runs(self, s: Toy61Settings) -> list[Runs]:
        """Every α and number of neurons together; layerwise at the largest α."""
        grid = {"alpha": s.alphas, "neurons": s.neurons}
        return [
            Runs(spec, {**grid, "method": [TOGETHER]}, moments),
            Runs(spec, {**grid, "alpha": s.alphas[-1:], "method": [LAYERWISE]}, moments),
        ]

    def claims(self, s: Toy61Settings) -> list[Statement]:
        """The richer representation, over-fitting and its correction, and whether training needs three neurons."""
        least, most, richer = s.alphas[0], s.alphas[-1], s.neurons[1:]

        def mean_of(neurons: int) -> Value:
            return of("unreadable", moment=ALONE, alpha=least, neurons=neurons)

        def error(moment: str, **where: Any) -> Value:
            return of("test", "neurons", moment=moment, alpha=most, **where)

        overfit = {moment: of("overfit", "alpha", moment=moment, neurons=3) for moment in (ALONE, TOGETHER)}
        return [
            claim(
                "two-neurons",
                f"α = {least:g}: with two neurons in layer 2 more of x₁⁴, x₂⁴ stays unreadable than with three: "
                f"at least {TIMES:g} times as much, in the median of the same seeds",
                (mean_of(2) / mean_of(3)).median(),
                AtLeast(TIMES),
                paper="two cannot, three can",
                interval=MEDIAN,
            ),
            claim(
                "two-stay",
                "With two neurons the unreadable part does not vanish with α: the slope of its logarithm on log α is "
                "at most 0.3",
                of("unreadable", "alpha", moment=ALONE, neurons=2).slope(),
                AtMost(0.3),
            ),
            claim(
                "overfits",
                "Layer 2 alone has terms with x₃, x₄ of size α: the slope of log coefficient on log α is 1, up to 0.2 "
                "(three neurons)",
                overfit[ALONE].slope(),
                Between(0.8, 1.2),
                paper="magnitude α",
            ),
            claim(
                "corrected",
                f"Trained together these terms become at least {CORRECTED:g} times smaller, at every α, in the median "
                "(three neurons)",
                (overfit[ALONE] / overfit[TOGETHER]).median(),
                AtLeast(CORRECTED),
                paper="from α to α², and on",
                interval=MEDIAN,
            ),
            claim(
                "learnt",
                f"α = {most:g}: with three or more neurons, training together leaves at most {LEARNT:g} of what layer "
                "3 adds, in the median",
                error(TOGETHER, neurons=richer).median(),
                AtMost(LEARNT),
                paper="arbitrarily small",
                interval=MEDIAN,
            ),
            claim(
                "layerwise",
                f"α = {most:g}: more neurons do not save layerwise training: whatever m₂, at least a tenth of what "
                "layer 3 adds is left",
                error(LAYERWISE),
                AtLeast(0.1),
                paper="cannot be corrected by over-parameterization",
            ),
            *(
                claim(
                    name,
                    f"α = {alpha:g}: trained together for the same time, two neurons leave at least {TIMES:g} times "
                    "the error of three, in the median",
                    (
                        of("test", moment=TOGETHER, alpha=alpha, neurons=2)
                        / of("test", moment=TOGETHER, alpha=alpha, neurons=3)
                    ).median(),
                    AtLeast(TIMES),
                    paper="suggested for small α",
                    interval=MEDIAN,
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
                    "unreadable",
                    "Unreadable",
                    "The part of x₁⁴, x₂⁴ that is no linear combination of the neurons of layer 2. Medians over seeds.",
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
                "With two neurons the unreadable part is the same for every α; with more it is far smaller",
                y="unreadable",
                line={f"{count} neurons": {"neurons": count} for count in s.neurons},
                where={"moment": ALONE},
                y_label="unreadable part of x₁⁴, x₂⁴",
                more=lambda _: [
                    Line("the paper's two neurons", list(s.alphas), [rotated_part(problem_of(1.0))] * len(s.alphas))
                ],
                **over,
            ),
            Over(
                "overfit",
                "What layer 2 has of x₃ and x₄, which it should not have",
                "The largest coefficient of a term of layer 2 with x₃ or x₄; three neurons in layer 2.",
                "With layer 2 alone the coefficient is proportional to α; trained together it is far smaller",
                y="overfit",
                line={moment: {"moment": moment, "neurons": 3} for moment in (ALONE, TOGETHER)},
                y_label="largest coefficient",
                **over,
            ),
        ]


@functools.cache
def problem_of(alpha: float) -> SecondToy:
    """The target."""
    return bk.problems.SecondToy(alpha=alpha, inputs=inputs_of(UNIFORM))


def spec(s: Toy61Settings, at: At) -> RunSpec:
    """A run with a given number of neurons in layer 2."""
    return toy_spec(s, at, problem_of(at.alpha), (at.neurons, s.top_neurons))


def moments(s: Toy61Settings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """Rows: the end of layerwise training, or both stages of training together."""
    problem = problem_of(at.alpha)
    added = (at.alpha * problem.layer_stds[3].value) ** 2

    def row(moment: str, step: int) -> dict[str, Any]:
        return {
            "moment": moment,
            "unreadable": outcome.at("second/unreadable", step, math.nan),
            "overfit": max(abs(outcome.at(f"second/{name}", step, math.nan)) for name in WITH_OTHERS),
            "test": outcome.at("test_loss", step, math.nan) / added,
        }

    if at.method == LAYERWISE:
        return [row(LAYERWISE, s.ends[TOGETHER])]
    return [row(moment, step) for moment, step in s.ends.items()]
