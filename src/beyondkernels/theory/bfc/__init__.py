"""The paper on backward feature correction: its algorithm's numbers, symmetric tensors, features up to a rotation."""

from beyondkernels.theory.bfc.constants import DenseNetSettings, practical, theorem1
from beyondkernels.theory.bfc.procrustes import aligned, distilled, linear_error, procrustes
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym

__all__ = [
    "DenseNetSettings",
    "aligned",
    "distilled",
    "induced",
    "linear_error",
    "pairs",
    "practical",
    "procrustes",
    "quartic",
    "star",
    "sym",
    "theorem1",
]
