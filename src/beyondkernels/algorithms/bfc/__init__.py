"""The training rules of the paper on backward feature correction."""

from beyondkernels.algorithms.bfc.densenet_sgd import DenseNetSGD
from beyondkernels.algorithms.bfc.distillation import Penalties, initial_distill, regularised, regulariser
from beyondkernels.algorithms.bfc.joining import Joining

__all__ = [
    "DenseNetSGD",
    "Joining",
    "Penalties",
    "initial_distill",
    "regularised",
    "regulariser",
]
