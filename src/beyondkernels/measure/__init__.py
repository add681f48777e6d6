"""Measurements of runs: feature alignment, neuron directions, coupling with the start."""

from beyondkernels.measure.alignment import Alignment, cosines
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.coupling import Coupling, CouplingTerms, coupling_bounds, coupling_terms
from beyondkernels.measure.directions import Directions, classical_scaling, cosine_distances
from beyondkernels.measure.existence import gate_bounds
from beyondkernels.measure.learnt import LearntSignals
from beyondkernels.measure.norms import NormedNetwork
from beyondkernels.measure.regret import (
    Regret,
    RegretTerms,
    Witness,
    along,
    error_bound,
    existence_errors,
    regret_terms,
)

__all__ = [
    "Alignment",
    "Coupling",
    "CouplingTerms",
    "Directions",
    "LearntSignals",
    "Measurement",
    "NormedNetwork",
    "Regret",
    "RegretTerms",
    "Witness",
    "along",
    "classical_scaling",
    "cosine_distances",
    "cosines",
    "coupling_bounds",
    "coupling_terms",
    "error_bound",
    "existence_errors",
    "gate_bounds",
    "over_steps",
    "regret_terms",
]
