"""Theorems as functions that know their domain: numbers, and which hypotheses hold by how much."""

from beyondkernels.theory.concept_sizes import ConceptSizes
from beyondkernels.theory.hypotheses import Hypothesis
from beyondkernels.theory.process import ProcessSettings, StepSettings
from beyondkernels.theory.table1 import Table1
from beyondkernels.theory.theorem1 import Theorem1Constants, Theorem1Settings, theorem1
from beyondkernels.theory.theorem26 import theorem26
from beyondkernels.theory.witness import least_witness

__all__ = [
    "ConceptSizes",
    "Hypothesis",
    "ProcessSettings",
    "StepSettings",
    "Table1",
    "Theorem1Constants",
    "Theorem1Settings",
    "least_witness",
    "theorem1",
    "theorem26",
]
