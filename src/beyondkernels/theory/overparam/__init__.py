"""Allen-Zhu, Li & Liang, Learning and generalization in overparameterized neural networks: what the proofs build."""

from beyondkernels.theory.overparam.composed import composed_complexity
from beyondkernels.theory.overparam.descent import (
    crossing_terms,
    penalty,
    penalty_growth,
    smoothed_coupling_bound,
    truth_direction,
)
from beyondkernels.theory.overparam.estimate import IndicatorEstimate, least_star
from beyondkernels.theory.overparam.existence import ExistingNetwork, existing_weights
from beyondkernels.theory.overparam.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.theory.overparam.indicator import (
    IndicatorFunction,
    indicator_function,
    least_constant,
    unbiased_indicator_function,
)
from beyondkernels.theory.overparam.intervals import IntervalPartition
from beyondkernels.theory.overparam.lemma53 import (
    ThreeLayerSettings,
    lemma53,
    practical,
    waiting_time,
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
from beyondkernels.theory.overparam.rademacher import (
    real_at_maximum,
    sign_vectors,
    spectral_bound,
    three_layer_bound,
    three_layer_suprema,
    two_layer_bound,
    two_layer_suprema,
)
from beyondkernels.theory.overparam.randomness import (
    Decomposition,
    RandomFirstLayers,
    decompose,
    scale_of,
    slope_excess,
)

__all__ = [
    "Decomposition",
    "ExistingNetwork",
    "IndicatorEstimate",
    "IndicatorFunction",
    "IntervalPartition",
    "RandomFirstLayers",
    "ThreeLayerGates",
    "ThreeLayerSettings",
    "composed_complexity",
    "crossing_terms",
    "decompose",
    "existing_weights",
    "gated_mean",
    "gates",
    "indicator_function",
    "least_constant",
    "least_star",
    "lemma53",
    "penalty",
    "penalty_growth",
    "practical",
    "pseudo_three_layer",
    "pseudo_two_layer",
    "real_at_maximum",
    "sampled_mean",
    "scale_of",
    "second_moment",
    "sign_vectors",
    "slope_excess",
    "smoothed_coupling_bound",
    "smoothed_pseudo",
    "spectral_bound",
    "stronger_coupling",
    "three_layer_bound",
    "three_layer_gates",
    "three_layer_suprema",
    "truth_direction",
    "two_layer_bound",
    "two_layer_suprema",
    "unbiased_indicator_function",
    "waiting_time",
]
