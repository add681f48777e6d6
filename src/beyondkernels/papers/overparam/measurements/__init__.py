"""Measurements of the learners of the paper on overparameterised networks: coupling with the start, complexity."""

from beyondkernels.papers.overparam.measurements.landscape import SmoothedLandscape as SmoothedLandscape
from beyondkernels.papers.overparam.measurements.rademacher import RademacherComplexity as RademacherComplexity
from beyondkernels.papers.overparam.measurements.smoothing import SmoothedCoupling as SmoothedCoupling
from beyondkernels.papers.overparam.measurements.three_layer import (
    ThreeLayerCoupling as ThreeLayerCoupling,
    three_layer_bounds as three_layer_bounds,
)
from beyondkernels.papers.overparam.measurements.two_layer import (
    TwoLayerCoupling as TwoLayerCoupling,
    TwoLayerTerms as TwoLayerTerms,
    two_layer_bounds as two_layer_bounds,
    two_layer_terms as two_layer_terms,
)
