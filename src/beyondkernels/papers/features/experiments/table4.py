"""Table 4 and Figures 11, 12: more points of class −1 than of class +1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from beyondkernels.core.constraints import between, not_empty
from beyondkernels.lab import Scale, scale, setting
from beyondkernels.papers.features.experiments.cases import Case, CasesSettings, Numbers, Parity
from beyondkernels.papers.features.experiments.paper_table import SMOKE, PaperTable
from beyondkernels.papers.features.paper import PAPER


@dataclass(frozen=True)
class Table4Settings(CasesSettings):
    """The numbers of Table 4; the defaults are the paper's."""

    varied: ClassVar[tuple[str, str]] = ("negative_ratio", "ratio")

    negative_ratio: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = setting(
        (0.8, 0.9),
        "paper",
        "class −1 among all points. The paper says so of the training sample; here the test sample has it too",
    )

    def case(self, name: str, numbers: Numbers, at: Mapping[str, Any]) -> Case:
        """Parity labels with a class ratio."""
        return replace(super().case(name, numbers, at), data=Parity(at["negative_ratio"]))

    def lists(self) -> dict[str, tuple[Any, ...]]:
        """The ratio too has a number for each case."""
        return super().lists() | {"negative_ratio": self.negative_ratio}


class Table4(PaperTable):
    """Parity labelling with unequal classes."""

    id: ClassVar[str] = "features/table4"
    reference = PAPER.at("App. E.2.2, Table 4, Figures 11 and 12; App. F.1.1")
    text_file: ClassVar[str] = "table4.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    settings_class: ClassVar[type] = Table4Settings
    scales: ClassVar[Mapping[str, Scale]] = {"laptop": scale(seeds=3), "smoke": scale(**{**SMOKE, "dim": (30,)})}
    printed: ClassVar[str] = "table4"
