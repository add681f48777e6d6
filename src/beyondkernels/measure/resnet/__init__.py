"""Measurements for the paper on ResNets: coupling with the start, regret, learnt signals."""

from beyondkernels.measure.resnet.coupling import Coupling, CouplingTerms, coupling_bounds, coupling_terms
from beyondkernels.measure.resnet.existence import gate_bounds
from beyondkernels.measure.resnet.learnt import LearntSignals
from beyondkernels.measure.resnet.proof import error_along, regret_along, regret_ratio
from beyondkernels.measure.resnet.regret import (
    Regret,
    RegretTerms,
    Witness,
    along,
    error_bound,
    existence_errors,
    regret_terms,
)

__all__ = [
    "Coupling",
    "CouplingTerms",
    "LearntSignals",
    "Regret",
    "RegretTerms",
    "Witness",
    "along",
    "coupling_bounds",
    "coupling_terms",
    "error_along",
    "error_bound",
    "existence_errors",
    "gate_bounds",
    "regret_along",
    "regret_ratio",
    "regret_terms",
]
