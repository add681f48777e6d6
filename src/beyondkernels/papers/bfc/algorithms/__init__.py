"""The training rules of the paper on backward feature correction."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.algorithms.densenet_sgd import DenseNetSGD as DenseNetSGD
from beyondkernels.papers.bfc.algorithms.distillation import (
    Penalties as Penalties,
    initial_distill as initial_distill,
    regularised as regularised,
    regulariser as regulariser,
)
from beyondkernels.papers.bfc.algorithms.joining import Joining as Joining

_check_exports(globals())
