"""Measurements for the paper on backward feature correction: errors, contributions and sizes of each layer."""

from beyondkernels.measure.bfc.features import FeatureErrors, HiddenNorms, LayerContributions
from beyondkernels.measure.bfc.procrustes import aligned, linear_error, procrustes

__all__ = ["FeatureErrors", "HiddenNorms", "LayerContributions", "aligned", "linear_error", "procrustes"]
