"""Table 1 with the strongest fixed features: converged classifiers instead of 600 steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from beyondkernels import lab
from beyondkernels.papers.features.experiments.bars import Sentences
from beyondkernels.papers.features.experiments.cases import Part, TableSettings
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.experiments.table1 import Table1
from beyondkernels.papers.features.experiments.tables import CONVERGED
from beyondkernels.papers.features.paper import PAPER


@dataclass(frozen=True)
class StrongSettings(TableSettings):
    tolerance: lab.Size = lab.setting(
        1e-4, "ours", "relative duality gap of every fit; at 1e-3 a half-solved fit can win the choice"
    )
    validation: Part = lab.setting(0.2, "ours", "share of the training sample on which the ridge is chosen")


class Table1Strong(PaperTable):
    id = "features/table1-strong"
    reference = PAPER.at("App. E.1.1, Table 1; Theorem 2")
    seconds_per_run = {"smoke": 1.0, "laptop": 150.0, "paper": 150.0}
    settings_class = StrongSettings
    scales = Table1.scales
    methods = ("Network", *CONVERGED, "Linear", "Constant")

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        return [*block.ahead(), replace(block, printed="table1").one_step_best()]

    def ridges(self, s: StrongSettings) -> dict[str, Any]:
        """Those that the classifier has by itself."""
        return {}

    def figures(self, s: StrongSettings) -> list[lab.Picture]:
        return [self._dotted(s)]

    def remarks(self, s: Any) -> list[str]:
        """Those of Table 1 stand there."""
        return []
