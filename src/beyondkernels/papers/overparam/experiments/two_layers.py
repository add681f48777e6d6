"""Two-layer targets and Algorithm 1: what the experiments on Theorem 4.1 share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.overparam.experiments.common import Std, Steps, size

SINE, EXPONENTIAL, SIGMOID, CUBIC = "sin 3z", "eᶻ", "1/(1 + e⁻⁴ᶻ)", "z² + z³"
FUNCTIONS = (SINE, EXPONENTIAL, SIGMOID, CUBIC)
"""φ of the ground truths."""

RELATIVE = "Divided by what predicting the mean label leaves."

LOSSES = {
    "relative": size("relative test loss", ".3f", RELATIVE, heading="Test loss", log=True, better="less"),
    "train_loss": size("training loss", ".2e"),
}
"""What :func:`relative_losses` reads of a run."""

LAPTOP: dict[str, Any] = {"sample_sizes": (250, 500, 1000, 2000), "seeds": 6}
SMOKE: dict[str, Any] = {"samples": 40, "sample_sizes": (20, 40), "test_samples": 100, "seeds": 2}
"""What the experiments that vary both m and N have at the smaller scales."""


@dataclass(frozen=True)
class TwoLayerSettings(bk.core.Checked):
    """How Algorithm 1 is run; the paper has no experiment, so all numbers are ours."""

    terms: lab.Count = lab.setting(4, "ours", "p, the neurons of the ground truth")
    output_std: Std = lab.setting(0.1, "ours", "ε_a; the theorem has ε/Θ̃(1)")
    rate: lab.Size = lab.setting(
        3.0, "ours", "η m ε_a²; the theorem has η = 1/(m poly(M, log m)); chosen on seeds and truths 100 to 102"
    )
    steps: Steps = lab.setting(20_000, "ours", "T, one point each")
    test_samples: lab.Count = lab.setting(20_000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a ground truth of its own")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")


def function_of(name: str) -> bk.activations.Activation:
    kinds = bk.activations
    return {
        SINE: kinds.Sine(3.0),
        EXPONENTIAL: kinds.Exponential(constant=True),
        SIGMOID: kinds.Rescaled(kinds.Sigmoid(), 4.0),
        CUBIC: kinds.Polynomial((0.0, 0.0, 1.0, 1.0)),
    }[name]


def loss() -> bk.algorithms.PseudoHuber:
    """L(ŷ, y) = √(1 + (ŷ − y)²) − 1."""
    return bk.algorithms.PseudoHuber()


def algorithm1(s: TwoLayerSettings, width: int, rate: float) -> bk.engine.TrainedNetwork:
    """The learner (5) of a width, trained by Algorithm 1 at a rate in units of 1/(m ε_a²)."""
    rule = bk.overparam.TwoLayerSGD(s.steps, rate / (width * s.output_std**2), loss=loss())
    return bk.engine.TrainedNetwork(bk.overparam.TwoLayerLearner(width, s.output_std), rule, backend=s.backend)


def relative_losses(problem: bk.core.Problem, outcome: bk.core.Outcome, least: float = 0.0) -> dict[str, float | None]:
    """The test loss as a part of what predicting the mean label leaves, both above ``least``; and the training loss."""
    test, whole = outcome.scalars.get("test_loss"), bk.overparam.constant_loss(problem, loss()) - least
    relative = None if test is None else (test - least) / whole
    return {"relative": relative, "train_loss": outcome.scalars.get("train_loss")}


def overparameterised(widths: tuple[int, ...], inputs: int, samples: int) -> tuple[int, ...]:
    """The widths m at which a learner has at least as many trained weights as samples, m times its inputs.

    The theorem speaks of m ≥ M for an unstated M. It is ours to let M begin here.
    """
    return tuple(m for m in widths if m * inputs >= samples)


def widest_over(column: str, widths: tuple[int, ...], by: str | None = None, **where: Any) -> lab.Value:
    """A column at the last width over the same at each narrower one, and at each value of another coordinate.

    A claim about it is one for every narrower width, which is the free coordinate; places are named by both.
    """

    def compute(rows: lab.Rows) -> lab.Series:
        import pandas as pd

        parts = {}
        for m in widths[:-1]:
            last, mine = (lab.of(column, by, width=each, **where) for each in (widths[-1], m))
            ratios = (last / mine).compute(rows)
            if by is None:
                parts[m] = ratios
            else:
                found = ratios.groupby(level=0, sort=False)
                parts |= {f"{m} for {place}": values.droplevel(0) for place, values in found}
        return pd.concat(parts, names=["width"]) if parts else lab.of(column, "width").compute(rows.iloc[:0])

    name = f"widest_over({column!r}, {widths}, {by!r}, {where})"
    return lab.Value(compute, "width", lambda known: known[column] / known[column], name)
