"""What the tables of App. E say, as claims with their bars, and which printed rows a trivial classifier beats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beyondkernels import lab
from beyondkernels.lab.report.claims import Condition, Kind, source_of
from beyondkernels.papers.features.experiments.cases import Case, problem_of
from beyondkernels.papers.features.experiments.tables import CONVERGED, TRAINED, TWO_STEP, UNSTRUCTURED
from beyondkernels.papers.features.paper import PAPER

LEARNS = 99.5  # percent that count as learnt; the paper prints 100.0
FAILS, WITHOUT = 0.20, 0.12
"""How far a method that fails, and one without structure, may come from the constant classifier towards 100 %."""
NEAR = 10  # points by which a method that is trained halfway may be off the printed value
AHEAD = 3  # points by which the Network has to be ahead of converged classifiers
ALIGNED = 0.99  # the cosine that the paper names for step two
SECTIONS = {"table1": "E.1.1", "table2": "E.1.2", "table3": "E.2.1", "table4": "E.2.2", "table5": "E.2.3"}
"""Where the paper says in words what a table shows."""
BEST = "with the best classifier on top"


@dataclass(frozen=True)
class Sentences:
    """What can be said of one block of a table.

    Arguments:
        printed: the table's name among the published numbers.
        case: the block.
        methods: the table's rows.
    """

    printed: str
    case: Case
    methods: tuple[str, ...]

    def of_parity(self, ranges: Mapping[str, tuple[float, float]] | None = None) -> list[lab.Statement]:
        """Those of a table with parity labels; RF and NTK may have ranges other than near the printed value."""
        without = self._capped(WITHOUT, structured=False)
        words = f"Without input structure {{}} stays at or below {without} %"
        unstructured = UNSTRUCTURED["Network"]
        return [
            self.learns("Network"),
            *self.two_step(),
            *self.one_step(),
            *(self.as_trained(name, (ranges or {}).get(name)) for name in ("RF", "NTK")),
            *self.aligned(),
            *(
                self._accuracy(
                    method, words.format(name), lab.AtMost(without), f"{name.lower()}-unstructured", "sentence"
                )
                for name, method in UNSTRUCTURED.items()
            ),
            lab.claim(
                "network-fits",
                f"Without input structure the Network fits the training sample: its training accuracy is at least "
                f"{LEARNS} %",
                lab.of("train_accuracy", method=unstructured, **self.case.where),
                lab.AtLeast(LEARNS),
                paper=PAPER.printed_by_method(self.printed, "train_accuracy", self.case.name).get(unstructured),
                **self.stated("number"),
            ),
        ]

    def learns(self, method: str) -> lab.Statement:
        words = "The Network's" if method == "Network" else f"{method}'s"
        return self._accuracy(method, f"{words} test accuracy is at least {LEARNS} %", lab.AtLeast(LEARNS))

    def two_step(self) -> list[lab.Statement]:
        """The paper trains the best classifiers on its features; where these are not run, as trained is the claim."""
        if TWO_STEP not in self.methods:
            return [self.learns("Two Step")]
        learns, words = lab.AtLeast(LEARNS), "Two Step's test accuracy, {}, is at least " + f"{LEARNS} %"
        best = self._accuracy(TWO_STEP, words.format(BEST), learns, "two-step-best", paper="Two Step")
        own = words.format("its readout trained by the Network's own schedule")
        return [best, self._accuracy("Two Step", own, learns, kind="expectation")]

    def one_step(self) -> list[lab.Statement]:
        """One Step fails, as trained and, where that is run, with the best classifier on its features."""
        trained = self._fails("One Step", "One Step, its readout trained by the Network's own schedule,")
        return [trained, self.one_step_best()] if "Converged One Step" in self.methods else [trained]

    def one_step_best(self) -> lab.Statement:
        return self._fails("Converged One Step", f"One Step {BEST}", "one-step-best", paper="One Step")

    def as_trained(self, method: str, between: tuple[float, float] | None = None) -> lab.Statement:
        """A fixed-feature method is near the printed value."""
        middle = round(self._printed.get(method) or self.case.constant())
        low, high = between or (middle - NEAR, min(100, middle + NEAR))
        return self._accuracy(method, f"{method} as trained lies between {low} and {high} %", lab.Between(low, high))

    def aligned(self) -> list[lab.Statement]:
        one, two = (lab.of(f"cosine_either_step{i}", method="Network", **self.case.where) for i in (1, 2))
        stated = self.stated("sentence")
        printed = PAPER.printed_by_method(self.printed, "cosine", self.case.name).get("Network")
        words = f"After step two the best aligned neuron has a cosine of at least {ALIGNED} with ±Σ Mⱼ"
        improves = (
            "Step two improves the features: the best aligned neuron has a larger cosine with ±Σ Mⱼ than after step one"
        )
        return [
            lab.claim("cosine", words, two, lab.AtLeast(ALIGNED), printed, **stated),
            lab.claim("improves", improves, two - one, lab.Above(0.0), **stated),
        ]

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

    def stated(self, kind: Kind) -> dict[str, Any]:
        """The kind of a claim, and where the paper states it if it does: a number in the table, words beside it."""
        table = f"Table {self.printed.removeprefix('table')}"
        place = table if kind == "number" else f"App. {SECTIONS[self.printed]}"
        return {"kind": kind, "place": place if source_of(kind) == "paper" else ""}

    @property
    def _printed(self) -> dict[str, float | None]:
        return PAPER.printed_by_method(self.printed, "test_accuracy", self.case.name)

    def _measured(self, method: str) -> lab.Value:
        return lab.of("test_accuracy", method=method, **self.case.where)

    def _accuracy(
        self, method: str, text: str, test: Condition, name: str = "", kind: Kind = "number", paper: str = ""
    ) -> lab.Statement:
        name, printed = name or method.lower().replace(" ", "-"), self._printed.get(paper or method)
        return lab.claim(name, text, self._measured(method), test, paper=printed, **self.stated(kind))

    def _fails(self, method: str, words: str, name: str = "", paper: str = "") -> lab.Statement:
        most = self._capped(FAILS)
        return self._accuracy(method, f"{words} stays at or below {most} %", lab.AtMost(most), name, "sentence", paper)

    def _capped(self, share: float, structured: bool = True) -> int:
        constant = self.case.constant(structured)
        return round(constant + share * (100 - constant))


def gained(case: Case, method: str, percent: float | None) -> float | None:
    """How far a method comes from the constant classifier of its data towards 100 %, in percent of the way."""
    constant = case.constant(not method.endswith("w/o structure"))
    return None if percent is None else 100 * (percent - constant) / (100 - constant)
