"""Two-layer targets and Algorithm 1: what the experiments on Theorem 4.1 share."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked
from beyondkernels.core.constraints import at_most, between
from beyondkernels.lab import Backend, Count, Rows, Seeds, Series, Size, Value, of, setting

if TYPE_CHECKING:
    from beyondkernels.activations import Activation
    from beyondkernels.algorithms import PseudoHuber
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.papers.overparam.problems import ThreeLayerTruth, TwoLayerTruth

SINE, EXPONENTIAL, SIGMOID, CUBIC = "sin 3z", "eᶻ", "1/(1 + e⁻⁴ᶻ)", "z² + z³"
FUNCTIONS = (SINE, EXPONENTIAL, SIGMOID, CUBIC)
"""φ of the ground truths."""

EPSILON = 0.01
"""ε at which the complexity of the targets is written out."""

MEAN_POINTS = 20_000  # for what the best constant leaves


@dataclass(frozen=True)
class TwoLayerSettings(Checked):
    """How Algorithm 1 is run; the paper has no experiment, so all numbers are ours."""

    terms: Count = setting(4, "ours", "p, the neurons of the ground truth")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.1, "ours", "ε_a; the theorem has ε/Θ̃(1)")
    rate: Size = setting(
        3.0, "ours", "η m ε_a²; the theorem has η = 1/(m poly(M, log m)); chosen on seeds and truths 100 to 102"
    )
    steps: Annotated[Count, at_most(10**8)] = setting(20_000, "ours", "T, one point each")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a ground truth of its own")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")


def function_of(name: str) -> Activation:
    """The smooth function of that name."""
    from beyondkernels.activations import Exponential, Rescaled, Sigmoid

    return {
        SINE: bk.activations.Sine(3.0),
        EXPONENTIAL: Exponential(constant=True),
        SIGMOID: Rescaled(Sigmoid(), 4.0),
        CUBIC: bk.activations.Polynomial((0.0, 0.0, 1.0, 1.0)),
    }[name]


def loss() -> PseudoHuber:
    """L(ŷ, y) = √(1 + (ŷ − y)²) − 1."""
    return bk.algorithms.PseudoHuber()


def algorithm1(s: TwoLayerSettings, width: int, rate: float) -> TrainedNetwork:
    """The learner (5) of a width, trained by Algorithm 1 at a rate in units of 1/(m ε_a²)."""
    rule = bk.overparam.TwoLayerSGD(s.steps, rate / (width * s.output_std**2), loss=loss())
    return bk.engine.TrainedNetwork(bk.overparam.TwoLayerLearner(width, s.output_std), rule, backend=s.backend)


@functools.lru_cache(maxsize=1024)
def constant_loss(problem: TwoLayerTruth | ThreeLayerTruth) -> float:
    """What predicting the mean label leaves."""
    y = problem.sample(MEAN_POINTS, bk.core.Stream(0).child("constant")).y
    return float(loss().each(y.mean(0).expand_as(y), y).double().mean())


def complexity_of(s: TwoLayerSettings, name: str) -> str:
    """ℭ(φ, √log(p/ε)) with the constant C = 1 in words, or where the series converges."""
    series = bk.activations.taylor_series(function_of(name))
    radius = math.sqrt(math.log(s.terms / EPSILON))
    if series.radius <= radius:
        return f"none for {name}, whose series converges within {series.radius:.3g} only"
    return f"{bk.activations.smooth_complexity(series, radius, star=1.0)} for {name}"


def overparameterised(widths: tuple[int, ...], inputs: int, samples: int) -> tuple[int, ...]:
    """The widths m at which a learner has at least as many trained weights as samples, m times its inputs.

    The theorem speaks of m ≥ M for an unstated M. It is ours to let M begin here.
    """
    return tuple(m for m in widths if m * inputs >= samples)


def widest_over(column: str, widths: tuple[int, ...], by: str | None = None, **where: Any) -> Value:
    """A column at the last width over the same at each narrower one, and at each value of another coordinate.

    A claim about it is one for every narrower width, which is the free coordinate; places are named by both.

    Arguments:
        column: its name.
        widths: from the least on.
        by: another coordinate that is left free.
        where: conditions as for :func:`~beyondkernels.lab.declaration.of`.
    """

    def compute(rows: Rows) -> Series:
        import pandas as pd

        parts = {}
        for m in widths[:-1]:
            last, mine = (of(column, by, width=each, **where) for each in (widths[-1], m))
            ratios = (last / mine).compute(rows)
            if by is None:
                parts[m] = ratios
                continue
            for place, values in ratios.groupby(level=0, sort=False):
                parts[f"{m} for {place}"] = values.droplevel(0)
        empty = pd.Series([], dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["width", "seed"]))
        return pd.concat(parts, names=["width"]) if parts else empty

    return Value(compute, "width", name=f"widest_over({column!r}, {widths}, {by!r}, {where})")
