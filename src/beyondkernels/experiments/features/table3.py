"""Table 3 and Figures 9, 10: other input dimensions, and what single precision makes of step one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from beyondkernels.core import Reference
from beyondkernels.experiments.features.cases import CasesSettings, Several
from beyondkernels.experiments.features.paper_table import SMOKE, PaperTable
from beyondkernels.frame import Scale, scale, setting


@dataclass(frozen=True)
class Table3Settings(CasesSettings):
    """The numbers of Table 3; the defaults are the paper's."""

    varied: ClassVar[tuple[str, str]] = ("dim", "d")

    dim: Several = setting((100, 2000), "paper")


class Table3(PaperTable):
    """Parity labelling at two other input dimensions."""

    id: ClassVar[str] = "features/table3"
    title: ClassVar[str] = "Parity labels at other input dimensions"
    summary: ClassVar[str] = "Table 1 with inputs of dimension {{dim}} in place of 500; all else is the same."
    reference: ClassVar[Reference] = Reference("features", "App. E.2.1, Table 3, Figures 9 and 10")
    notes_file: ClassVar[str] = "table3.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    numbers: ClassVar[type] = Table3Settings
    scales: ClassVar[Mapping[str, Scale]] = {"laptop": scale(seeds=3), "smoke": scale(**{**SMOKE, "dim": (20, 30)})}
    printed: ClassVar[str] = "table3"
