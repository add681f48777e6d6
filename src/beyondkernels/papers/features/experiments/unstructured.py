"""Without input structure the network fits its training sample and learns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments.bars import LEARNS
from beyondkernels.papers.features.experiments.cases import Odd
from beyondkernels.papers.features.experiments.tables import ACCURACIES, accuracies
from beyondkernels.papers.features.paper import PAPER

WITHOUT, WITH = "without structure", "with structure"
CHANCE = 56  # percent: Table 1's bar for what learns nothing


@dataclass(frozen=True)
class UnstructuredSettings(bk.core.Checked):
    dim: lab.Count = lab.setting(100, "paper", "Table 3's; the table has d = 2000 too, and Table 1 has 500")
    patterns: lab.Count = lab.setting(100, "paper")
    relevant: Odd = lab.setting(5, "paper")
    pairs: lab.Count = lab.setting(300, "paper", "m; the network (2) has 2m neurons")
    samples: lab.Count = lab.setting(50_000, "paper")
    steps: lab.Count = lab.setting(
        8000, "ours", "the paper has 600; half of these fit 99.5 % of the sample on instance and seed 100"
    )
    batch: lab.Count = lab.setting(500, "ours", "the paper has 1000")
    rate: lab.Size = lab.setting(
        0.01, "ours", "Adam's; of 0.003 and 0.01 the one that fits more after 4000 steps on instance and seed 100"
    )
    test_samples: lab.Count = lab.setting(10_000, "ours", "not stated in the paper")
    seeds: lab.Seeds = lab.setting(5, "paper", "each with its own dictionary and relevant set; 0, 1, 2, …")

    def __post_init__(self) -> None:
        bk.core.require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")


class Unstructured(lab.Experiment):
    id = "features/unstructured"
    reference = PAPER.at("App. E.1.1 and E.2.1, Tables 1 and 3, Network w/o structure")
    quantities = {**ACCURACIES, "inputs": lab.Quantity("data")}
    seconds_per_run = {"smoke": 0.2, "laptop": 40.0, "paper": 40.0}
    settings_class = UnstructuredSettings
    scales = {
        "laptop": lab.scale(seeds=3),
        "smoke": lab.scale(
            dim=12, patterns=12, relevant=3, pairs=10, samples=200, steps=40, batch=50, test_samples=200, seeds=2
        ),
    }

    def runs(self, s: UnstructuredSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"inputs": [WITHOUT, WITH]}, lambda _s, _at, outcome: accuracies(outcome))]

    def claims(self, s: UnstructuredSettings) -> list[lab.Statement]:
        train, test = (lab.of(f"{part}_accuracy", inputs=WITHOUT) for part in ("train", "test"))
        printed = PAPER.printed_by_method("table1", "test_accuracy")["Network w/o structure"]
        return [
            self.claim(s, "fits", train, lab.AtLeast(LEARNS), 100.0),
            self.claim(s, "chance", test, lab.AtMost(CHANCE), printed),
            self.claim(s, "with-structure", lab.of("test_accuracy", inputs=WITH), lab.AtLeast(LEARNS)),
        ]

    def table(self, s: UnstructuredSettings) -> lab.Table:
        return lab.Table(["inputs"], ["train_accuracy", "test_accuracy"])

    def figures(self, s: UnstructuredSettings) -> list[lab.Picture]:
        return [
            lab.OverTime(f"{part}-accuracy", y=f"{part}_accuracy", factor=100, line="inputs", levels={"constant": 50.0})
            for part in ("train", "test")
        ]


def spec(s: UnstructuredSettings, at: lab.At) -> bk.store.RunSpec:
    """The network (2), trained by Adam on the hinge loss from the usual initialisation of §3.1."""
    problem: Any = bk.features.DictionaryParity(s.dim, s.patterns, s.relevant, instance=at.seed)
    rule = bk.algorithms.Descent(s.steps, bk.algorithms.optimisers.adam(s.rate), s.batch)
    looked = tuple(round(s.steps * part / 16) for part in range(1, 17))
    learner = bk.engine.TrainedNetwork(bk.networks.TwoLayer(s.pairs), rule, record_at=looked)
    data = problem.without_structure() if at.inputs == WITHOUT else problem
    return bk.store.RunSpec(data, learner, s.samples, s.test_samples, at.seed)
