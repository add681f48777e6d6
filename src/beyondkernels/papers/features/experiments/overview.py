"""All simulations with hidden patterns at a glance: every method on every table, with and without structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import not_empty
from beyondkernels.lab.report.figures import Figure, Group, Matrix
from beyondkernels.papers.features.experiments import table1, table2, table3, table4, table5
from beyondkernels.papers.features.experiments.bars import LEARNS
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.experiments.tables import ACCURACIES, TRAINED, UNSTRUCTURED, accuracies
from beyondkernels.papers.features.paper import PAPER

TABLES: Mapping[str, PaperTable] = {
    "Table 1": table1.Table1(),
    "Table 2": table2.Table2(),
    "Table 3": table3.Table3(),
    "Table 4": table4.Table4(),
    "Table 5": table5.Table5(),
}
AHEAD = 5  # points that count as clearly ahead
GROUPS = {
    "with structure": {name: name for name in TRAINED},
    "without structure": UNSTRUCTURED,
    "trivial": {"Linear": "Linear", "Const.": "Constant"},
}
"""The columns of the picture, by their headings."""
METHODS = [method for group in GROUPS.values() for method in group.values()]


@dataclass(frozen=True)
class OverviewSettings(bk.core.Checked):
    size: Literal["paper", "laptop", "smoke"] = lab.setting(
        "paper", "ours", "the scale of the tables whose runs these are"
    )
    tables: Annotated[tuple[str, ...], not_empty] = lab.setting(tuple(TABLES), "ours")
    seeds: lab.Count = lab.setting(5, "paper", "the first of every table")

    def __post_init__(self) -> None:
        for name in self.tables:
            if name not in TABLES:
                bk.core.unknown("table", name, TABLES)


class Overview(lab.Experiment):
    id = "features/tables"
    reference = PAPER.at("App. E.1 and E.2, Tables 1 to 5")
    quantities = ACCURACIES
    seconds_per_run = {"smoke": 0.2, "laptop": 10.0, "paper": 10.0}
    settings_class = OverviewSettings
    scales = {
        "laptop": lab.scale(size="laptop", seeds=3),
        "smoke": lab.scale(size="smoke", tables=("Table 2", "Table 3"), seeds=2),
    }

    def runs(self, s: OverviewSettings) -> list[lab.Runs]:
        over = {"setting": list(places(s)), "method": METHODS}
        return [lab.Runs(spec, over, lambda _s, _at, outcome: accuracies(outcome))]

    def claims(self, s: OverviewSettings) -> list[lab.Statement]:
        parity = [name for name, (table, *_) in places(s).items() if table is not TABLES["Table 2"]]
        made = [self.claim(s, "network", lab.of("test_accuracy", "setting", method="Network"), lab.AtLeast(LEARNS))]
        for method in ("NTK", "RF", "One Step", "Network w/o structure") if parity else ():
            network, other = (
                lab.of("test_accuracy", "setting", method=each, setting=parity) for each in ("Network", method)
            )
            name = method.lower().replace(" ", "-")
            made.append(self.claim(s, name, network - other, lab.AtLeast(AHEAD), None, "ahead", method=method))
        return made

    def table(self, s: OverviewSettings) -> lab.Table:
        return lab.Table(["setting"], [lab.Shown("test_accuracy", each, where={"method": each}) for each in METHODS])

    def figures(self, s: OverviewSettings) -> list[lab.Picture]:
        return [lab.Drawn("accuracies", by=picture)]


def places(s: OverviewSettings) -> dict[str, tuple[PaperTable, Any, str]]:
    """By name each block of a table: its experiment, the settings, and the case."""
    found = {}
    for name in s.tables:
        table = TABLES[name]
        settings = table.settings(s.size)
        for case in settings.cases():
            found[f"{name}, {case}" if case else name] = (table, settings, case)
    return found


def spec(s: OverviewSettings, at: lab.At) -> bk.store.RunSpec:
    table, settings, case = places(s)[at.setting]
    return table.spec(settings, lab.At(**({"case": case} if case else {}), method=at.method, seed=at.seed))


def picture(drawn: lab.Drawn, rows: lab.Rows) -> list[Figure]:
    names = list(dict.fromkeys(rows["setting"])) if len(rows) else []

    def mean(name: str, method: str) -> float | None:
        there = lab.select(rows, {"setting": name, "method": method})["test_accuracy"].dropna()
        return float(there.mean()) if len(there) else None

    groups = [
        Group(title, list(columns), [[mean(name, method) for method in columns.values()] for name in names])
        for title, columns in GROUPS.items()
    ]
    return [Matrix(**drawn.words, rows=names, groups=groups, limits=(50.0, 100.0), format=".1f")] if names else []
