"""Recursive feature machines: kernels that learn which directions matter."""

from beyondkernels.kernels.recursive.machine import RecursiveFeatureMachine, RecursiveFit, fit_recursive
from beyondkernels.kernels.recursive.metric import MetricKernel, gradient_outer_product, gradients

__all__ = [
    "MetricKernel",
    "RecursiveFeatureMachine",
    "RecursiveFit",
    "fit_recursive",
    "gradient_outer_product",
    "gradients",
]
