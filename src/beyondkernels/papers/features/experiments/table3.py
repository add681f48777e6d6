"""Table 3 and Figures 9, 10: other input dimensions, and what single precision makes of step one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.lab.report.figures import Line
from beyondkernels.papers.features.experiments import paper_table
from beyondkernels.papers.features.experiments.cases import CasesSettings, Several, problem_of, process_of
from beyondkernels.papers.features.paper import PAPER


@dataclass(frozen=True)
class Table3Settings(CasesSettings):
    varied = ("dim", "d")

    dim: Several = lab.setting((100, 2000), "paper")
    rounding_dims: lab.Counts = lab.setting(
        (100, 500, 2000), "paper", "d at which step one is also taken in single precision"
    )


STEP_ONE: dict[str, tuple[str, Literal["exact", "rounded"]]] = {
    "Step one, exact": ("exact", "exact"),
    "Step one, float32": ("single precision", "rounded"),
}
"""By method, what its line is called and how its weight decay is computed."""


class Table3(paper_table.PaperTable):
    id = "features/table3"
    reference = PAPER.at("App. E.2.1, Table 3, Figures 9 and 10")
    seconds_per_run = {"smoke": 0.2, "laptop": 8.0, "paper": 8.0}
    settings_class = Table3Settings
    scales = paper_table.scales(dim=(20, 30), rounding_dims=(20, 30))
    printed = "table3"
    methods = paper_table.WITH_CONVERGED  # Two Step as trained is right everywhere here

    def runs(self, s: Table3Settings) -> list[lab.Runs]:
        over = {"dim": s.rounding_dims, "method": list(STEP_ONE)}
        step_one = lab.Runs(one_step, over, lambda s, at, run: {"cosine": run.at("alignment/cosine", 1, None)})
        return [*super().runs(s), step_one]

    def figures(self, s: Table3Settings) -> list[lab.Picture]:
        finding = lab.Over(
            "step-one",
            x="dim",
            y="cosine",
            line={label: {"method": method} for method, (label, _) in STEP_ONE.items()},
            y_limits=(0, 1.02),
            more=as_printed,
        )
        *others, table = super().figures(s)
        return [*others, finding, table]


def one_step(s: Table3Settings, at: lab.At) -> bk.store.RunSpec:
    """Step one of the Network at a dimension, with the decay that the method names."""
    case = next(iter(s.cases().values()))
    case = replace(case, name="", numbers=replace(case.numbers, dim=at.dim), in_span=False)
    process = replace(process_of(case, at.seed, own_schedule=False), steps=1)
    rule = bk.algorithms.FeatureLearning(process, forgetting=STEP_ONE[at.method][1])
    network = bk.networks.TwoLayer(case.numbers.pairs)
    learner = bk.engine.TrainedNetwork(network, rule, snapshot_at=(1,), snapshot_names=("hidden.weight",))
    measured = (bk.measure.Alignment(),)
    return bk.store.RunSpec(problem_of(case, at.seed), learner, case.numbers.samples, s.test_samples, at.seed, measured)


def as_printed(rows: lab.Rows) -> list[Line]:
    printed = {
        500: PAPER.printed_by_method("table1", "cosine")["One Step"],
        **{d: PAPER.printed_by_method("table3", "cosine", f"d = {d}")["One Step"] for d in (100, 2000)},
    }
    places = sorted(printed)
    return [Line("printed", places, [[printed[d] for d in places]])]
