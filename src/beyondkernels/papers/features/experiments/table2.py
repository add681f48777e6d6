"""Table 2 and Figures 7, 8: interval labels, a threshold of a linear function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments import paper_table
from beyondkernels.papers.features.experiments.bars import Sentences
from beyondkernels.papers.features.experiments.cases import Case, CasesSettings, Interval, Numbers, Part, Rates, Several
from beyondkernels.papers.features.experiments.tables import UNSTRUCTURED
from beyondkernels.papers.features.paper import PAPER

SLIGHTLY = 5  # percent of the way that count as slightly worse


@dataclass(frozen=True)
class Table2Settings(CasesSettings):
    relevant: lab.Count = lab.setting(30, "paper")
    low: int = lab.setting(20, "paper", "t₁; class +1 has at least so many relevant patterns")
    high: int = lab.setting(30, "paper", "t₂; and at most so many")
    relevant_probability: Part = lab.setting(2 / 3, "paper", "of each relevant pattern")
    pairs: Several = lab.setting((100,), "paper", "m; the network (2) has 2m neurons")
    steps: lab.Count = lab.setting(200, "paper", "the theorem's T is m^(4/3)")

    tangent_rate: lab.Size = lab.setting(0.5, "ours")
    readout_rate: Rates = lab.setting((1e5,), "ours")
    hidden_rate: lab.Size = lab.setting(1e-5, "ours")
    random_rate: lab.Size = lab.setting(1000.0, "ours")

    def case(self, name: str, numbers: Numbers, at: Mapping[str, Any]) -> Case:
        for which, value in (("low", self.low), ("high", self.high)):
            bk.core.require(
                0 <= value <= self.relevant,
                f"{which} must lie in [0, {self.relevant}], the possible numbers of relevant patterns, got {value}",
            )
        bk.core.require(self.low <= self.high, f"low must not exceed high, got low {self.low} and high {self.high}")
        labels = Interval(self.low, self.high, self.relevant_probability)
        return Case(name, numbers, None, labels, self.hidden_rate, self.random_rate)


class Table2(paper_table.PaperTable):
    id = "features/table2"
    reference = PAPER.at("App. E.1.2, Table 2, Figures 7 and 8")
    seconds_per_run = {"smoke": 0.2, "laptop": 2.0, "paper": 2.0}
    settings_class = Table2Settings
    scales = paper_table.scales(relevant=6, low=4, high=6)
    printed = "table2"

    def claims_of(self, block: Sentences) -> list[lab.Statement]:
        """Network, NTK and Two Step learn; RF and One Step do not; structure is not needed."""
        where = block.case.where
        return [
            *block.learn("NTK", "Network w/o structure"),
            block.as_trained("RF"),
            block.one_step(),
            block.aligned(),
            *(
                lab.claim(
                    f"{name.lower()}-unneeded",
                    f"Without input structure {name} comes as far from the constant classifier towards 100 %, or at "
                    f"most {SLIGHTLY} % of the way less far (the difference)",
                    lab.of("gained", method=UNSTRUCTURED[name], **where) - lab.of("gained", method=name, **where),
                    lab.AtLeast(-SLIGHTLY),
                )
                for name in ("NTK", "RF")
            ),
        ]
