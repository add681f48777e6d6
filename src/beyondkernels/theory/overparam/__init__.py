"""Allen-Zhu, Li & Liang, Learning and generalization in overparameterized neural networks: what the proofs build."""

from beyondkernels.theory.overparam.estimate import IndicatorEstimate
from beyondkernels.theory.overparam.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.theory.overparam.indicator import (
    IndicatorFunction,
    indicator_function,
    least_constant,
    unbiased_indicator_function,
)

__all__ = [
    "IndicatorEstimate",
    "IndicatorFunction",
    "gated_mean",
    "indicator_function",
    "least_constant",
    "sampled_mean",
    "second_moment",
    "unbiased_indicator_function",
]
