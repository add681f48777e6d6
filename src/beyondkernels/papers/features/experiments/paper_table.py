"""The declaration that all tables of App. E share: runs, claims, table, pictures and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from beyondkernels.lab import At, Dotted, Drawn, Experiment, OverTime, Picture, Runs, Scope, Shown, Statement, Table
from beyondkernels.papers.features.experiments import bars, converged, pictures, tables
from beyondkernels.papers.features.experiments.cases import Case, problem_of, process_of
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

ROUNDING = (
    "Here the weight decay cancels the initial weights exactly. In single precision its rounding error is larger than "
    "the step. How the printed value came about is not known."
)
SMOKE = {
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
"""What the tables with parity labels have at smoke scale."""
WITH_CONVERGED = (*tables.TRAINED, *tables.UNSTRUCTURED.values(), *converged.CONVERGED, "Linear", "Constant")
"""The paper's methods, those without structure, converged classifiers, and baselines."""


class PaperTable(Experiment):
    """A table of App. E. A subclass names its settings, whose ``cases`` are the table's blocks, and its methods."""

    printed: ClassVar[str] = ""
    """What the table is called among the published numbers; nothing where nothing is printed."""
    methods: ClassVar[Sequence[str]] = WITH_CONVERGED
    most_neurons: ClassVar[int | None] = 100
    """How many neurons a picture of directions shows; None for all."""

    def spec(self, s: Any, at: At) -> RunSpec:
        """The run of a method."""
        case = self.case(s, at)
        if at.method in converged.CONVERGED or at.method == "Linear":
            limits = {"ridges": s.ridges, "smallest": s.ridges[0], "largest": s.ridges[-1]}
            return converged.spec(case, at, s.tolerance, s.validation, **limits)
        return tables.spec(case, at)

    def row(self, s: Any, at: At, outcome: Outcome) -> dict[str, Any]:
        """What the table shows of a run."""
        case = self.case(s, at)
        found = tables.row(case, at, outcome) | converged.row(outcome)
        return found | {"gained": bars.gained(case, at.method, found["test_accuracy"])}

    def runs(self, s: Any) -> list[Runs]:
        """Every method with every seed, in every case."""
        return [Runs(self.spec, {**self._over(s), "method": list(self.methods)}, self.row)]

    def claims(self, s: Any) -> list[Statement]:
        """The table's sentences, in every case."""
        return [
            self._said_of(case, statement)
            for case in s.cases().values()
            for statement in self.claims_of(case, self._where(case))
        ]

    def claims_of(self, case: Case, where: Mapping[str, str]) -> list[Statement]:
        """The sentences of a table with parity labels."""
        return [*bars.claims(self.printed, case, where), *converged.claims(**where)]

    def table(self, s: Any) -> Table:
        """A line for each method beside the printed values."""
        columns = [
            Shown(
                quantity,
                f"{case.name}: {heading}" if case.name else heading,
                form,
                where=self._where(case),
                paper=PAPER.printed_by_method(self.printed, quantity, case.name) if self.printed else None,
                tolerance=near,
                why=why,
            )
            for case in s.cases().values()
            for quantity, heading, form, near, why in self._quantities(case)
        ]
        if set(self.methods) & set(converged.CONVERGED):
            columns.append(Shown("duality_gap", "Largest relative gap", ".1e", show="largest"))
        return Table({"method": "Method"}, columns, where={"method": list(self.methods)})

    def figures(self, s: Any) -> list[Picture]:
        """Accuracy over steps and neuron directions of every case, and the table as a picture."""
        cases = list(s.cases().values())
        return [*map(self._accuracy, cases), *map(self._directions, cases), self._dotted(s)]

    def remarks(self, s: Any) -> list[str]:
        """How the problem stands to the paper's assumptions and to Theorem 26, and what trivial classifiers reach."""
        return [remark for case in s.cases().values() for remark in self._remarks(case)]

    def case(self, s: Any, at: At) -> Case:
        """The case a run belongs to."""
        return s.cases()[at.get("case", "")]

    def _over(self, s: Any) -> dict[str, list[str]]:
        names = list(s.cases())
        return {} if names == [""] else {"case": names}

    def _where(self, case: Case) -> dict[str, str]:
        return {"case": case.name} if case.name else {}

    def _said_of(self, case: Case, statement: Statement) -> Statement:
        if not case.name:
            return statement
        short = case.name.replace(" = ", "").replace(".", "_")
        return replace(statement, id=f"{short}-{statement.id}", text=f"{case.name}: {statement.text}")

    def _quantities(self, case: Case) -> list[tuple[str, str, str, float, Mapping[str, str]]]:
        s = case.numbers
        memorise = (
            f"Our rates are for data with structure: {s.steps} steps of them need not memorise {s.samples:,} points."
        )
        accuracy = [
            ("train_accuracy", "Train (%)", ".1f", 2.0, {"Network w/o structure": memorise}),
            ("test_accuracy", "Test (%)", ".1f", 2.0, {}),
        ]
        return [*accuracy, ("cosine", "Cosine", ".3f", 0.01, {"One Step": ROUNDING})] if self.printed else accuracy

    def _accuracy(self, case: Case) -> OverTime:
        linear = problem_of(case, 0).linear_accuracy
        floor = min(45.0, case.data.constant(case.numbers) - 5)
        return OverTime(
            self._name("accuracy", case),
            self._titled("Test accuracy over steps", case),
            "The readout's steps are large at first and fade, so that curves may swing before they settle. The axis "
            f"is cut at {floor:g} %.",
            "Test accuracy of eight methods against the step on a logarithmic axis",
            y="test_accuracy",
            factor=100,
            line="method",
            where={"method": [*tables.TRAINED, *tables.UNSTRUCTURED.values()], **self._where(case)},
            x_label="step",
            y_label="test accuracy (%)",
            x_scale="log",
            y_limits=(floor, 102),
            levels={} if linear is None else {"best linear classifier": 100 * linear},
        )

    def _directions(self, case: Case) -> Drawn:
        drawn = f" {self.most_neurons} neurons at most are drawn." if self.most_neurons else ""
        return Drawn(
            self._name("directions", case),
            self._titled("Where the neurons point", case),
            "Each dot is a neuron, placed by classical multidimensional scaling of the cosine distance. The stars are "
            "the ground truth ±Σ Mⱼ. Coloured dots are the neurons nearest to a star after step two. First seed."
            f"{drawn}",
            "The directions of the neurons at initialisation, after step one and after step two, with the ground truth "
            "as two stars",
            pictures.neuron_directions(self._where(case), self.most_neurons),
        )

    def _dotted(self, s: Any) -> Dotted:
        table, cases = self.table(s), s.cases()
        scopes: dict[str, Scope] = {}
        for key, shown in zip(table.keys, table.columns, strict=True):
            if shown.column == "test_accuracy":
                case = cases[shown.where.get("case", "")]
                constant = case.data.constant(case.numbers)
                label = self._titled("test accuracy (%)", case)
                printed = [value for value in (shown.paper or {}).values() if isinstance(value, float)]
                floor = min(48.0, constant - 12, *printed) - 3
                scopes[key] = Scope(label, (floor, 102.0), chance=constant)
            elif shown.column == "cosine" and len(cases) == 1:  # there is room for two panels
                scopes[key] = Scope("largest cosine", (0.0, 1.02))
        return Dotted(
            "table",
            "The table as a picture",
            "Dots are means over seeds, bars reach from the lowest to the highest seed. Chance is the constant "
            "classifier on the data with structure.",
            "A row of dots for each method: measured and published values",
            table,
            scopes,
        )

    def _remarks(self, case: Case) -> list[str]:
        lead = f"{case.name}: " if case.name else ""
        problem = problem_of(case, 0)
        assumptions = [str(found) for found in problem.assumptions() if found.name in ("A0", "A1", "A2")]
        hypotheses = "; ".join(str(found) for found in process_of(case, 0).hypotheses)
        beaten = bars.beaten(self.printed, case) if self.printed else ""
        return [
            f"{lead}The data against the paper's assumptions: {'; '.join(assumptions)}.",
            f"{lead}Theorem 26 at these numbers, its hidden constants taken as one, δ = ε = 0.1: {hypotheses}.",
            *([lead + beaten] if beaten else []),
        ]

    def _name(self, name: str, case: Case) -> str:
        return f"{name}-{case.name.replace(' = ', '').replace('.', '_')}" if case.name else name

    def _titled(self, title: str, case: Case) -> str:
        return f"{title}, {case.name}" if case.name else title
