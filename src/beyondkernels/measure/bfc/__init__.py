"""Measurements for the paper on backward feature correction: what each layer has learnt, and the way down."""

from beyondkernels.measure.bfc.degrees import CoefficientErrors
from beyondkernels.measure.bfc.descent import DescentDirections, slope_and_curvature
from beyondkernels.measure.bfc.features import FeatureErrors, HiddenNorms, LayerContributions
from beyondkernels.measure.bfc.ranks import FoundRanks
from beyondkernels.measure.bfc.second_layer import SecondLayer

__all__ = [
    "CoefficientErrors",
    "DescentDirections",
    "FeatureErrors",
    "FoundRanks",
    "HiddenNorms",
    "LayerContributions",
    "SecondLayer",
    "slope_and_curvature",
]
