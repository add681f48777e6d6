"""The paper on backward feature correction: symmetric tensors, and features up to a rotation."""

from beyondkernels.theory.bfc.procrustes import aligned, distilled, linear_error, procrustes
from beyondkernels.theory.bfc.symmetric import induced, pairs, quartic, star, sym

__all__ = ["aligned", "distilled", "induced", "linear_error", "pairs", "procrustes", "quartic", "star", "sym"]
