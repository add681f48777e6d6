"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: Theorem 26 and its process."""

from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.features.theorem26 import theorem26

__all__ = [
    "ProcessSettings",
    "StepSettings",
    "theorem26",
]
