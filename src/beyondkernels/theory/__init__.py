"""Theorems as functions that know their domain: numbers, and which hypotheses hold by how much."""

from beyondkernels.theory.hypotheses import Hypothesis
from beyondkernels.theory.process import ProcessSettings, StepSettings
from beyondkernels.theory.theorem26 import theorem26

__all__ = ["Hypothesis", "ProcessSettings", "StepSettings", "theorem26"]
