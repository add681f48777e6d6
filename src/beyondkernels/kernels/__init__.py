"""Kernels and fixed feature maps, and solvers that state the error of what they return."""

from typing import TYPE_CHECKING

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.core.rooms import lazily
from beyondkernels.kernels.base import Kernel as Kernel, Product as Product, Scaled as Scaled, Sum as Sum
from beyondkernels.kernels.classifiers import (
    ConstantClassifier as ConstantClassifier,
    FixedFeatureClassifier as FixedFeatureClassifier,
)
from beyondkernels.kernels.conformance import check_kernel as check_kernel
from beyondkernels.kernels.constant import Constant as Constant
from beyondkernels.kernels.features import (
    DenseFeatures as DenseFeatures,
    FeatureMap as FeatureMap,
    FeatureOperator as FeatureOperator,
    FeatureSource as FeatureSource,
    InputFeatures as InputFeatures,
    random_feature_map as random_feature_map,
)
from beyondkernels.kernels.learner import KernelRidge as KernelRidge
from beyondkernels.kernels.sequential import SequentialKernels as SequentialKernels
from beyondkernels.kernels.tangent import tangent_feature_map as tangent_feature_map
from beyondkernels.kernels.tuned import TunedKernel as TunedKernel
from beyondkernels.kernels.two_step import TwoStepRidge as TwoStepRidge

if TYPE_CHECKING:
    from beyondkernels.kernels.classical import *
    from beyondkernels.kernels.estimators import *
    from beyondkernels.kernels.feature_machines import *
    from beyondkernels.kernels.finite import *
    from beyondkernels.kernels.infinite import *
    from beyondkernels.kernels.solvers import *

# the estimators last: scikit-learn takes most of a second to load
__getattr__, __dir__ = lazily(
    __name__, ("classical", "finite", "infinite", "feature_machines", "solvers", "estimators")
)

_check_exports(globals())
