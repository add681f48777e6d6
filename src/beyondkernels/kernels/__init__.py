"""Kernels and fixed feature maps, and solvers that state the error of what they return."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from beyondkernels.kernels.base import Kernel, Product, Scaled, Sum
from beyondkernels.kernels.classical import (
    Arcsin,
    Correlation,
    DerivativeFeatures,
    FourierFeatures,
    FunctionFeatures,
    FunctionKernel,
    Gaussian,
    GaussianFeatures,
    InversePolynomial,
    Laplace,
    ParityFeatures,
    PolynomialKernel,
    RandomFeatureKernel,
    RandomFeatures,
    Recursive,
    squared_distances,
)
from beyondkernels.kernels.classifiers import (
    ConstantClassifier,
    FixedFeatureClassifier,
)
from beyondkernels.kernels.conformance import (
    Finding,
    check_kernel,
    require_psd,
)
from beyondkernels.kernels.constant import (
    Constant,
)
from beyondkernels.kernels.feature_machines import (
    FeatureMachineFit,
    FeatureMachineRound,
    MetricKernel,
    RecursiveFeatureMachine,
    fit_feature_machine,
    gradient_outer_product,
    kernel_gradients,
)
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
from beyondkernels.kernels.finite import (
    ConjugateAt,
    FiniteConjugate,
    FiniteTangent,
    KernelAt,
    MeanOverDraws,
    TangentAt,
    conjugate_features,
    conjugate_gram,
    module_tangent_gram,
    tangent_gram,
)
from beyondkernels.kernels.infinite import (
    InfiniteConjugate,
    InfiniteLearnerTangent,
    InfiniteResNetConjugate,
    InfiniteResNetTangent,
    InfiniteTangent,
    infinite_conjugate,
    infinite_tangent,
)
from beyondkernels.kernels.learner import (
    KernelRidge,
)
from beyondkernels.kernels.reduction import (
    merge_neurons,
    span_basis,
)
from beyondkernels.kernels.selection import (
    RIDGES,
    RidgeChoice,
    RidgeTrial,
    choose_ridge,
)
from beyondkernels.kernels.sequential import (
    SequentialKernels,
)
from beyondkernels.kernels.solvers import (
    RELATIVE_RIDGES,
    Descent,
    HingeSolution,
    LargeSolution,
    LinearisedTraining,
    NystromFactor,
    RidgePath,
    RidgeSolution,
    Spectrum,
    linearised_training,
    nystrom_factor,
    ridge_path,
    solve_features,
    solve_gram,
    solve_hinge,
    solve_large,
    spectrum,
)
from beyondkernels.kernels.tangent import (
    TangentFeatures,
    tangent_feature_map,
    tangent_feature_operator,
)
from beyondkernels.kernels.two_step import (
    TwoStepRidge,
)

if TYPE_CHECKING:
    from beyondkernels.kernels.estimators import (
        ConjugateKernelClassifier,
        ConjugateKernelRegressor,
        KernelRidgePath,
        KernelRidgePathClassifier,
        RandomFeaturesClassifier,
        RandomFeaturesRegressor,
        RecursiveFeatureMachineClassifier,
        RecursiveFeatureMachineRegressor,
        TangentKernelClassifier,
        TangentKernelRegressor,
    )

_ESTIMATORS = (
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
)

__all__ = [
    "RELATIVE_RIDGES",
    "RIDGES",
    "Arcsin",
    "CentredFeatures",
    "ConjugateAt",
    "ConjugateKernelClassifier",
    "ConjugateKernelRegressor",
    "Constant",
    "ConstantClassifier",
    "Correlation",
    "DenseFeatures",
    "DerivativeFeatures",
    "Descent",
    "FeatureMachineFit",
    "FeatureMachineRound",
    "FeatureMap",
    "FeatureOperator",
    "FeatureSource",
    "Finding",
    "FiniteConjugate",
    "FiniteTangent",
    "FixedFeatureClassifier",
    "FourierFeatures",
    "FunctionFeatures",
    "FunctionKernel",
    "Gaussian",
    "GaussianFeatures",
    "HingeSolution",
    "InfiniteConjugate",
    "InfiniteLearnerTangent",
    "InfiniteResNetConjugate",
    "InfiniteResNetTangent",
    "InfiniteTangent",
    "InputFeatures",
    "InversePolynomial",
    "Kernel",
    "KernelAt",
    "KernelRidge",
    "KernelRidgePath",
    "KernelRidgePathClassifier",
    "Laplace",
    "LargeSolution",
    "LinearisedTraining",
    "MeanOverDraws",
    "MetricKernel",
    "NystromFactor",
    "ParityFeatures",
    "PolynomialKernel",
    "Product",
    "RandomFeatureKernel",
    "RandomFeatures",
    "RandomFeaturesClassifier",
    "RandomFeaturesRegressor",
    "Recursive",
    "RecursiveFeatureMachine",
    "RecursiveFeatureMachineClassifier",
    "RecursiveFeatureMachineRegressor",
    "RidgeChoice",
    "RidgePath",
    "RidgeSolution",
    "RidgeTrial",
    "Scaled",
    "SequentialKernels",
    "Spectrum",
    "Sum",
    "TangentAt",
    "TangentFeatures",
    "TangentKernelClassifier",
    "TangentKernelRegressor",
    "TwoStepRidge",
    "check_kernel",
    "choose_ridge",
    "conjugate_features",
    "conjugate_gram",
    "fit_feature_machine",
    "gradient_outer_product",
    "infinite_conjugate",
    "infinite_tangent",
    "kernel_gradients",
    "linearised_training",
    "merge_neurons",
    "module_tangent_gram",
    "nystrom_factor",
    "random_feature_map",
    "random_feature_operator",
    "require_psd",
    "ridge_path",
    "solve_features",
    "solve_gram",
    "solve_hinge",
    "solve_large",
    "span_basis",
    "spectrum",
    "squared_distances",
    "tangent_feature_map",
    "tangent_feature_operator",
    "tangent_gram",
]


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:  # scikit-learn takes most of a second to load
        return getattr(importlib.import_module("beyondkernels.kernels.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # Tab offers the estimators too
