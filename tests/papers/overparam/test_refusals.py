"""What this paper's parts refuse: a sentence for each kind of error, with the names and numbers in it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.activations import Cosine, PowerSeries, Rescaled, Sine, Tanh, smooth_function
from beyondkernels.algorithms import PseudoHuber
from beyondkernels.core import Stream
from beyondkernels.data import Cube, Sphere
from beyondkernels.lab import changed, find
from beyondkernels.papers import overparam
from beyondkernels.papers.overparam.networks import ConvolutionalLearner, TwoLayerLearner
from beyondkernels.papers.overparam.problems import (
    ConvolutionalTruth,
    GivenWeights,
    IntervalFunction,
    Padded,
    SignalInputs,
    ThreeLayerTruth,
    TwoLayerTruth,
    UnitInputs,
    gathered,
    padded,
    require_unit_inputs,
    windows,
)
from beyondkernels.papers.overparam.theory import ExistingNetwork, composed_complexity, indicator_function, lemma53
from beyondkernels.papers.overparam.theory.expectation import gated_mean
from beyondkernels.papers.overparam.theory.indicator import IndicatorFunction, taylor_polynomial
from refusals import refused

UNIT, ROWS, DEEP = UnitInputs(5), UnitInputs(3), overparam.ThreeLayerSGD(overparam.ThreeLayerSettings(wait=2), 9, 0.01)
LEMMA: dict[str, Any] = {"epsilon": 0.1, "width": 100, "rate": 0.01, "steps": 1000, "complexity": 2.0}
VALUES = PowerSeries(lambda _: 1.0, sharp=True)


def setting(name: str, **changes: Any) -> tuple[Any, ...]:
    """The call that changes settings of an experiment."""
    return changed, find(f"overparam/{name}").settings("smoke"), changes


def lemma(**changes: Any) -> Any:
    return lambda: lemma53(**(LEMMA | changes))


CASES: list[tuple[Any, ...]] = [
    (r"loss must be a loss, such as PseudoHuber\(\), got 'squared'", overparam.loss_conditions, "squared", 1.0, [0.0]),
    (r"labels must be numbers, got \['a'\]", overparam.loss_conditions, PseudoHuber(), 1.0, ["a"]),
    (
        r"outputs = 2 numbers .*, got 3",
        overparam.loss_conditions,
        PseudoHuber(),
        1.0,
        [1.0, 2.0, 3.0],
        2,
    ),
    (r"learning_rate must be below 1, so that 1 − η shrinks λ, got 2", lambda: replace(DEEP, learning_rate=2.0)),
    (r"learning_rate must be at least 1e-06 where λ shrinks.*got 1e-08", lambda: replace(DEEP, learning_rate=1e-8)),
    (r"ThreeLayerSGD is for a ThreeLayerLearner, got a Two", DEEP.initialise, TwoLayerLearner(4), 3, 2, Stream(0)),
    (r"in_dim must be \(rows, numbers in a row\).*, got 12", ConvolutionalLearner(5, ((0, 3),)).init, 12, 1, Stream(0)),
    (r"at least 4 rows to hold every patch, got 3", ConvolutionalLearner(5, ((0, 3),)).init, (3, 3), 1, Stream(0)),
    (r"size must lie in \[1, 3\]", windows, 3, 4),
    (r"patches must hold at least one set", ConvolutionalTruth, ROWS, 3, ()),
    (r"sets of 2 different rows each, got \(2,\)", ConvolutionalTruth, ROWS, 3, ((0, 1), (2,))),
    (r"patches must hold rows from 0 to 2, got 3", ConvolutionalTruth, ROWS, 3, ((0, 3),)),
    (
        r"times √k, must have norm 1",
        ConvolutionalTruth(ROWS, 4, windows(4, 2)).target,
        torch.ones(1, 4, 3),
    ),
    (r"matrices of at least 3 rows", gathered, torch.ones(2, 2, 3), ((0, 2),)),
    (
        r"got norm 1\.11803 in row 0; .*padded",
        require_unit_inputs,
        "x",
        torch.tensor([[1.0, 0.5]]),
    ),
    (r"got last coordinate 0\.8 in row 0", require_unit_inputs, "x", torch.tensor([[0.6, 0.8]])),
    (r"^radius must bound .* got 1 and a point of norm 5; radius=5 would do", padded, torch.tensor([[3.0, 4.0]])),
    (r"dim must be at least 5, got 4", SignalInputs, 4, 3),
    (r"^dim must be 5, two more than the source's 3, got 4", Padded, 4, Cube(3)),
    (r"x must hold finite numbers, got inf or NaN", padded, torch.full((2, 3), math.nan)),
    (r"x must be a matrix of numbers, a row for each point, got 'many'", padded, "many"),
    (r"^source must have norm 1 and last coordinate 1/2, got last coordinate", TwoLayerTruth, Sphere(4)),
    (r"got norm 2 in row 0; .*Padded\.of\(source, radius\)", TwoLayerTruth, Cube(4, side=1.0)),
    (r"one function for each of the 2 terms", lambda: TwoLayerTruth(UNIT, ("sin",), terms=2)),
    (r"outputs must be 1 for labels that are signs", lambda: TwoLayerTruth(UNIT, labels="signs", outputs=2)),
    (r"flips is for labels that are signs, got 0.1 for values", lambda: TwoLayerTruth(UNIT, flips=0.1)),
    (r"relevant must lie in \[1, 4\] or be None, got 5", lambda: TwoLayerTruth(UNIT, relevant=5)),
    (r"a must lie in \[−1, 1\], got 2; φ can hold", GivenWeights, ((2.0,),), ((1.0,),), ((1.0,),)),
    (r"z must lie within the radius 1 where the series converges, got \|z\| = 1", TwoLayerTruth, UNIT, VALUES),
    (r"linear must be False where second is con", lambda: ThreeLayerTruth(UNIT, second="constant", linear=True)),
    (r"x must have 5 coordinates, got 6", TwoLayerTruth(UNIT).target, UnitInputs(6).draw(3, Stream(0))),
    (r"x must have 5 coordinates, got 6", ThreeLayerTruth(UNIT).target, UnitInputs(6).draw(3, Stream(0))),
    (r"star must be small enough that ℭ\(φ, 1.73\) is a float", composed_complexity, [Cosine()], [Cosine()], 0.05),
    (
        r"problem must be a TwoLayerTruth, got IntervalFunction",
        *(ExistingNetwork(TwoLayerLearner(5), 0.1).check, IntervalFunction(smooth_function("sin")), 1, 1),
    ),
    (
        r"zero at even orders from 2 on without a bias",
        *(ExistingNetwork(TwoLayerLearner(5), 0.1, biased=False).check, TwoLayerTruth(UnitInputs(4), "cos"), 1, 1),
    ),
    (r"reaches must hold a number for each of the orders 1 to 2, got 1", IndicatorFunction, (0.0, 1.0, 1.0), (1.0,)),
    (r"reaches must not fall", IndicatorFunction, (0.0, 1.0, 1.0), (2.0, 1.0)),
    (r"x must lie in \[−1, 1\], got 1.5", gated_mean, indicator_function(Sine(), 0.1), np.array([0.0, 1.5])),
    (r"converge within 0\.5 only", taylor_polynomial, Rescaled(Tanh(), math.pi)),
    (r"reach must be at most .*, got 1e\+30", lambda: indicator_function(Sine(), 0.1, reach=1e30)),
    (r"complexity must keep the powers of ε' = ε/C₁ floats, got 1e\+300", lemma(complexity=1e300)),
    (r"complexity must be at least ε/\(k p₁ p₂\) = 0.1, so that C₁ ≥ 1, got 0.01", lemma(complexity=0.01)),
    (r"terms must hold 2 numbers, got \(1,\)", lemma(terms=(1,))),
    (r"reaches must not hold reach = 100, got .*; leave", *setting("indicator", reaches=(1.0, 100.0))),
    (r"snapshots must begin with 0, the start, got 5", *setting("coupling", snapshots=(5, 10))),
    (r"draws must be at most 1000000, got 1000001", *setting("randomness", draws=10**6 + 1)),
    (r"patch must be at most rows = 4, got 5", *setting("conv", patch=5)),
    (r"channel must be one of channels", *setting("conv", channel=5)),
    (r"dims must hold at least two numbers, got \(8,\)", *setting("dimension-free", dims=(8,))),
    (r"batch must be at most the least number of samples, 20, got 21", *setting("rademacher", batch=21)),
    (r"snapshots must end before step", *setting("smoothing", snapshots=(0, 300))),
    (r"rate must be below 1.44", *setting("smoothing", rate=6.0)),
    (r"other_smoothing must not hold smoothing", *setting("smoothing", smoothing=1.0, other_smoothing=(0.5, 1.0))),
    (r"width must be one of widths", *setting("theorem41", width=9)),
    (r"sample_sizes must hold samples = 41", *setting("theorem41", samples=41)),
    (r"batch must be at most the least of sample_sizes, 30, got 31", *setting("theorem42", batch=31)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refusals(case):
    refused(*case)
