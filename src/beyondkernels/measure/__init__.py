"""Measurements of runs: feature alignment, neuron directions, coupling with the start, layers of a DenseNet."""

from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.bfc import (
    FeatureErrors,
    HiddenNorms,
    LayerContributions,
    SecondLayer,
)
from beyondkernels.measure.features import (
    Alignment,
    Directions,
    classical_scaling,
    cosine_distances,
    cosines,
)
from beyondkernels.measure.norms import NormedNetwork
from beyondkernels.measure.resnet import (
    Coupling,
    CouplingTerms,
    LearntSignals,
    Regret,
    RegretTerms,
    Witness,
    along,
    coupling_bounds,
    coupling_terms,
    error_along,
    error_bound,
    existence_errors,
    gate_bounds,
    regret_along,
    regret_ratio,
    regret_terms,
)

__all__ = [
    "Alignment",
    "Coupling",
    "CouplingTerms",
    "Directions",
    "FeatureErrors",
    "HiddenNorms",
    "LayerContributions",
    "LearntSignals",
    "Measurement",
    "NormedNetwork",
    "Regret",
    "RegretTerms",
    "SecondLayer",
    "Witness",
    "along",
    "classical_scaling",
    "cosine_distances",
    "cosines",
    "coupling_bounds",
    "coupling_terms",
    "error_along",
    "error_bound",
    "existence_errors",
    "gate_bounds",
    "over_steps",
    "regret_along",
    "regret_ratio",
    "regret_terms",
]
