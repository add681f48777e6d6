"""The declaration that all tables of App. E share: runs, claims, table, pictures and remarks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.lab.declaration.texts import Item, read_sentences
from beyondkernels.papers.features.experiments import bars, pictures, tables
from beyondkernels.papers.features.experiments.bars import Sentences
from beyondkernels.papers.features.experiments.cases import Case, assumptions_of, problem_of, process_of
from beyondkernels.papers.features.paper import PAPER

ROUNDING = (
    "Here the weight decay cancels the initial weights exactly. In single precision its rounding error is larger than "
    "the step. How the printed value came about is not known."
)
SMOKE: dict[str, Any] = {
    "dim": (30,),
    "patterns": 12,
    "relevant": 3,
    "pairs": (6,),
    "samples": (400,),
    "steps": 12,
    "batch": 100,
    "seeds": 2,
    "test_samples": 200,
    "tolerance": 1e-3,
    "ridges": (1e-2, 1e-1),
}
"""What all tables but the first have at smoke scale, unless they say otherwise."""
WITH_CONVERGED = (*tables.TRAINED, *tables.UNSTRUCTURED.values(), *tables.CONVERGED, "Linear", "Constant")
"""The paper's methods, those without structure, converged classifiers, and baselines."""


def scales(**differs: Any) -> dict[str, lab.Scale]:
    """The scales of all tables but the first, and what a table has otherwise at smoke scale."""
    return {"laptop": lab.scale(seeds=3), "smoke": lab.scale(**SMOKE | differs)}


GROWING: dict[str, Any] = {"ridge_limits": SMOKE["ridges"]}
"""What tables whose ridges grow have at smoke scale, where they do not."""


class PaperTable(lab.Experiment):
    """A table of App. E. A subclass names its settings, whose ``cases`` are the table's blocks, and its methods."""

    quantities = {
        **tables.ACCURACIES,
        "cosine": lab.Quantity("largest cosine", ".3f", (-1.0, 1.0), heading="Cosine"),
        **{f"cosine_either_step{i}": lab.Quantity("largest |cosine|", ".3f", lab.SHARE) for i in (1, 2)},
        "gained": lab.Quantity("way from the constant classifier to 100 %", within=(-math.inf, 100.0), unit="%"),
        "duality_gap": lab.Quantity("relative duality gap", ".1e", lab.NON_NEGATIVE, heading="Largest relative gap"),
    }
    printed = ""
    """What the table is called among the published numbers; nothing where nothing is printed."""
    methods = (*WITH_CONVERGED, tables.TWO_STEP)
    columns = ("train_accuracy", "test_accuracy")
    """What the table shows of each block, beside the cosine."""

    @property
    def printed_columns(self) -> tuple[str, ...]:
        """Of these, what the paper prints."""
        return (*PaperTable.columns, "cosine") if self.printed else ()

    most_neurons = 100
    """How many neurons a picture of directions shows; None for all."""

    def spec(self, s: Any, at: lab.At) -> bk.store.RunSpec:
        case = self.case(s, at)
        if at.method in tables.FEATURES or at.method == "Linear":
            return tables.converged_spec(case, at, tolerance=s.tolerance, validation=s.validation, **self.ridges(s))
        return tables.spec(case, at)

    def ridges(self, s: Any) -> dict[str, Any]:
        """The grid of ridges of converged classifiers, and how far it grows."""
        smallest, largest = getattr(s, "ridge_limits", (s.ridges[0], s.ridges[-1]))
        return {"ridges": s.ridges, "smallest": smallest, "largest": largest}

    def row(self, s: Any, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
        case = self.case(s, at)
        found = tables.row(case, outcome)
        return found | {"gained": bars.gained(case, at.method, found["test_accuracy"])}

    def runs(self, s: Any) -> list[lab.Runs]:
        names = list(s.cases())
        over = {} if names == [""] else {"case": names}
        return [lab.Runs(self.spec, {**over, "method": list(self.methods)}, self.row)]

    def claims(self, s: Any) -> list[lab.Statement]:
        causes = read_sentences(self._text_path())["Causes"]
        made = []
        for case in s.cases().values():
            for said in self.claims_of(Sentences(self.printed, case, self.methods)):
                name = f"{case.short}-{said.id}" if case.name else said.id
                text = f"{case.name}: {said.text}" if case.name else said.text
                made.append(replace(said, id=name, text=text, **_reason(causes.get(name, causes.get(said.id)))))
        return made

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        return [*block.of_parity(), *block.ahead()]

    def table(self, s: Any) -> lab.Table:
        shown = (*self.columns, *(("cosine",) if self.printed else ()))
        columns = [self._column(case, name) for case in s.cases().values() for name in shown]
        if set(self.methods) & set(tables.FEATURES):
            columns.append(lab.Shown("duality_gap", show="largest"))
        return lab.Table(["method"], columns, where={"method": list(self.methods)})

    def figures(self, s: Any) -> list[lab.Picture]:
        cases = list(s.cases().values())
        return [*map(self._accuracy, cases), *map(self._directions, cases), self._dotted(s)]

    def remarks(self, s: Any) -> list[str]:
        told = []
        for case in s.cases().values():
            assumptions = assumptions_of(problem_of(case, 0))
            hypotheses = "; ".join(map(str, process_of(case, 0).hypotheses))
            words = (
                f"The data against the paper's assumptions: {assumptions}.",
                f"Theorem 26 at these numbers, its hidden constants taken as one, δ = ε = 0.1: {hypotheses}.",
                Sentences(self.printed, case, self.methods).beaten() if self.printed else "",
            )
            told += [f"{case.name}: {each}" if case.name else each for each in words if each]
        return told

    def case(self, s: Any, at: lab.At) -> Case:
        return s.cases()[at.get("case", "")]

    def _column(self, case: Case, column: str) -> lab.Shown:
        s, heading = case.numbers, self.quantities[column].column_heading
        memorise = (
            f"Our rates are for data with structure: {s.steps} steps of them need not memorise {s.samples:,} points."
        )
        known = {"train_accuracy": {"Network w/o structure": memorise}, "cosine": {"One Step": ROUNDING}}
        return lab.Shown(
            column,
            f"{case.name}: {heading}" if case.name else "",
            where=case.where,
            paper=PAPER.printed_by_method(self.printed, column, case.name) if column in self.printed_columns else None,
            tolerance=0.01 if column == "cosine" else 2.0,
            why=known.get(column, {}),
        )

    def _accuracy(self, case: Case) -> lab.OverTime:
        linear, floor = problem_of(case, 0).linear_accuracy, min(45.0, case.constant() - 5)
        return lab.OverTime(
            _name("accuracy", case),
            case.titled("Test accuracy over steps"),
            "The readout's steps are large at first and fade, so that curves may swing before they settle. The axis "
            f"is cut at {floor:g} %.",
            y="test_accuracy",
            factor=100,
            line="method",
            where={"method": [*tables.TRAINED, *tables.UNSTRUCTURED.values()], **case.where},
            y_limits=(floor, 102),
            levels={} if linear is None else {"best linear classifier": 100 * linear},
        )

    def _directions(self, case: Case) -> lab.Drawn:
        drawn = f" {self.most_neurons} neurons at most are drawn." if self.most_neurons else ""
        return lab.Drawn(
            _name("directions", case),
            case.titled("Where the neurons point"),
            f"{pictures.DOTS} The stars are the ground truth ±Σ Mⱼ. Coloured dots are the neurons nearest to a star "
            f"after step two. First seed.{drawn}",
            "The directions of the neurons at initialisation, after step one and after step two, with the ground truth "
            "as two stars",
            pictures.two_steps(
                ("+Σ Mⱼ", "−Σ Mⱼ"),
                lambda cosines: f"largest cosine {abs(cosines).max():.3f}",
                lambda cosines: 0.9 * abs(cosines).max(),
                "nearest after step two",
                self.most_neurons,
                **case.where,
            ),
        )

    def _dotted(self, s: Any) -> lab.Dotted:
        table, cases = self.table(s), s.cases()
        scopes: dict[str, lab.Scope] = {}
        for key, shown in zip(table.keys, table.shown, strict=True):
            label = self.quantities[shown.column].axis_label
            if shown.column == "test_accuracy":
                case = cases[shown.where.get("case", "")]
                printed = [value for value in (shown.paper or {}).values() if isinstance(value, float)]
                floor = min(48.0, case.constant() - 12, *printed) - 3
                scopes[key] = lab.Scope((floor, 102.0), case.constant(), case.titled(label))
            elif shown.column == "cosine" and len(cases) == 1:  # there is room for two panels
                scopes[key] = lab.Scope((0.0, 1.02), label=label)
        return lab.Dotted(
            "table",
            "The table as a picture",
            "Dots are means over seeds, bars reach from the lowest to the highest seed. Chance is the constant "
            "classifier on the data with structure.",
            "A row of dots for each method: measured and published values",
            table,
            scopes,
        )


def _reason(cause: Item | None) -> dict[str, Any]:
    """Why a claim does not hold, should it not. Tables share the sentences of claims, but causes are their own."""
    return {"cause": cause.mark, "because": cause.words} if cause else {}


def _name(name: str, case: Case) -> str:
    return f"{name}-{case.short}" if case.name else name
