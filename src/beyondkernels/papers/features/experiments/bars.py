"""What the tables of App. E say, as claims with their bars, and which printed rows a trivial classifier beats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beyondkernels import lab
from beyondkernels.lab.report.claims import Condition, PaperKind
from beyondkernels.papers.features.experiments.cases import Case, problem_of
from beyondkernels.papers.features.experiments.tables import CONVERGED, TRAINED, UNSTRUCTURED
from beyondkernels.papers.features.paper import PAPER

LEARNS = 99.5  # percent that count as learnt; the paper prints 100.0
FAILS, WITHOUT = 0.20, 0.12
"""How far a method that fails, and one without structure, may come from the constant classifier towards 100 %."""
NEAR = 10  # points by which a method that is trained halfway may be off the printed value
AHEAD = 3  # points by which the Network has to be ahead of converged classifiers
ALIGNED = 0.99  # the cosine that the paper names for step two
SECTIONS = {"table1": "E.1.1", "table2": "E.1.2", "table3": "E.2.1", "table4": "E.2.2", "table5": "E.2.3"}
"""Where the paper says in words what a table shows."""


@dataclass(frozen=True)
class Sentences:
    """What can be said of one block of a table, by the table's name among the published numbers."""

    printed: str
    case: Case

    def of_parity(self, ranges: Mapping[str, tuple[float, float]] | None = None) -> list[lab.Statement]:
        """Those of a table with parity labels; RF and NTK may have ranges other than near the printed value."""
        without = self._capped(WITHOUT, structured=False)
        words = f"Without input structure {{}} stays at or below {without} %"
        return [
            *self.learn(),
            self.one_step(),
            *(self.as_trained(name, (ranges or {}).get(name)) for name in ("RF", "NTK")),
            self.aligned(),
            *(
                self._accuracy(
                    method, words.format(name), lab.AtMost(without), f"{name.lower()}-unstructured", "sentence"
                )
                for name, method in UNSTRUCTURED.items()
            ),
        ]

    def learn(self, *methods: str) -> list[lab.Statement]:
        """The Network and Two Step learn, and other methods where the paper says so."""
        called = {"Network": "The Network's"} | {name: f"{name}'s" for name in ("Two Step", *methods)}
        return [
            self._accuracy(name, f"{words} test accuracy is at least {LEARNS} %", lab.AtLeast(LEARNS))
            for name, words in called.items()
        ]

    def one_step(self) -> lab.Statement:
        return self._fails("One Step", "One Step, its readout trained by the Network's own schedule,")

    def as_trained(self, method: str, between: tuple[float, float] | None = None) -> lab.Statement:
        """A fixed-feature method is near the printed value; it fails to learn, where a constant does as well."""
        value, constant = self._printed.get(method), self.case.constant()
        middle = round(constant if value is None else value)
        low, high = between or (middle - NEAR, min(100, middle + NEAR))
        if constant >= low:
            return self._fails(method, f"{method} as trained")
        return self._accuracy(method, f"{method} as trained lies between {low} and {high} %", lab.Between(low, high))

    def aligned(self) -> lab.Statement:
        return lab.claim(
            "cosine",
            f"After step two the best aligned neuron has a cosine of at least {ALIGNED} with ±Σ Mⱼ",
            lab.of("cosine_either_step2", method="Network", **self.case.where),
            lab.AtLeast(ALIGNED),
            paper=PAPER.printed_by_method(self.printed, "cosine", self.case.name).get("Network"),
            **self.stated("sentence"),
        )

    def ahead(self) -> list[lab.Statement]:
        return [
            lab.claim(
                name.lower().replace(" ", "-"),
                f"The Network's test accuracy is ahead of the {name[0].lower() + name[1:]} by at least {AHEAD} points",
                self._measured("Network") - self._measured(name),
                lab.AtLeast(AHEAD),
                kind="control",
            )
            for name in CONVERGED
        ]

    def beaten(self) -> str:
        """Which printed test accuracies lie below those of trivial classifiers; nothing if none does."""
        told = []
        for structured, methods in ((True, TRAINED), (False, tuple(UNSTRUCTURED.values()))):
            problem = problem_of(self.case, 0, structured)
            trivial = {"constant": problem.constant_accuracy, "best linear": problem.linear_accuracy}
            data = "" if structured else " on the data without structure"
            found = {name: value for name in methods if (value := self._printed.get(name)) is not None}
            for kind, share in trivial.items():
                percent = -1.0 if share is None else 100 * share
                low = [f"{name} ({value:g} %)" for name, value in found.items() if value < percent]
                words = f"The {kind} classifier is right on {percent:.1f} %{data}, above {', '.join(low)}."
                told += [words] if low else []
        return f"What trivial classifiers reach against what is printed: {' '.join(told)}" if told else ""

    def stated(self, kind: PaperKind) -> dict[str, Any]:
        """The kind of a claim of the paper's and where it stands: a number in the table, a sentence beside it."""
        table = f"Table {self.printed.removeprefix('table')}"
        return {"kind": kind, "place": table if kind == "number" else f"App. {SECTIONS[self.printed]}"}

    @property
    def _printed(self) -> dict[str, float | None]:
        return PAPER.printed_by_method(self.printed, "test_accuracy", self.case.name)

    def _measured(self, method: str) -> lab.Value:
        return lab.of("test_accuracy", method=method, **self.case.where)

    def _accuracy(
        self, method: str, text: str, test: Condition, name: str = "", kind: PaperKind = "number"
    ) -> lab.Statement:
        name, paper = name or method.lower().replace(" ", "-"), self._printed.get(method)
        return lab.claim(name, text, self._measured(method), test, paper=paper, **self.stated(kind))

    def _fails(self, method: str, words: str) -> lab.Statement:
        most = self._capped(FAILS)
        return self._accuracy(method, f"{words} stays at or below {most} %", lab.AtMost(most), kind="sentence")

    def _capped(self, share: float, structured: bool = True) -> int:
        constant = self.case.constant(structured)
        return round(constant + share * (100 - constant))


def gained(case: Case, method: str, percent: float | None) -> float | None:
    """How far a method comes from the constant classifier of its data towards 100 %, in percent of the way."""
    constant = case.constant(method not in UNSTRUCTURED.values())
    return None if percent is None else 100 * (percent - constant) / (100 - constant)
