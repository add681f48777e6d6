"""Recursive feature machines: kernels that learn which directions matter."""

from beyondkernels.kernels.feature_machines.machine import (
    FeatureMachineFit,
    FeatureMachineRound,
    RecursiveFeatureMachine,
    feature_machine_bytes,
    fit_feature_machine,
)
from beyondkernels.kernels.feature_machines.metric import MetricKernel, gradient_outer_product, kernel_gradients

__all__ = [
    "FeatureMachineFit",
    "FeatureMachineRound",
    "MetricKernel",
    "RecursiveFeatureMachine",
    "feature_machine_bytes",
    "fit_feature_machine",
    "gradient_outer_product",
    "kernel_gradients",
]
