"""All simulations with hidden patterns at a glance: every method on every table, with and without structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from beyondkernels.core import Checked, unknown
from beyondkernels.core.constraints import not_empty
from beyondkernels.lab import (
    At,
    AtLeast,
    Count,
    Drawn,
    Experiment,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
    select,
    setting,
)
from beyondkernels.lab.report.figures import Figure, Group, Matrix
from beyondkernels.papers.features.experiments.bars import LEARNS
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.experiments.table1 import Table1
from beyondkernels.papers.features.experiments.table2 import Table2
from beyondkernels.papers.features.experiments.table3 import Table3
from beyondkernels.papers.features.experiments.table4 import Table4
from beyondkernels.papers.features.experiments.table5 import Table5
from beyondkernels.papers.features.experiments.tables import TRAINED, UNSTRUCTURED, accuracies
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

TABLES: Mapping[str, PaperTable] = {
    "Table 1": Table1(),
    "Table 2": Table2(),
    "Table 3": Table3(),
    "Table 4": Table4(),
    "Table 5": Table5(),
}
AHEAD = 5
"""Points that count as clearly ahead."""
GROUPS = {
    "with structure": {name: name for name in TRAINED},
    "without structure": UNSTRUCTURED,
    "trivial": {"Linear": "Linear", "Const.": "Constant"},
}
"""The columns of the picture, by their headings."""


@dataclass(frozen=True)
class OverviewSettings(Checked):
    """Whose runs are shown."""

    size: Literal["paper", "laptop", "smoke"] = setting("paper", "ours", "the scale of the tables whose runs these are")
    tables: Annotated[tuple[str, ...], not_empty] = setting(tuple(TABLES), "ours")
    seeds: Count = setting(5, "paper", "the first of every table")

    def __post_init__(self) -> None:
        for name in self.tables:
            if name not in TABLES:
                unknown("table", name, TABLES)


class Overview(Experiment):
    """Every method on every table."""

    id: ClassVar[str] = "features/tables"
    text_file: ClassVar[str] = "overview.md"
    reference = PAPER.at("App. E.1 and E.2, Tables 1 to 5")
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.2, "laptop": 10.0, "paper": 10.0}
    settings_class: ClassVar[type] = OverviewSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(size="laptop", seeds=3),
        "smoke": scale(size="smoke", tables=("Table 2", "Table 3"), seeds=2),
    }

    def runs(self, s: OverviewSettings) -> list[Runs]:
        """Those of the tables."""
        methods = [method for group in GROUPS.values() for method in group.values()]
        return [Runs(spec, {"setting": list(places(s)), "method": methods}, row)]

    def claims(self, s: OverviewSettings) -> list[Statement]:
        """What holds on all tables, and what on all with parity labels."""
        parity = [name for name, (table, *_) in places(s).items() if table is not TABLES["Table 2"]]
        network = of("test_accuracy", "setting", method="Network", setting=parity)
        return [
            claim(
                "network",
                f"On every table the Network's test accuracy is at least {LEARNS} %",
                of("test_accuracy", "setting", method="Network"),
                AtLeast(LEARNS),
                unit="%",
            ),
            *(
                claim(
                    method.lower().replace(" ", "-"),
                    f"With parity labels the Network is ahead of {method} by at least {AHEAD} points",
                    network - of("test_accuracy", "setting", method=method, setting=parity),
                    AtLeast(AHEAD),
                    unit="points",
                )
                for method in ("NTK", "RF", "One Step", "Network w/o structure")
                if parity
            ),
        ]

    def table(self, s: OverviewSettings) -> Table:
        """A line for each block of a table."""
        return Table(
            {"setting": "Setting"},
            [
                Shown("test_accuracy", method, ".1f", where={"method": method})
                for group in GROUPS.values()
                for method in group.values()
            ],
        )

    def figures(self, s: OverviewSettings) -> list[Picture]:
        """One."""
        return [
            Drawn(
                "accuracies",
                "Test accuracy of every method on every table",
                "Means over seeds, in percent. Linear is the converged linear classifier of the input, Const. the "
                "majority class; both are on the data with structure.",
                "A grid of test accuracies: a row for each table and setting, a column for each method, in groups with "
                "and without input structure",
                picture,
            )
        ]


def places(s: OverviewSettings) -> dict[str, tuple[PaperTable, Any, str]]:
    """By name each block of a table: its experiment, the settings, and the case."""
    found = {}
    for name in s.tables:
        table = TABLES[name]
        settings = table.settings(s.size)
        for case in settings.cases():
            found[f"{name}, {case}" if case else name] = (table, settings, case)
    return found


def spec(s: OverviewSettings, at: At) -> RunSpec:
    """The table's own run."""
    table, settings, case = places(s)[at.setting]
    return table.spec(settings, At(**({"case": case} if case else {}), method=at.method, seed=at.seed))


def row(s: OverviewSettings, at: At, outcome: Outcome) -> dict[str, float | None]:
    """Accuracies in percent."""
    return accuracies(outcome)


def picture(drawn: Drawn, rows: Rows) -> list[Figure]:
    """The grid of means."""
    names = list(dict.fromkeys(rows["setting"])) if len(rows) else []
    if not names:
        return []

    def mean(name: str, method: str) -> float | None:
        there = select(rows, {"setting": name, "method": method})["test_accuracy"].dropna()
        return float(there.mean()) if len(there) else None

    groups = [
        Group(title, list(columns), [[mean(name, method) for method in columns.values()] for name in names])
        for title, columns in GROUPS.items()
    ]
    return [Matrix(**drawn.words, rows=names, groups=groups, limits=(50.0, 100.0), format=".1f")]
