"""Kernels and fixed feature maps, with solvers that say how exact they are."""

from beyondkernels.kernels.classifiers import ConstantClassifier, FixedFeatureClassifier
from beyondkernels.kernels.features import (
    CentredFeatures,
    DenseFeatures,
    FeatureMap,
    FeatureOperator,
    FeatureSource,
    InputFeatures,
    random_feature_map,
    random_feature_operator,
)
from beyondkernels.kernels.hinge import HingeSolution, solve_hinge
from beyondkernels.kernels.reduction import merge_neurons, span_basis
from beyondkernels.kernels.selection import RIDGES, RidgeChoice, RidgeTrial, choose_ridge
from beyondkernels.kernels.tangent import TangentFeatures, tangent_feature_map, tangent_feature_operator

__all__ = [
    "RIDGES",
    "CentredFeatures",
    "ConstantClassifier",
    "DenseFeatures",
    "FeatureMap",
    "FeatureOperator",
    "FeatureSource",
    "FixedFeatureClassifier",
    "HingeSolution",
    "InputFeatures",
    "RidgeChoice",
    "RidgeTrial",
    "TangentFeatures",
    "choose_ridge",
    "merge_neurons",
    "random_feature_map",
    "random_feature_operator",
    "solve_hinge",
    "span_basis",
    "tangent_feature_map",
    "tangent_feature_operator",
]
