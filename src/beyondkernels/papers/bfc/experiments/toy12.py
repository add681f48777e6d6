"""Target (1.2): layer 2 alone learns another polynomial than the target's, and layer 3 corrects it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.papers.bfc.experiments import toys
from beyondkernels.papers.bfc.experiments.common import error
from beyondkernels.papers.bfc.experiments.pictures import course_lines, over_steps
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER, UNIT
from beyondkernels.papers.bfc.paper import PAPER

TERMS = {"1-1": "x₁⁴", "2-2": "x₂⁴", "1-2": "x₁²x₂²", "1-3": "x₁²x₃²", "2-3": "x₂²x₃²", "3-3": "x₃⁴"}
"""The monomials of layer 2, by the names that ``SecondLayer`` gives their coefficients."""

WITH_THIRD = ("1-3", "2-3", "3-3")  # those with x₃, which layer 2 of the target does not have
TARGET = {"1-1": 1.0, "2-2": 2.0}

POLYNOMIAL, FORM = "best polynomial of degree 4", "best second layer"
"""Exact, from the moments of the inputs: among all polynomials, and among what layer 2 can be."""

CLAIMED = {"uniform": UNIT, "gaussian": toys.SMALL}
"""Inputs for which a correction is claimed: layer 3 adds less to the target than layer 2, or not much more."""

EXACT, TIMES = 0.05, 100.0
"""Bars, both ours: how near coefficients are to others, and how many times the error layerwise training leaves."""


@dataclass(frozen=True)
class Toy12Settings(toys.ToySettings):
    alpha: lab.Size = lab.setting(0.1, "paper", "α, the factor of layer 3")
    neurons: lab.Count = lab.setting(3, "ours", "of layer 2, which is k(k + 1)/2 for k = 2")
    snapshots: Annotated[lab.Count, at_most(1000)] = lab.setting(40, "ours", "in each stage, for the figure")

    @property
    def example(self) -> dict[str, float]:
        """The paper's example of what layer 2 could learn: (x₁² + √α x₃²)² + 2x₂⁴."""
        return {**TARGET, "1-3": 2 * math.sqrt(self.alpha), "3-3": self.alpha}


class Toy12(lab.Experiment):
    id = "bfc/toy12"
    reference = PAPER.at("§1.2, eq. (1.2)")
    quantities = {
        "moment": lab.Quantity("layer 2"),
        **{name: lab.Quantity(term, ".3f") for name, term in TERMS.items()},
        **{name: error(name.replace("_", " ")) for name in ("overfit", "from_target", "from_best")},
        "S2": error("error of S₂", "Of the two leading directions, relative to E‖S*₂‖²."),
        "test": error("test error", "Relative to the variance of the target."),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 5.0, "paper": 20.0}
    seed_sets = lab.THREE_SETS
    settings_class = Toy12Settings
    scales = {
        "laptop": lab.scale("paper", **toys.LAPTOP),
        "smoke": lab.scale("laptop", **toys.SMOKE, snapshots=2),
    }

    def runs(self, s: Toy12Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"inputs": [UNIT, toys.SMALL, toys.GAUSSIAN], "method": [TOGETHER, LAYERWISE]}, moments)]

    def claims(self, s: Toy12Settings) -> list[lab.Statement]:
        exact, mine = (
            lab.of("1-3", "inputs", moment=POLYNOMIAL),
            lab.of("from_best", moment=ALONE, inputs=UNIT).median(),
        )
        example = f"for instance {s.example['1-3']:.3g}"
        made = [
            self.claim(s, "not-target", exact, lab.AtLeast(s.alpha), example),
            self.claim(s, "finds-best", mine, lab.AtMost(EXACT), "the best degree-4 polynomial"),
        ]
        for name, inputs in CLAIMED.items():
            overfit = lab.of("overfit", moment=ALONE, inputs=inputs).median()
            corrected = lab.of("from_target", moment=TOGETHER, inputs=inputs).median()
            layerwise, together = (lab.of("test", moment=each, inputs=inputs) for each in (LAYERWISE, TOGETHER))
            told = {"inputs": inputs, "target": tuple(TARGET.get(term, 0) for term in TERMS)}
            for kind, value, test, paper in (
                ("overfits", overfit, lab.AtLeast(s.alpha), example),
                ("corrected", corrected, lab.AtMost(EXACT), "back to x₁⁴ + 2x₂⁴"),
                ("layerwise", (layerwise / together).median(), lab.AtLeast(TIMES), "worse"),
            ):
                made.append(self.claim(s, f"{kind}-{name}", value, test, paper, kind, **told))
        return made

    def table(self, s: Toy12Settings) -> lab.Table:
        return lab.Table(["inputs", "moment"], [*TERMS, "S2", "test"])

    def figures(self, s: Toy12Settings) -> list[lab.Drawn]:
        return [lab.Drawn("course", by=functools.partial(course, s))]


def spec(s: Toy12Settings, at: lab.At) -> bk.store.RunSpec:
    first = {s.alone_steps * i // s.snapshots for i in range(s.snapshots)}
    second = {s.alone_steps + s.steps * i // s.snapshots for i in range(1, s.snapshots)}
    return toys.toy_spec(s, at, toys.first_toy(s.alpha, at.inputs), (s.neurons, 1), tuple(first | second))


def moments(s: Toy12Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """Rows: what training together or layerwise gives, together after what is known exactly."""
    problem = toys.first_toy(s.alpha, at.inputs)
    polynomial, form = bk.bfc.best_terms(problem, (*TERMS,))

    def look(step: int) -> dict[str, Any]:
        found = {name: outcome.at(f"second/{name}", step, math.nan) for name in TERMS}
        return {
            **found,
            "overfit": max(abs(found[name]) for name in WITH_THIRD),
            "from_target": max(abs(found[name] - TARGET.get(name, 0.0)) for name in TERMS),
            "from_best": max(abs(found[name] - form[name]) for name in TERMS),
            "S2": outcome.at("features/distilled2", step, math.nan),
            "test": outcome.at("test_loss", step, math.nan) / problem.target_std.value**2,
        }

    known = {"target": dict.fromkeys(TERMS, 0.0) | TARGET, POLYNOMIAL: polynomial, FORM: form}
    exact = [] if at.method == LAYERWISE else [{"moment": moment, **each} for moment, each in known.items()]
    return exact + toys.stage_rows(s, at, look)


def course(s: Toy12Settings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    names, (_, form) = WITH_THIRD[:2], bk.bfc.best_terms(toys.first_toy(s.alpha, UNIT), (*TERMS,))
    lines = []
    for method, after in ((TOGETHER, 0), (LAYERWISE, s.alone_steps)):
        where = {"inputs": UNIT, "method": method, "moment": method}
        for name in names:
            lines += course_lines(rows, f"{TERMS[name]} {method}", f"second/{name}", after, **where)
    levels = {f"best for {TERMS[name]} ({form[name]:.3f})": form[name] for name in names}
    joins = {"layer 3 joins": float(s.alone_steps)}
    return over_steps(picture, lines, "coefficient in layer 2", joins, levels, y_scale="linear")
