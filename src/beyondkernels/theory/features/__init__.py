"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: Theorems 26 and 34."""

from beyondkernels.theory.features.application import error_bound
from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.features.theorem26 import theorem26
from beyondkernels.theory.features.theorem34 import theorem34

__all__ = [
    "ProcessSettings",
    "StepSettings",
    "error_bound",
    "theorem26",
    "theorem34",
]
