"""What training rules refuse: a sentence for each kind of error, with the names and numbers in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from beyondkernels.algorithms import (
    Blockwise,
    Corrected,
    Descent,
    FeatureLearning,
    GradientDescent,
    Hinge,
    Layerwise,
    OnePass,
    ProcessSettings,
    Squared,
    Staged,
    StepSettings,
)
from beyondkernels.algorithms.optimisers import Adam, Cosine, Momentum, Rate, WarmUp, adamw, chain
from beyondkernels.core import Stream
from beyondkernels.networks import FullyConnected, Linearised, Symmetric, ThreeLayerResNet, TwoLayer
from refusals import refused

STEP = StepSettings(1.0, 1.0)
PROCESS = ProcessSettings(Symmetric(), STEP, STEP, STEP, steps=10, batch=5)
SQUARED = GradientDescent(6, 0.05, loss=Squared())
LAYERS, ONCE = Layerwise(SQUARED, SQUARED), OnePass(9, 0.1, 0.03)
RULE = Descent(30, adamw(0.01), loss=Squared())
DEEP, RESNET = FullyConnected(10, 3), ThreeLayerResNet(4)


def begun(rule: Any, network: Any) -> tuple[Any, ...]:
    """The call by which a rule draws the start of a network."""
    return rule.initialise, network, 5, 3, Stream(0)


CASES: list[tuple[Any, ...]] = [
    (r"freeze_hidden_after must lie in \[0, 2\], got 3", FeatureLearning, PROCESS, 3),
    (r"^class_weights must be positive, got -2.0$", lambda: replace(STEP, class_weights=(1.0, -2.0))),
    (r"second.group must be 'all' or 'hidden', got 'V'", Layerwise, SQUARED, replace(SQUARED, group="V")),
    (r"first must be a GradientDescent, got Layerwise\(first=.*…$", Layerwise, LAYERS, SQUARED),
    (r"must have one loss, got Squared\(\) and Hinge\(\)$", Layerwise, SQUARED, replace(SQUARED, loss=Hinge())),
    (r"^layerwise training is for a ThreeLayerResNet, got a TwoLayer$", *begun(LAYERS, TwoLayer(4))),
    (r"^layerwise training is for a ThreeLayerResNet, got a Linearised$", *begun(LAYERS, Linearised(RESNET))),
    (r"^activation must be zero at zero", *begun(LAYERS, ThreeLayerResNet(4, activation="cosine"))),
    (r"^Algorithm 1 trains the matrices W and V of a ThreeLayerResNet in the", *begun(ONCE, RESNET)),
    (r"^Algorithm 1 trains the matrices W and V of a ThreeLayerResNet in the", *begun(ONCE, TwoLayer(4))),
    (r"one value for each stage", Staged, RULE, ("all",), (3, 4)),
    (r"steps must lie between 0 and the 30 of the rule, got 30", Staged.frozen_after, RULE, 30),
    (r"all blocks .* in their order, \('layer1', 'la", *begun(Blockwise(RULE, ("layer1", "output")), DEEP)),
    (r"unknown block 'layer3', did you mean layer2 or layer1\?", *begun(Corrected(RULE, "layer3"), DEEP)),
    (r"upto must come before the last block, got 'output'", *begun(Corrected(RULE, "output"), DEEP)),
    (r"fixed must not come after upto='layer1', got 'layer2'", *begun(Corrected(RULE, "layer1", "layer2"), DEEP)),
    (r"parameters outside of linear layers", *begun(Corrected(RULE, "hidden"), Linearised(TwoLayer(4)))),
    (r"^rule\.group must be 'all', got 'last'", Blockwise, GradientDescent(3, 0.1, group="last"), ("layer1", "output")),
    (r"^optimiser must end with its learning rate, .* got a last rule Adam$", Descent, 10, Adam()),
    (r"^value must not be negative, got -1.0$", Rate, -1.0),
    (r"^value must be a Schedule or a number, got 'fast'$", Rate, "fast"),
    (r"^momentum must lie in \[0, 1\), got 1.0$", Momentum, 1.0),
    (r"^parts must hold at least one value, got none$", chain),
    (r"^each of parts must be an Optimiser, got 3$", chain, Rate(1.0), 3),
    (r"^steps must be positive, got 0$", Cosine, 0.1, 0),
    (r"^then must be a Schedule or a number, got None$", WarmUp, 5, None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refusals(case):
    refused(*case)
