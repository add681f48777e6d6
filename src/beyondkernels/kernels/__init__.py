"""Kernels and fixed feature maps, and solvers that state the error of what they return."""

from typing import TYPE_CHECKING

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.core.rooms import lazily
from beyondkernels.kernels.base import Kernel as Kernel, Product as Product, Scaled as Scaled, Sum as Sum
from beyondkernels.kernels.classical.arcsin import Arcsin as Arcsin
from beyondkernels.kernels.classical.correlation import Correlation as Correlation
from beyondkernels.kernels.classical.drawn_maps import (
    DerivativeFeatures as DerivativeFeatures,
    ParityFeatures as ParityFeatures,
)
from beyondkernels.kernels.classical.function import FunctionKernel as FunctionKernel
from beyondkernels.kernels.classical.gaussian import Gaussian as Gaussian
from beyondkernels.kernels.classical.inverse_polynomial import (
    InversePolynomial as InversePolynomial,
)
from beyondkernels.kernels.classical.laplace import Laplace as Laplace
from beyondkernels.kernels.classical.polynomial import PolynomialKernel as PolynomialKernel
from beyondkernels.kernels.classical.random_features import (
    FourierFeatures as FourierFeatures,
    FunctionFeatures as FunctionFeatures,
    GaussianFeatures as GaussianFeatures,
    RandomFeatureKernel as RandomFeatureKernel,
    RandomFeatures as RandomFeatures,
)
from beyondkernels.kernels.classifiers import (
    ConstantClassifier as ConstantClassifier,
    FixedFeatureClassifier as FixedFeatureClassifier,
)
from beyondkernels.kernels.conformance import (
    check_kernel as check_kernel,
    require_psd as require_psd,
)
from beyondkernels.kernels.constant import Constant as Constant
from beyondkernels.kernels.feature_machines.machine import (
    RecursiveFeatureMachine as RecursiveFeatureMachine,
    fit_feature_machine as fit_feature_machine,
)
from beyondkernels.kernels.feature_machines.metric import (
    MetricKernel as MetricKernel,
)
from beyondkernels.kernels.features import (
    DenseFeatures as DenseFeatures,
    FeatureMap as FeatureMap,
    FeatureOperator as FeatureOperator,
    FeatureSource as FeatureSource,
    InputFeatures as InputFeatures,
    random_feature_map as random_feature_map,
)
from beyondkernels.kernels.finite.at import ConjugateAt as ConjugateAt, TangentAt as TangentAt
from beyondkernels.kernels.finite.draws import MeanOverDraws as MeanOverDraws
from beyondkernels.kernels.finite.functional import (
    conjugate_features as conjugate_features,
    module_tangent_gram as module_tangent_gram,
    tangent_gram as tangent_gram,
)
from beyondkernels.kernels.finite.given import KernelAt as KernelAt
from beyondkernels.kernels.finite.gram import FiniteConjugate as FiniteConjugate, FiniteTangent as FiniteTangent
from beyondkernels.kernels.infinite.fully_connected import (
    InfiniteConjugate as InfiniteConjugate,
    InfiniteTangent as InfiniteTangent,
    infinite_conjugate as infinite_conjugate,
    infinite_tangent as infinite_tangent,
)
from beyondkernels.kernels.learner import KernelRidge as KernelRidge
from beyondkernels.kernels.sequential import SequentialKernels as SequentialKernels
from beyondkernels.kernels.solvers.intercept import (
    RidgeSolution as RidgeSolution,
    solve_features as solve_features,
)
from beyondkernels.kernels.solvers.large import solve_large as solve_large
from beyondkernels.kernels.solvers.linearised import (
    LinearisedTraining as LinearisedTraining,
    linearised_training as linearised_training,
)
from beyondkernels.kernels.solvers.ridge import (
    RidgePath as RidgePath,
    ridge_path as ridge_path,
)
from beyondkernels.kernels.solvers.spectrum import spectrum as spectrum
from beyondkernels.kernels.tangent import (
    tangent_feature_map as tangent_feature_map,
)
from beyondkernels.kernels.two_step import TwoStepRidge as TwoStepRidge

if TYPE_CHECKING:
    from beyondkernels.kernels.estimators import *

# scikit-learn takes most of a second to load
__getattr__, __dir__ = lazily(__name__, ("estimators",))

_check_exports(globals())
