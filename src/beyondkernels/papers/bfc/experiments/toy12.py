"""Target (1.2): layer 2 alone learns another polynomial than the target's, and layer 3 corrects it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from beyondkernels.core.constraints import at_most
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Curves,
    Drawn,
    Event,
    Experiment,
    Level,
    Rows,
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
from beyondkernels.papers.bfc.experiments import toys
from beyondkernels.papers.bfc.experiments.pictures import course_lines
from beyondkernels.papers.bfc.experiments.toys import ALONE, FORM, LAYERWISE, POLYNOMIAL, TOGETHER, UNIT, in_median
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

TERMS = {"1-1": "x₁⁴", "2-2": "x₂⁴", "1-2": "x₁²x₂²", "1-3": "x₁²x₃²", "2-3": "x₂²x₃²", "3-3": "x₃⁴"}
"""The monomials of layer 2, by the names that ``SecondLayer`` gives their coefficients."""

WITH_THIRD = ("1-3", "2-3", "3-3")
"""Those with x₃, which layer 2 of the target does not have."""

TARGET = {"1-1": 1.0, "2-2": 2.0}

CLAIMED = {"uniform": UNIT, "gaussian": toys.SMALL}
"""Inputs for which a correction is claimed: layer 3 adds less to the target than layer 2, or not much more."""

EXACT, TIMES = 0.05, 100.0
"""Bars, both ours: how near coefficients are to others, and how many times the error layerwise training leaves."""


@dataclass(frozen=True)
class Toy12Settings(toys.ToySettings):
    """The numbers of the experiment."""

    alpha: Size = setting(0.1, "paper", "α, the factor of layer 3")
    neurons: Count = setting(3, "ours", "of layer 2, which is k(k + 1)/2 for k = 2")
    snapshots: Annotated[Count, at_most(1000)] = setting(40, "ours", "in each stage, for the figure")

    @property
    def example(self) -> dict[str, float]:
        """The paper's example of what layer 2 could learn: (x₁² + √α x₃²)² + 2x₂⁴."""
        return {**TARGET, "1-3": 2 * math.sqrt(self.alpha), "3-3": self.alpha}


class Toy12(Experiment):
    """The coefficients of layer 2 before and after layer 3 joins."""

    id: ClassVar[str] = "bfc/toy12"
    reference = PAPER.at("§1.2, eq. (1.2)")
    text_file: ClassVar[str] = "toy12.md"
    symbols: ClassVar[Mapping[str, str]] = {"inputs": "inputs"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 5.0, "paper": 20.0}
    settings_class: ClassVar[type] = Toy12Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale("paper", **toys.LAPTOP),
        "smoke": scale("laptop", **toys.SMOKE, snapshots=2),
    }

    def runs(self, s: Toy12Settings) -> list[Runs]:
        """Both ways of training, for each distribution of inputs."""
        return [Runs(spec, {"inputs": [UNIT, toys.SMALL, toys.GAUSSIAN], "method": [TOGETHER, LAYERWISE]}, moments)]

    def claims(self, s: Toy12Settings) -> list[Statement]:
        """What layer 2 alone learns, what becomes of it, and what that does to the error."""
        return [
            claim(
                "not-target",
                "The best polynomial of degree 4 is not x₁⁴ + 2x₂⁴ for any of the three inputs: its coefficient of "
                "x₁²x₃² is at least α (exact)",
                of("1-3", "inputs", moment=POLYNOMIAL),
                AtLeast(s.alpha),
                paper=f"for instance {s.example['1-3']:.3g}",
            ),
            claim(
                "finds-best",
                f"Inputs {UNIT}: what layer 2 alone learns is the best it can be: its coefficients are within "
                f"{EXACT:g} of the exact ones",
                of("from_best", moment=ALONE, inputs=UNIT),
                AtMost(EXACT),
                paper="the best degree-4 polynomial",
            ),
            *(statement for name, inputs in CLAIMED.items() for statement in _claims(s, name, inputs)),
        ]

    def table(self, s: Toy12Settings) -> Table:
        """A line for each distribution of inputs and moment, with all coefficients of layer 2."""
        return Table(
            {"inputs": "Inputs", "moment": "Layer 2"},
            [
                *(Shown(name, term, ".3f") for name, term in TERMS.items()),
                Shown("S2", "Error of S₂", ".1e", about="Of the two leading directions, relative to E‖S*₂‖²."),
                Shown("test", "Test error", ".1e", about="Relative to the variance of the target."),
            ],
        )

    def figures(self, s: Toy12Settings) -> list[Drawn]:
        """The coefficients with x₃ over training."""
        return [
            Drawn(
                "course",
                "What layer 2 has of x₃, which it should not have",
                f"The coefficients of two terms of layer 2 over training, inputs {UNIT}. Mean over seeds, shaded from "
                "the lowest to the highest. In the target both are 0. Horizontal lines: the best second layer (exact).",
                "Two coefficients of layer 2 over training steps, together and layerwise, beside those of the best fit",
                functools.partial(course, s),
            )
        ]


def _claims(s: Toy12Settings, name: str, inputs: str) -> list[Statement]:
    """What layer 2 alone learns under some inputs, what becomes of it, and what freezing it does to the error."""
    alone, together, frozen = ({"moment": moment, "inputs": inputs} for moment in (ALONE, TOGETHER, LAYERWISE))
    return [
        claim(
            f"overfits-{name}",
            f"Inputs {inputs}: layer 2 alone has a term with x₃ whose coefficient is clearly at least α",
            of("overfit", **alone),
            AtLeast(s.alpha, "clearly"),
            paper=f"for instance {s.example['1-3']:.3g}",
        ),
        in_median(
            f"corrected-{name}",
            f"Inputs {inputs}: trained together, layer 2 becomes x₁⁴ + 2x₂⁴: its coefficients are within {EXACT:g} of "
            f"{', '.join(f'{TARGET.get(term, 0):g}' for term in TERMS)}, in the median",
            of("from_target", **together),
            AtMost(EXACT),
            "back to x₁⁴ + 2x₂⁴",
        ),
        in_median(
            f"layerwise-{name}",
            f"Inputs {inputs}: layerwise training ends with at least {TIMES:g} times the test error of training "
            "together, in the median",
            of("test", **frozen) / of("test", **together),
            AtLeast(TIMES),
            "worse",
        ),
    ]


def spec(s: Toy12Settings, at: At) -> RunSpec:
    """A run whose second layer is looked at often."""
    first = {s.alone_steps * i // s.snapshots for i in range(s.snapshots)}
    second = {s.alone_steps + s.steps * i // s.snapshots for i in range(1, s.snapshots)}
    return toys.toy_spec(s, at, toys.first_toy(s.alpha, at.inputs), (s.neurons, 1), tuple(first | second))


def moments(s: Toy12Settings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """Rows: what training together or layerwise gives, together after what is known exactly."""
    best = toys.best_coefficients(s.alpha, at.inputs, (*TERMS,))
    variance = toys.first_toy(s.alpha, at.inputs).target_std.value ** 2

    def look(step: int) -> dict[str, Any]:
        found = {name: outcome.at(f"second/{name}", step, math.nan) for name in TERMS}
        return {
            **found,
            "overfit": max(abs(found[name]) for name in WITH_THIRD),
            "from_target": max(abs(found[name] - TARGET.get(name, 0.0)) for name in TERMS),
            "from_best": max(abs(found[name] - best[FORM][name]) for name in TERMS),
            "S2": outcome.at("features/distilled2", step, math.nan),
            "test": outcome.at("test_loss", step, math.nan) / variance,
        }

    known = {} if at.method == LAYERWISE else {"target": dict.fromkeys(TERMS, 0.0) | TARGET, **best}
    return [{"moment": moment, **each} for moment, each in known.items()] + toys.stage_rows(s, at, look)


def course(s: Toy12Settings, picture: Drawn, rows: Rows) -> list[Curves]:
    """Two coefficients over training, together and layerwise."""
    lines = [
        line
        for method, after in ((TOGETHER, 0), (LAYERWISE, s.alone_steps))
        for name in WITH_THIRD[:2]
        for line in course_lines(
            rows, f"{TERMS[name]} {method}", f"second/{name}", after, inputs=UNIT, method=method, moment=method
        )
    ]
    if not lines:
        return []
    best = rows[(rows["moment"] == FORM) & (rows["inputs"] == UNIT)].iloc[0]
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="training step",
            y_label="coefficient in layer 2",
            levels=[Level(f"best for {TERMS[name]} ({best[name]:.3f})", best[name]) for name in WITH_THIRD[:2]],
            events=[Event("layer 3 joins", float(s.alone_steps))],
        )
    ]
