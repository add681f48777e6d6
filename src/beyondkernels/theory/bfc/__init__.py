"""Allen-Zhu & Li, Backward feature correction: the numbers of its algorithm."""

from beyondkernels.theory.bfc.constants import DenseNetSettings, practical, theorem1

__all__ = [
    "DenseNetSettings",
    "practical",
    "theorem1",
]
