"""Scikit-learn estimators: kernels of networks, random features and any kernel of the package, by ridge regression."""

from beyondkernels.kernels.estimators.conjugate import ConjugateKernelClassifier, ConjugateKernelRegressor
from beyondkernels.kernels.estimators.feature_machines import (
    RecursiveFeatureMachineClassifier,
    RecursiveFeatureMachineRegressor,
)
from beyondkernels.kernels.estimators.random_features import RandomFeaturesClassifier, RandomFeaturesRegressor
from beyondkernels.kernels.estimators.ridge import KernelRidgePath, KernelRidgePathClassifier
from beyondkernels.kernels.estimators.tangent import TangentKernelClassifier, TangentKernelRegressor

__all__ = [
    "ConjugateKernelClassifier",
    "ConjugateKernelRegressor",
    "KernelRidgePath",
    "KernelRidgePathClassifier",
    "RandomFeaturesClassifier",
    "RandomFeaturesRegressor",
    "RecursiveFeatureMachineClassifier",
    "RecursiveFeatureMachineRegressor",
    "TangentKernelClassifier",
    "TangentKernelRegressor",
]
