"""The training rules of the paper on backward feature correction."""

from beyondkernels.algorithms.bfc.joining import Joining

__all__ = [
    "Joining",
]
