"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: Theorem 26 and its process."""

from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.features.theorem26 import process26, theorem26

__all__ = [
    "ProcessSettings",
    "StepSettings",
    "process26",
    "theorem26",
]
