"""Table 1 and Figures 1, 2, 5, 6: the network learns the parity, fixed features do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from beyondkernels.lab import At, Drawn, Picture, Scale, Statement, scale
from beyondkernels.papers.features.experiments import bars, pictures, tables
from beyondkernels.papers.features.experiments.cases import Case, TableSettings
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

SMOKE = scale(dim=30, patterns=20, relevant=3, pairs=16, samples=2000, steps=40, batch=200, seeds=2, test_samples=1000)


class Table1(PaperTable):
    """Parity labelling with six methods and their counterparts without structure."""

    id: ClassVar[str] = "features/table1"
    reference = PAPER.at("App. E.1.1, Table 1, Figures 1, 2, 5 and 6")
    text_file: ClassVar[str] = "table1.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.3, "laptop": 15.0, "paper": 15.0}
    settings_class: ClassVar[type] = TableSettings
    scales: ClassVar[Mapping[str, Scale]] = {"smoke": SMOKE}
    printed: ClassVar[str] = "table1"
    methods: ClassVar[Sequence[str]] = tuple(tables.METHODS)
    most_neurons: ClassVar[int | None] = None

    def spec(self, s: TableSettings, at: At) -> RunSpec:
        """Without converged versions: these stand in features/table1-strong."""
        return tables.spec(self.case(s, at), at)

    def claims_of(self, case: Case, where: Mapping[str, str]) -> list[Statement]:
        """The table's sentences; where NTK must lie was set before there were other tables."""
        return bars.claims(self.printed, case, where, {"NTK": (70, 95)})

    def figures(self, s: Any) -> list[Picture]:
        """As in every table, and how all neurons are aligned."""
        *others, table = super().figures(s)
        cosines = Drawn(
            "cosines",
            "Alignment of all neurons with the ground truth",
            "Distribution of |cos(wᵢ, Σ Mⱼ)| over the neurons of the first seed.",
            "Three distributions of cosines: at initialisation, after step one and after step two",
            pictures.cosine_distribution,
        )
        return [*others, cosines, table]
