"""All simulations with hidden patterns at a glance: every method on every table, with and without structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from beyondkernels import lab
from beyondkernels.core import Checked, unknown
from beyondkernels.core.constraints import not_empty
from beyondkernels.lab.report.figures import Figure, Group, Matrix
from beyondkernels.papers.features.experiments.bars import LEARNS
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.experiments.table1 import Table1
from beyondkernels.papers.features.experiments.table2 import Table2
from beyondkernels.papers.features.experiments.table3 import Table3
from beyondkernels.papers.features.experiments.table4 import Table4
from beyondkernels.papers.features.experiments.table5 import Table5
from beyondkernels.papers.features.experiments.tables import ACCURACIES, TRAINED, UNSTRUCTURED, accuracies
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

TABLES: Mapping[str, PaperTable] = {
    f"Table {i}": table() for i, table in enumerate((Table1, Table2, Table3, Table4, Table5), start=1)
}
AHEAD = 5
"""Points that count as clearly ahead."""
GROUPS = {
    "with structure": {name: name for name in TRAINED},
    "without structure": UNSTRUCTURED,
    "trivial": {"Linear": "Linear", "Const.": "Constant"},
}
"""The columns of the picture, by their headings."""
METHODS = [method for group in GROUPS.values() for method in group.values()]


@dataclass(frozen=True)
class OverviewSettings(Checked):
    """Whose runs are shown."""

    size: Literal["paper", "laptop", "smoke"] = lab.setting(
        "paper", "ours", "the scale of the tables whose runs these are"
    )
    tables: Annotated[tuple[str, ...], not_empty] = lab.setting(tuple(TABLES), "ours")
    seeds: lab.Count = lab.setting(5, "paper", "the first of every table")

    def __post_init__(self) -> None:
        for name in self.tables:
            if name not in TABLES:
                unknown("table", name, TABLES)


class Overview(lab.Experiment):
    """Every method on every table."""

    id = "features/tables"
    text_file = "overview.md"
    reference = PAPER.at("App. E.1 and E.2, Tables 1 to 5")
    quantities = ACCURACIES
    seconds_per_run = {"smoke": 0.2, "laptop": 10.0, "paper": 10.0}
    settings_class = OverviewSettings
    scales = {
        "laptop": lab.scale(size="laptop", seeds=3),
        "smoke": lab.scale(size="smoke", tables=("Table 2", "Table 3"), seeds=2),
    }

    def runs(self, s: OverviewSettings) -> list[lab.Runs]:
        """Those of the tables."""
        return [
            lab.Runs(
                spec, {"setting": list(places(s)), "method": METHODS}, lambda _s, _at, outcome: accuracies(outcome)
            )
        ]

    def claims(self, s: OverviewSettings) -> list[lab.Statement]:
        """What holds on all tables, and what on all with parity labels."""
        parity = [name for name, (table, *_) in places(s).items() if table is not TABLES["Table 2"]]
        network = lab.of("test_accuracy", "setting", method="Network", setting=parity)
        return [
            lab.claim(
                "network",
                f"On every table the Network's test accuracy is at least {LEARNS} %",
                lab.of("test_accuracy", "setting", method="Network"),
                lab.AtLeast(LEARNS),
            ),
            *(
                lab.claim(
                    method.lower().replace(" ", "-"),
                    f"With parity labels the Network is ahead of {method} by at least {AHEAD} points",
                    network - lab.of("test_accuracy", "setting", method=method, setting=parity),
                    lab.AtLeast(AHEAD),
                )
                for method in ("NTK", "RF", "One Step", "Network w/o structure")
                if parity
            ),
        ]

    def table(self, s: OverviewSettings) -> lab.Table:
        """A line for each block of a table."""
        return lab.Table(["setting"], [lab.Shown("test_accuracy", each, where={"method": each}) for each in METHODS])

    def figures(self, s: OverviewSettings) -> list[lab.Picture]:
        """One."""
        return [
            lab.Drawn(
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


def spec(s: OverviewSettings, at: lab.At) -> RunSpec:
    """The table's own run."""
    table, settings, case = places(s)[at.setting]
    return table.spec(settings, lab.At(**({"case": case} if case else {}), method=at.method, seed=at.seed))


def picture(drawn: lab.Drawn, rows: lab.Rows) -> list[Figure]:
    """The grid of means."""
    names = list(dict.fromkeys(rows["setting"])) if len(rows) else []

    def mean(name: str, method: str) -> float | None:
        there = lab.select(rows, {"setting": name, "method": method})["test_accuracy"].dropna()
        return float(there.mean()) if len(there) else None

    groups = [
        Group(title, list(columns), [[mean(name, method) for method in columns.values()] for name in names])
        for title, columns in GROUPS.items()
    ]
    return [Matrix(**drawn.words, rows=names, groups=groups, limits=(50.0, 100.0), format=".1f")] if names else []
