"""Measurements of runs: feature alignment, neuron directions, coupling with the start."""

from beyondkernels.measure.alignment import Alignment, cosines
from beyondkernels.measure.base import Measurement
from beyondkernels.measure.coupling import Coupling, CouplingTerms, coupling_bounds, coupling_terms
from beyondkernels.measure.directions import Directions, classical_scaling, cosine_distances
from beyondkernels.measure.learnt import LearntSignals
from beyondkernels.measure.regret import Regret, RegretTerms, Witness, along, existence_errors, regret_terms
from beyondkernels.measure.resnet_weights import ResNetWeights

__all__ = [
    "Alignment",
    "Coupling",
    "CouplingTerms",
    "Directions",
    "LearntSignals",
    "Measurement",
    "Regret",
    "RegretTerms",
    "ResNetWeights",
    "Witness",
    "along",
    "classical_scaling",
    "cosine_distances",
    "cosines",
    "coupling_bounds",
    "coupling_terms",
    "existence_errors",
    "regret_terms",
]
