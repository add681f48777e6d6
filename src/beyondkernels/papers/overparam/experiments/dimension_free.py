"""How many samples Algorithm 1 needs as the dimension of the inputs grows and the target stays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.core.constraints import at_least, at_most, between
from beyondkernels.lab import (
    At,
    AtMost,
    Count,
    Counts,
    Curves,
    Drawn,
    Experiment,
    Line,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Series,
    Shown,
    Statement,
    Table,
    Value,
    by_seed,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.overparam.experiments.two_layers import (
    SINE,
    TwoLayerSettings,
    algorithm1,
    constant_loss,
    function_of,
)
from beyondkernels.papers.overparam.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.overparam.problems import TwoLayerTruth

LEARNT = 0.05
"""A target counts as learnt when the test loss is at most this part of what the mean label leaves."""

FLAT = 0.25
"""The largest exponent of d that is claimed; the theorem has 0 for the bound, and a linear function of x needs 1."""


@dataclass(frozen=True)
class DimensionSettings(TwoLayerSettings):
    """The numbers of the experiment."""

    steps: Annotated[Count, at_most(10**8)] = setting(10_000, "ours", "T, one point each")
    dims: Counts = setting((16, 32, 64, 128, 256, 512, 1024), "ours", "d")
    relevant: Annotated[int, at_least(2)] = setting(
        4, "ours", "coordinates that the target depends on; with one alone it would be constant"
    )
    share: Annotated[float, between(1e-3, 0.75, "[)")] = setting(0.5, "ours", "their part of ‖x‖² = 1")
    width: Count = setting(256, "ours", "m")
    sample_sizes: Counts = setting((64, 125, 250, 500, 1000, 2000, 4000), "ours", "N, wide enough for every target")

    def __post_init__(self) -> None:
        for name in ("dims", "sample_sizes"):
            given = getattr(self, name)
            require(len(given) > 1, f"{name} must hold at least two numbers, got {given}")


class DimensionFree(Experiment):
    """Samples needed against d."""

    id: ClassVar[str] = "overparam/dimension-free"
    reference = PAPER.at("§4.1, Theorem 4.1: “our result is dimension free”")
    text_file: ClassVar[str] = "dimension_free.md"
    symbols: ClassVar[Mapping[str, str]] = {"dim": "d", "samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 0.7, "paper": 1.0}
    settings_class: ClassVar[type] = DimensionSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(dims=(16, 64, 256, 1024), test_samples=5000, seeds=6),
        "smoke": scale(
            dims=(8, 16),
            relevant=2,
            width=32,
            sample_sizes=(20, 80),
            terms=2,
            steps=200,
            test_samples=100,
            seeds=2,
        ),
    }

    def runs(self, s: DimensionSettings) -> list[Runs]:
        """Every d and every N."""
        return [Runs(spec, {"dim": s.dims, "samples": s.sample_sizes}, row)]

    def claims(self, s: DimensionSettings) -> list[Statement]:
        """The exponent of d, and the largest d."""
        last = s.dims[-1]
        return [
            claim(
                "exponent",
                f"From d = {s.dims[0]} to {last}, the number of samples that suffices grows at most as d to the power "
                f"{FLAT:g}",
                needed().slope(),
                AtMost(FLAT),
                paper="no power of d",
            ),
            claim(
                "below-dim",
                f"At d = {last} fewer samples than dimensions suffice: their number over d",
                needed(last).largest(),
                AtMost(1.0, "clearly"),
                paper="a number without d",
            ),
            claim(
                "learnt",
                f"With {s.sample_sizes[-1]} samples the target is learnt at every d: the test loss is at most "
                f"{LEARNT:.0%} of what the mean label leaves",
                of("relative", "dim", samples=s.sample_sizes[-1]),
                AtMost(LEARNT),
                paper="ε₀ + ε",
            ),
        ]

    def table(self, s: DimensionSettings) -> Table:
        """A line for each d and N."""
        return Table(
            {"dim": "d", "samples": "N"},
            [
                Shown("relative", "Test loss", ".3f", about="Divided by what predicting the mean label leaves."),
                Shown("train_loss", "Training loss", ".2e"),
            ],
        )

    def figures(self, s: DimensionSettings) -> list[Picture]:
        """Samples needed over d, and the losses behind them."""
        return [
            Drawn(
                "needed",
                "Samples that suffice, over the dimension",
                f"Samples at which the test loss is {LEARNT:.0%} of what the mean label leaves, interpolated between "
                "the N that were run; mean over seeds, shaded from the lowest to the highest. Beside it the number of "
                "linear functions of x, and of polynomials of degree 2 and less.",
                "Samples that suffice for Algorithm 1 over d, beside d and the number of polynomials of degree 2",
                lambda picture, rows: needed_curves(s, picture, rows),
            ),
            Over(
                "loss",
                "Test loss over the samples",
                "Divided by what predicting the mean label leaves. A line for each d. The target is the same for all.",
                "Relative test loss over N, a line for each dimension",
                x="samples",
                y="relative",
                line={f"d = {d}": {"dim": d} for d in s.dims},
                x_label="N",
                y_label="test loss, relative",
                x_scale="log",
                y_scale="log",
                levels={"learnt": LEARNT},
            ),
        ]


def crossing(samples: list[int], losses: list[float]) -> float:
    """N from which on the loss stays at LEARNT or below, interpolated on logarithmic axes.

    It is NaN if the loss stays above, or if it is below from the first N on.
    """
    above = [i for i, value in enumerate(losses) if not value <= LEARNT]
    if not above or above[-1] == len(losses) - 1 or not all(math.isfinite(value) for value in losses):
        return math.nan
    i = above[-1]
    part = math.log(losses[i] / LEARNT) / math.log(losses[i] / losses[i + 1])
    return samples[i] * (samples[i + 1] / samples[i]) ** part


def needed(over_dim: int | None = None) -> Value:
    """The samples that suffice, for each d and seed.

    Arguments:
        over_dim: if given, for this d alone and divided by it.
    """

    def compute(rows: Rows) -> Series:
        import pandas as pd

        found: dict[tuple[int, int], float] = {}
        for (d, seed), mine in rows.groupby(["dim", "seed"], sort=False) if "relative" in rows else ():
            if over_dim in (None, d):
                ordered = mine.sort_values("samples")
                found[d, seed] = crossing(ordered["samples"].tolist(), ordered["relative"].astype(float).tolist())
        index = pd.MultiIndex.from_tuples(list(found), names=["dim", "seed"])
        return pd.Series(list(found.values()), index, dtype=float) / (over_dim or 1)

    return Value(compute, "dim", name=f"needed(over_dim={over_dim})")


def needed_curves(s: DimensionSettings, picture: Drawn, rows: Rows) -> list[Curves]:
    """The samples that suffice beside the numbers of polynomials."""
    series = needed().compute(rows)
    x, y = by_seed(series.rename("needed").reset_index(), "dim", "needed") if len(series) else ([], [])
    if not x:
        return []
    counts = {"linear functions": list(s.dims), "degree 2": [math.comb(d + 2, 2) for d in s.dims]}
    return [
        Curves(
            **picture.words,
            lines=[Line("Algorithm 1", x, y), *(Line(label, list(s.dims), n) for label, n in counts.items())],
            x_label="d",
            y_label="samples",
            x_scale="log",
            y_scale="log",
        )
    ]


def problem_of(s: DimensionSettings, dim: int, seed: int) -> TwoLayerTruth:
    """The ground truth of a seed; its values do not depend on the dimension."""
    inputs = bk.overparam.SignalInputs(dim, s.relevant, s.share)
    return bk.overparam.TwoLayerTruth(inputs, function_of(SINE), terms=s.terms, relevant=s.relevant, instance=seed)


def spec(s: DimensionSettings, at: At) -> RunSpec:
    """One run."""
    problem = problem_of(s, at.dim, at.seed)
    return RunSpec(problem, algorithm1(s, s.width, s.rate), at.samples, s.test_samples, at.seed)


def row(s: DimensionSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The test loss over that of the mean label."""
    found = outcome.scalars
    whole = constant_loss(problem_of(s, s.dims[0], at.seed))
    return {
        "relative": found["test_loss"] / whole if "test_loss" in found else None,
        "train_loss": found.get("train_loss"),
    }
