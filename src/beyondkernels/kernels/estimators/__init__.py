"""Scikit-learn estimators: ridge regression with kernels of networks, with random features and with any kernel."""

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
