"""Table 1 and Figures 1, 2, 5, 6: the network learns the parity, fixed features do not."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from beyondkernels.core import Reference, require, require_positive
from beyondkernels.experiments.base import Experiment, Finished, Label, Rows
from beyondkernels.experiments.features import pictures
from beyondkernels.experiments.features.methods import METHODS, problem_of, process_of, spec_of
from beyondkernels.experiments.published import by_method
from beyondkernels.experiments.settings import setting
from beyondkernels.reports import Claim, Column, Figure, at_least, at_most, between
from beyondkernels.runs import RunSpec

_SCHEDULE_NOTE = (
    "The first two steps are Theorem 26's, number by number. With its single rate for t > 2 (0.0062 at the paper's "
    "size) the network stays at the best linear classifier for all 600 steps, see the row “Network, one rate”: the "
    "theorem's hypotheses ask for far larger m, k and T. The paper does not state the rate it used. Here the hidden "
    "layer keeps the theorem's rate and the readout has its own, which is our choice."
)
_BASELINE_NOTE = (
    "RF is the same process with its first layer frozen, at Theorem 26's single rate, which serves it better than the "
    "Network's own schedule. The paper says of the NTK only that a classifier is learnt on it; here the linearised "
    "network is trained by plain gradient descent from zero displacement, since the theorem's second step (η = 1) "
    "throws it far off. The converged versions of both stand in features/table1-strong."
)
_OVERFITTING_NOTE = (
    "The paper's Network without structure fits its training sample (100 %) and stays at chance on fresh points. Here "
    "it stays at chance on both: with these rates 600 steps do not suffice to memorise 50,000 points."
)
_COSINE_NOTE = (
    "The paper prints a cosine of 0.848 for One Step. Where the weight decay cancels the initial weights exactly, "
    "nearly every neuron is aligned to 0.99 or better after step one. Where the cancellation is left to single "
    "precision its rounding error is larger than the step, and the largest cosine is 0.1 to 0.3; how the printed value "
    "came about we do not know. One Step stays at chance all the same, because its weights are many orders of "
    "magnitude smaller than the biases: the features hardly move."
)


@dataclass(frozen=True)
class Table1Settings:
    """The numbers of Table 1; the defaults are the paper's."""

    dim: int = setting(500, "paper")
    patterns: int = setting(100, "paper")
    relevant: int = setting(5, "paper")
    background: float = setting(0.5, "paper")
    pairs: int = setting(300, "paper", "m; the network (2) has 2m neurons")
    samples: int = setting(50_000, "paper")
    steps: int = setting(600, "paper", "the theorem's T is m^(4/3) = 2008")
    batch: int = setting(1000, "paper", "from step 3 on; the first two steps take the whole sample")
    seeds: int = setting(5, "paper", "each with its own dictionary and relevant set; 0, 1, 2, …")
    test_samples: int = setting(10_000, "ours", "not stated in the paper")
    readout_rate: float = setting(
        200.0,
        "ours",
        "Network, One Step, Two Step: the readout's rate at step 3, falling linearly to zero; all else by Theorem 26. "
        "Chosen on other data (instances and seeds 100 to 109, training accuracy): 100, 200 and 400 take Network and "
        "Two Step to 100 % every time, 50 leaves some short. 50 had been tried here first and failed on seed 0",
    )
    tangent_rate: float = setting(
        3e-4,
        "ours",
        "NTK: the rate of plain gradient descent on batches; of 1e-5, 3e-5, 1e-4, 3e-4 and 1e-3 the one with the "
        "highest training accuracy on other data (instance and seed 100)",
    )

    def __post_init__(self) -> None:
        for name in (
            "dim",
            "patterns",
            "relevant",
            "pairs",
            "samples",
            "test_samples",
            "batch",
            "readout_rate",
            "tangent_rate",
        ):
            require_positive(name, getattr(self, name))
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        require(
            self.relevant <= self.patterns,
            f"relevant must not exceed patterns, got {self.relevant} relevant of {self.patterns} patterns",
        )
        require(self.relevant % 2 == 1, f"relevant must be odd for parity labels, got {self.relevant}")


class Table1(Experiment):
    """Parity labelling with six methods and their counterparts without structure."""

    id: ClassVar[str] = "features/table1"
    title: ClassVar[str] = "Parity labels: a network learns the features, fixed features do not"
    summary: ClassVar[str] = (
        "Inputs are sums of hidden patterns; the label is the parity of the five relevant ones among a hundred. A "
        "two-layer network trained by the learning process (4) finds their common direction in two gradient steps and "
        "then the parity. The same network with its first layer frozen at random (RF), linearised (NTK) or frozen "
        "after one step does not. With the input structure removed nothing learns."
    )
    reference: ClassVar[Reference] = Reference("features", "App. E.1.1, Table 1, Figures 1, 2, 5 and 6")
    notes: ClassVar[tuple[str, ...]] = (_SCHEDULE_NOTE, _BASELINE_NOTE, _OVERFITTING_NOTE, _COSINE_NOTE)
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.3, "laptop": 15.0, "paper": 15.0}

    def settings(self, scale: str) -> Table1Settings:
        """The paper's numbers at laptop scale too; a small problem for smoke."""
        paper = Table1Settings()
        if scale != "smoke":
            return paper
        return replace(
            paper,
            dim=30,
            patterns=20,
            relevant=3,
            pairs=16,
            samples=2000,
            steps=40,
            batch=200,
            seeds=2,
            test_samples=1000,
        )

    def plan(self, settings: Table1Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """Every method with every seed: nothing depends on anything else."""
        return {(method.name, seed): spec_of(method, settings, seed) for method in METHODS for seed in seeds}

    def rows(self, settings: Table1Settings, finished: Finished) -> Rows:
        """A row for each method and seed; accuracies in percent."""
        rows = []
        for (name, seed), run in finished.items():
            scalars = run.outcome.scalars
            rows.append(
                {
                    "method": name,
                    "seed": seed,
                    "status": run.outcome.status,
                    "train_accuracy": percent(scalars.get("train_accuracy")),
                    "test_accuracy": percent(scalars.get("test_accuracy")),
                    "cosine": scalars.get(f"cosine/{settings.steps}"),
                    "cosine_either_step1": scalars.get("cosine_either/1"),
                    "cosine_either_step2": scalars.get("cosine_either/2"),
                }
            )
        return rows

    def table(self, settings: Table1Settings, rows: Rows) -> tuple[Sequence[Column], Rows]:
        """A row for each method: means and standard deviations over seeds beside the printed values."""
        summary = []
        for method in METHODS:
            mine = [row for row in rows if row["method"] == method.name]
            if not mine:
                continue
            line: dict[str, Any] = {"method": method.name, "seeds": len(mine)}
            for quantity in ("train_accuracy", "test_accuracy", "cosine"):
                line |= spread_of(quantity, [row[quantity] for row in mine])
                line[f"{quantity}_paper"] = by_method("features", "table1", quantity).get(method.name)
            summary.append(line)
        return (
            Column("method", "Method"),
            Column("train_accuracy", "Train (%)", ".1f", spread="train_accuracy_sd"),
            Column("train_accuracy_paper", "paper", ".1f"),
            Column("test_accuracy", "Test (%)", ".1f", spread="test_accuracy_sd"),
            Column("test_accuracy_paper", "paper", ".1f"),
            Column("cosine", "Cosine", ".3f", spread="cosine_sd"),
            Column("cosine_paper", "paper", ".3f"),
        ), summary

    def claims(self, settings: Table1Settings, rows: Rows, scale: str) -> list[Claim]:
        """The table's sentences."""
        printed = by_method("features", "table1", "test_accuracy")
        speaks = scale in ("laptop", "paper")

        def test(name: str) -> list[float | None]:
            return [row["test_accuracy"] for row in rows if row["method"] == name]

        def words(name: str) -> dict[str, Any]:
            return {"values": test(name), "paper": printed.get(name), "unit": "%", "speaks": speaks}

        step2 = [row["cosine_either_step2"] for row in rows if row["method"] == "Network"]
        return [
            at_least("network", "The Network's test accuracy is at least 99.5 %", bound=99.5, **words("Network")),
            at_least("two-step", "Two Step's test accuracy is at least 99.5 %", bound=99.5, **words("Two Step")),
            at_most(
                "one-step",
                "One Step, its readout trained by the Network's own schedule, stays at or below 60 %",
                bound=60,
                **words("One Step"),
            ),
            between("rf", "RF as trained lies between 66 and 86 %", lower=66, upper=86, **words("RF")),
            between("ntk", "NTK as trained lies between 70 and 95 %", lower=70, upper=95, **words("NTK")),
            at_least(
                "cosine",
                "After step two the best aligned neuron has a cosine of at least 0.99 with ±Σ Mⱼ",
                values=step2,
                bound=0.99,
                paper=by_method("features", "table1", "cosine").get("Network"),
                speaks=speaks,
            ),
            *(
                at_most(
                    f"{short}-unstructured",
                    f"Without input structure {name} stays at or below 56 %",
                    bound=56,
                    **words(f"{name} w/o structure"),
                )
                for short, name in (("network", "Network"), ("ntk", "NTK"), ("rf", "RF"))
            ),
        ]

    def remarks(self, settings: Table1Settings) -> list[str]:
        """How the problem stands to the paper's assumptions, and the case to Theorem 26's hypotheses."""
        assumptions = [
            str(found) for found in problem_of(settings, 0).assumptions() if found.name in ("A0", "A1", "A2")
        ]
        hypotheses = [str(found) for found in process_of(settings, 0).hypotheses]
        return [
            f"The data against the paper's assumptions: {'; '.join(assumptions)}.",
            f"Theorem 26 at these numbers, its hidden constants taken as one, δ = ε = 0.1: {'; '.join(hypotheses)}.",
        ]

    def figures(self, settings: Table1Settings, finished: Finished) -> list[Figure]:
        """Accuracy over steps, neuron directions, cosines, and the table as a picture."""
        columns, summary = self.table(settings, self.rows(settings, finished))
        del columns
        return [
            *pictures.accuracy_over_steps(finished, percent(problem_of(settings, 0).linear_accuracy)),
            *pictures.neuron_directions(finished),
            *pictures.cosine_distribution(finished),
            *pictures.table_as_dots(summary),
        ]


def spread_of(quantity: str, values: Sequence[float | None]) -> dict[str, float | None]:
    """Mean, standard deviation, least and greatest over seeds; None where there is no value."""
    there = [value for value in values if value is not None]
    return {
        quantity: statistics.fmean(there) if there else None,
        f"{quantity}_sd": statistics.stdev(there) if len(there) > 1 else None,
        f"{quantity}_low": min(there, default=None),
        f"{quantity}_high": max(there, default=None),
    }


def percent(share: float | None) -> float | None:
    """A share as a percentage."""
    return None if share is None else 100 * share
