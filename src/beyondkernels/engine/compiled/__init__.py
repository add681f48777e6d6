"""The fast backend: steps written by hand in C++ for the families of networks that are swept."""

from beyondkernels.engine.compiled.library import available
from beyondkernels.engine.compiled.training import advance, prepare, refusal

__all__ = ["advance", "available", "prepare", "refusal"]
