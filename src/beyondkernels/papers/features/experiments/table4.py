"""Table 4 and Figures 11, 12: more points of class −1 than of class +1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from beyondkernels import lab
from beyondkernels.core.constraints import between, not_empty
from beyondkernels.papers.features.experiments import paper_table
from beyondkernels.papers.features.experiments.cases import LISTS, Case, CasesSettings, Numbers
from beyondkernels.papers.features.paper import PAPER


@dataclass(frozen=True)
class Table4Settings(CasesSettings):
    varied = ("negative_ratio", "ratio")
    lists = (*LISTS, "negative_ratio")

    negative_ratio: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = lab.setting(
        (0.8, 0.9),
        "paper",
        "class −1 among all points. The paper says so of the training sample; here the test sample has it too",
    )

    def case(self, name: str, numbers: Numbers, at: Mapping[str, Any]) -> Case:
        return replace(super().case(name, numbers, at), negative_ratio=at["negative_ratio"])


class Table4(paper_table.PaperTable):
    id = "features/table4"
    reference = PAPER.at("App. E.2.2, Table 4, Figures 11 and 12; App. F.1.1")
    seconds_per_run = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    settings_class = Table4Settings
    scales = paper_table.scales()
    printed = "table4"
