"""Exact conjugate and tangent kernels of networks of finite width."""

from beyondkernels.kernels.finite.draws import MeanOverDraws
from beyondkernels.kernels.finite.given import KernelAt
from beyondkernels.kernels.finite.gram import (
    FiniteConjugate,
    FiniteTangent,
    conjugate_features,
    conjugate_gram,
    module_tangent_gram,
    tangent_gram,
)

__all__ = [
    "FiniteConjugate",
    "FiniteTangent",
    "KernelAt",
    "MeanOverDraws",
    "conjugate_features",
    "conjugate_gram",
    "module_tangent_gram",
    "tangent_gram",
]
