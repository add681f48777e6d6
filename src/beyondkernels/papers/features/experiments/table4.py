"""Table 4 and Figures 11, 12: more points of class −1 than of class +1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between, not_empty
from beyondkernels.papers.features.experiments import paper_table, tables
from beyondkernels.papers.features.experiments.bars import AHEAD, Sentences
from beyondkernels.papers.features.experiments.cases import LISTS, Case, GrowingSettings, Numbers, problem_of
from beyondkernels.papers.features.paper import PAPER


@dataclass(frozen=True)
class Table4Settings(GrowingSettings):
    varied = ("negative_ratio", "ratio")
    lists = (*LISTS, "negative_ratio")

    negative_ratio: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = lab.setting(
        (0.8, 0.9),
        "paper",
        "class −1 among all points. The paper says so of the training sample; here the test sample has it too",
    )

    def case(self, name: str, numbers: Numbers, at: Mapping[str, Any]) -> Case:
        return replace(super().case(name, numbers, at), negative_ratio=at["negative_ratio"], always_weighted=True)


class Table4(paper_table.PaperTable):
    id = "features/table4"
    reference = PAPER.at("App. E.2.2, Table 4, Figures 11 and 12; App. F.1.1")
    seconds_per_run = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    settings_class = Table4Settings
    scales = paper_table.scales(**paper_table.GROWING)
    printed = "table4"
    methods = (*paper_table.PaperTable.methods, *tables.WEIGHTED_AT_FIRST)
    quantities = {**paper_table.PaperTable.quantities, "best_linear": tables.percent("best linear")}
    columns = (*paper_table.PaperTable.columns, "balanced_accuracy")

    def row(self, s: Any, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
        best = problem_of(self.case(s, at), at.seed).linear_accuracy if at.method == "Constant" else None
        return super().row(s, at, outcome) | {"best_linear": None if best is None else 100 * best}

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        where = block.case.where
        network = lab.of("test_accuracy", method="Network", **where)
        best = lab.of("best_linear", method="Constant", **where)
        words = f"The Network's test accuracy is ahead of that of the best linear classifier by at least {AHEAD} points"
        return [
            *super().claims_of(block),
            lab.claim("best-linear", words, network - best, lab.AtLeast(AHEAD), kind="control"),
        ]
