"""Conjugate and tangent kernels of infinitely wide networks."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.infinite import resnet as _resnet  # noqa: F401 - registers the limits of ResNets
from beyondkernels.kernels.infinite.fully_connected import (
    InfiniteConjugate as InfiniteConjugate,
    InfiniteTangent as InfiniteTangent,
    infinite_conjugate as infinite_conjugate,
    infinite_tangent as infinite_tangent,
)

_check_exports(globals())
