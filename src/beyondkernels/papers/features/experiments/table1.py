"""Table 1 and Figures 1, 2, 5, 6: the network learns the parity, fixed features do not."""

from __future__ import annotations

from typing import Any

from beyondkernels import lab
from beyondkernels.papers.features.experiments import pictures, tables
from beyondkernels.papers.features.experiments.bars import Sentences
from beyondkernels.papers.features.experiments.cases import TableSettings
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

SMOKE = lab.scale(
    dim=30, patterns=20, relevant=3, pairs=16, samples=2000, steps=40, batch=200, seeds=2, test_samples=1000
)


class Table1(PaperTable):
    """Parity labelling with six methods and their counterparts without structure."""

    id = "features/table1"
    reference = PAPER.at("App. E.1.1, Table 1, Figures 1, 2, 5 and 6")
    text_file = "table1.md"
    seconds_per_run = {"smoke": 0.3, "laptop": 15.0, "paper": 15.0}
    settings_class = TableSettings
    scales = {"smoke": SMOKE}
    printed = "table1"
    methods = tuple(tables.METHODS)
    most_neurons = None

    def spec(self, s: TableSettings, at: lab.At) -> RunSpec:
        """Without converged versions: these stand in features/table1-strong."""
        return tables.spec(self.case(s, at), at)

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        """The table's sentences; where NTK must lie was set before there were other tables."""
        return block.of_parity({"NTK": (70, 95)})

    def figures(self, s: Any) -> list[lab.Picture]:
        """As in every table, and how all neurons are aligned."""
        *others, table = super().figures(s)
        cosines = lab.Drawn(
            "cosines",
            "Alignment of all neurons with the ground truth",
            "Distribution of |cos(wᵢ, Σ Mⱼ)| over the neurons of the first seed.",
            "Three distributions of cosines: at initialisation, after step one and after step two",
            pictures.cosine_distribution,
        )
        return [*others, cosines, table]
