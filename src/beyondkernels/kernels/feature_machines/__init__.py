"""Recursive feature machines: kernels that learn which directions matter."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.feature_machines.machine import (
    RecursiveFeatureMachine as RecursiveFeatureMachine,
    fit_feature_machine as fit_feature_machine,
)
from beyondkernels.kernels.feature_machines.metric import (
    MetricKernel as MetricKernel,
)

_check_exports(globals())
