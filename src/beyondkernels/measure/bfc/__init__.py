"""Measurements for the paper on backward feature correction: errors, contributions and sizes of each layer."""

from beyondkernels.measure.bfc.features import FeatureErrors, HiddenNorms, LayerContributions
from beyondkernels.measure.bfc.second_layer import SecondLayer

__all__ = ["FeatureErrors", "HiddenNorms", "LayerContributions", "SecondLayer"]
