"""Scikit-learn estimators: ridge regression with kernels of networks, with random features and with any kernel."""

from beyondkernels.kernels.estimators.conjugate import (
    ConjugateKernelClassifier as ConjugateKernelClassifier,
    ConjugateKernelRegressor as ConjugateKernelRegressor,
)
from beyondkernels.kernels.estimators.feature_machines import (
    RecursiveFeatureMachineClassifier as RecursiveFeatureMachineClassifier,
    RecursiveFeatureMachineRegressor as RecursiveFeatureMachineRegressor,
)
from beyondkernels.kernels.estimators.random_features import (
    RandomFeaturesClassifier as RandomFeaturesClassifier,
    RandomFeaturesRegressor as RandomFeaturesRegressor,
)
from beyondkernels.kernels.estimators.ridge import (
    KernelRidgePath as KernelRidgePath,
    KernelRidgePathClassifier as KernelRidgePathClassifier,
)
from beyondkernels.kernels.estimators.tangent import (
    TangentKernelClassifier as TangentKernelClassifier,
    TangentKernelRegressor as TangentKernelRegressor,
)
