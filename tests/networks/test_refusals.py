"""What the networks refuse: a sentence for each kind of error, with the names and numbers in it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from beyondkernels.core import Stream
from beyondkernels.kernels import infinite_conjugate
from beyondkernels.networks import (
    FromModule,
    FullyConnected,
    Linearised,
    Parameterisation,
    Prefix,
    ThreeLayerResNet,
    TwoLayer,
    find_blocks,
    initial_stds,
    with_blocks,
)
from refusals import refused

PLAIN, BIASED = Parameterisation("standard"), Parameterisation("standard", bias_variance=1.0)

CASES: list[tuple[Any, ...]] = [
    (r"^width must be even for a readout of half of each sign, got 3$", lambda: FullyConnected(3, readout="signs")),
    (r"^unknown activation 'rlu', did you mean relu", FullyConnected, 3, 3, "rlu"),
    (r"^activation must be an Activation or text, got <built-in .*relu", TwoLayer, 3, torch.relu),
    (r"^unknown initialisation 'symetric', did you mean symmetric", TwoLayer, 3, "truncated_relu", "symetric"),
    (r"^network must have a normal .*'signs'", infinite_conjugate, FullyConnected(6, depth=2, readout="signs")),
    (r"^network must not be Linearised already$", Linearised, Linearised(TwoLayer(3))),
    (r"^bias_variance must be positive \(None for no biases\), got 0$", Parameterisation, "ntk", 2.0, 0),
    (r"^bias_variance must not be negative .*, got -0\.1$", Parameterisation, "standard", 2.0, -0.1),
    (
        r"^readout_bias_variance must be None: the readout of the three-layer ResNet has no bias$",
        lambda: ThreeLayerResNet(3, parameterisation=Parameterisation(readout_bias_variance=0.1)),
    ),
    (r"^second is for the bottleneck form, got .*'full'$", ThreeLayerResNet, 4, "full", "relu", BIASED, BIASED),
    (r"must be of kind 'standard' beside second, got 'ntk'$", lambda: ThreeLayerResNet(4, "bottleneck", second=BIASED)),
    (r"must both have biases .* got 1\.0 and None$", ThreeLayerResNet, 4, "bottleneck", "relu", BIASED, PLAIN),
    (r"^network must be of the bottleneck form, got form='full'$", initial_stds, ThreeLayerResNet(4), 3, 2),
    (r"factory must be a function of \(in_dim, out_dim\)", FromModule, lambda: nn.Linear(3, 1), "mine"),
    (r"factory must be a function of \(in_dim, out_dim\)", FromModule, lambda in_dim: nn.Linear(in_dim, 1), "mine"),
    (r"layer 'A' of ThreeLayerResNet is used more than once", find_blocks, ThreeLayerResNet(4, "bottleneck"), 5, 2),
    (r"Linearised has parameters outside of linear layers", find_blocks, Linearised(TwoLayer(3)), 5, 2),
    (r"those of TwoLayer are its layers: leave them out", with_blocks, TwoLayer(3), 5, 2, ("hidden",)),
    (r"unknown block 'layer9', did you mean layer2", Prefix(FullyConnected(4), "layer9").init, 5, 2, Stream(0)),
    (r"block must come before the last one, got 'last'", Prefix(TwoLayer(4), "last").init, 5, 1, Stream(0)),
    (r"must be a whole network, got a Prefix", Prefix, Prefix(TwoLayer(4), "hidden"), "hidden"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refusals(case):
    refused(*case)
