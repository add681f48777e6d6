"""Exact conjugate and tangent kernels of networks of finite width."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.finite.at import ConjugateAt as ConjugateAt, TangentAt as TangentAt
from beyondkernels.kernels.finite.draws import MeanOverDraws as MeanOverDraws
from beyondkernels.kernels.finite.functional import (
    conjugate_features as conjugate_features,
    module_tangent_gram as module_tangent_gram,
    tangent_gram as tangent_gram,
)
from beyondkernels.kernels.finite.gram import FiniteConjugate as FiniteConjugate, FiniteTangent as FiniteTangent
from beyondkernels.kernels.finite.kernel_at import KernelAt as KernelAt

_check_exports(globals())
