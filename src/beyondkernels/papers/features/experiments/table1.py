"""Table 1 and Figures 1, 2, 5, 6: the network learns the parity, fixed features do not."""

from __future__ import annotations

from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments import pictures, tables
from beyondkernels.papers.features.experiments.bars import Sentences
from beyondkernels.papers.features.experiments.cases import TableSettings
from beyondkernels.papers.features.experiments.paper_table import PaperTable
from beyondkernels.papers.features.paper import PAPER

SMOKE = lab.scale(
    dim=30, patterns=20, relevant=3, pairs=16, samples=2000, steps=40, batch=200, seeds=2, test_samples=1000
)


class Table1(PaperTable):
    id = "features/table1"
    reference = PAPER.at("App. E.1.1, Table 1, Figures 1, 2, 5 and 6")
    seconds_per_run = {"smoke": 0.3, "laptop": 15.0, "paper": 15.0}
    settings_class = TableSettings
    scales = {"smoke": SMOKE}
    printed = "table1"
    methods = tuple(tables.METHODS)
    most_neurons = None

    def spec(self, s: TableSettings, at: lab.At) -> bk.store.RunSpec:
        """Without converged versions: these stand in features/table1-strong."""
        return tables.spec(self.case(s, at), at)

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        """The table's sentences; where NTK must lie was set before there were other tables."""
        return block.of_parity({"NTK": (70, 95)})

    def figures(self, s: Any) -> list[lab.Picture]:
        *others, table = super().figures(s)
        cosines = lab.Drawn("cosines", by=pictures.cosine_distribution)
        return [*others, cosines, table]
