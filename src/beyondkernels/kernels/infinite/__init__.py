"""Conjugate and tangent kernels of infinitely wide networks."""

from beyondkernels.kernels.infinite.fully_connected import (
    InfiniteConjugate,
    InfiniteTangent,
    infinite_conjugate,
    infinite_tangent,
)
from beyondkernels.kernels.infinite.learners import InfiniteLearnerTangent
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent

__all__ = [
    "InfiniteConjugate",
    "InfiniteLearnerTangent",
    "InfiniteResNetConjugate",
    "InfiniteResNetTangent",
    "InfiniteTangent",
    "infinite_conjugate",
    "infinite_tangent",
]
