"""Measurements of the learners of the paper on overparameterised networks: coupling with the start, complexity."""

from beyondkernels.measure.overparam.landscape import SmoothedLandscape
from beyondkernels.measure.overparam.rademacher import RademacherComplexity
from beyondkernels.measure.overparam.smoothing import SmoothedCoupling
from beyondkernels.measure.overparam.three_layer import ThreeLayerCoupling, three_layer_bounds
from beyondkernels.measure.overparam.two_layer import (
    TwoLayerCoupling,
    TwoLayerTerms,
    two_layer_bounds,
    two_layer_terms,
)

__all__ = [
    "RademacherComplexity",
    "SmoothedCoupling",
    "SmoothedLandscape",
    "ThreeLayerCoupling",
    "TwoLayerCoupling",
    "TwoLayerTerms",
    "three_layer_bounds",
    "two_layer_bounds",
    "two_layer_terms",
]
