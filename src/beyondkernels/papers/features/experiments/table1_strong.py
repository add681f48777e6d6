"""Table 1 with the strongest fixed features: converged classifiers instead of 600 steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from beyondkernels.core.constraints import between
from beyondkernels.lab import At, Picture, Scale, Size, Statement, setting
from beyondkernels.papers.features.experiments import converged, tables
from beyondkernels.papers.features.experiments.cases import Case, TableSettings
from beyondkernels.papers.features.experiments.converged import CONVERGED
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.experiments.table1 import Table1
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec


@dataclass(frozen=True)
class StrongSettings(TableSettings):
    """Table 1's numbers, and how far the classifiers converge."""

    tolerance: Size = setting(
        1e-4, "ours", "relative duality gap of every fit; at 1e-3 a half-solved fit can win the choice"
    )
    validation: Annotated[float, between(0, 1, "()")] = setting(
        0.2, "ours", "share of the training sample on which the ridge is chosen"
    )


class Table1Strong(PaperTable):
    """The Network of Table 1 against converged classifiers on fixed features."""

    id: ClassVar[str] = "features/table1-strong"
    reference = PAPER.at("App. E.1.1, Table 1; Theorem 2")
    text_file: ClassVar[str] = "table1_strong.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 1.0, "laptop": 150.0, "paper": 150.0}
    settings_class: ClassVar[type] = StrongSettings
    scales: ClassVar[Mapping[str, Scale]] = Table1.scales
    methods: ClassVar[Sequence[str]] = ("Network", *CONVERGED, "Linear", "Constant")

    def spec(self, s: StrongSettings, at: At) -> RunSpec:
        """The Network and the constant as in Table 1, and a converged classifier on each feature map."""
        case = self.case(s, at)
        if at.method in ("Network", "Constant"):
            return tables.spec(case, at)
        return converged.spec(case, at, s.tolerance, s.validation)

    def claims_of(self, case: Case, where: Mapping[str, str]) -> list[Statement]:
        """The Network is ahead of each."""
        return converged.claims(**where)

    def figures(self, s: StrongSettings) -> list[Picture]:
        """The table as a picture."""
        return [self._dotted(s)]

    def remarks(self, s: Any) -> list[str]:
        """Those of Table 1 stand there."""
        return []
