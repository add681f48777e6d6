"""Recursive feature machines: kernels that learn which directions matter."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.feature_machines.machine import (
    FeatureMachineFit as FeatureMachineFit,
    FeatureMachineRound as FeatureMachineRound,
    RecursiveFeatureMachine as RecursiveFeatureMachine,
    feature_machine_bytes as feature_machine_bytes,
    fit_feature_machine as fit_feature_machine,
)
from beyondkernels.kernels.feature_machines.metric import (
    MetricKernel as MetricKernel,
    gradient_outer_product as gradient_outer_product,
    kernel_gradients as kernel_gradients,
)

_check_exports(globals())
