"""Conjugate and tangent kernels of infinitely wide networks."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.infinite.fully_connected import (
    InfiniteConjugate as InfiniteConjugate,
    InfiniteTangent as InfiniteTangent,
    infinite_conjugate as infinite_conjugate,
    infinite_tangent as infinite_tangent,
)
from beyondkernels.kernels.infinite.resnet import (
    InfiniteResNetConjugate as InfiniteResNetConjugate,
    InfiniteResNetTangent as InfiniteResNetTangent,
)

_check_exports(globals())
