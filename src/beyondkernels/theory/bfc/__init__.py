"""The paper on backward feature correction: symmetric tensors, features up to a rotation, numbers of its algorithm."""

from beyondkernels.theory.bfc.constants import DenseNetSettings, practical, theorem1
from beyondkernels.theory.bfc.procrustes import aligned, linear_error, procrustes
from beyondkernels.theory.bfc.proof import ProofConstants, ProofNumbers, definition_b3
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym

__all__ = [
    "DenseNetSettings",
    "ProofConstants",
    "ProofNumbers",
    "aligned",
    "definition_b3",
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
