"""Allen-Zhu, Li & Liang, Learning and generalization in overparameterized neural networks: what the proofs build."""

from beyondkernels.theory.overparam.estimate import IndicatorEstimate
from beyondkernels.theory.overparam.existence import ExistingNetwork, existing_weights
from beyondkernels.theory.overparam.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.theory.overparam.indicator import (
    IndicatorFunction,
    indicator_function,
    least_constant,
    unbiased_indicator_function,
)
from beyondkernels.theory.overparam.pseudo import (
    ThreeLayerGates,
    gates,
    pseudo_three_layer,
    pseudo_two_layer,
    smoothed_pseudo,
    stronger_coupling,
    three_layer_gates,
)

__all__ = [
    "ExistingNetwork",
    "IndicatorEstimate",
    "IndicatorFunction",
    "ThreeLayerGates",
    "existing_weights",
    "gated_mean",
    "gates",
    "indicator_function",
    "least_constant",
    "pseudo_three_layer",
    "pseudo_two_layer",
    "sampled_mean",
    "second_moment",
    "smoothed_pseudo",
    "stronger_coupling",
    "three_layer_gates",
    "unbiased_indicator_function",
]
