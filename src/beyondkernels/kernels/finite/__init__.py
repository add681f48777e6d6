"""Exact conjugate and tangent kernels of networks of finite width."""

from beyondkernels.kernels.finite.at import ConjugateAt, TangentAt
from beyondkernels.kernels.finite.draws import MeanOverDraws
from beyondkernels.kernels.finite.functional import (
    conjugate_features,
    conjugate_gram,
    module_tangent_gram,
    tangent_gram,
)
from beyondkernels.kernels.finite.given import KernelAt
from beyondkernels.kernels.finite.gram import FiniteConjugate, FiniteTangent

__all__ = [
    "ConjugateAt",
    "FiniteConjugate",
    "FiniteTangent",
    "KernelAt",
    "MeanOverDraws",
    "TangentAt",
    "conjugate_features",
    "conjugate_gram",
    "module_tangent_gram",
    "tangent_gram",
]
