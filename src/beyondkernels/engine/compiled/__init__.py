"""The compiled backend: training steps in C++ for the networks that are trained in large numbers."""

from beyondkernels.engine.compiled.library import available
from beyondkernels.engine.compiled.training import advance, prepare, refusal

__all__ = ["advance", "available", "prepare", "refusal"]
