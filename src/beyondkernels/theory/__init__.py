"""Theorems as functions that know their domain: numbers, and which hypotheses hold by how much."""

from beyondkernels.theory.complexity import (
    Complexity,
    ConceptComplexity,
    MapComplexity,
    concept_complexity,
    lipschitz_bound,
    map_complexity,
    sample_complexity,
    width_complexity,
)
from beyondkernels.theory.concept_sizes import ConceptSizes
from beyondkernels.theory.hypotheses import Hypothesis
from beyondkernels.theory.minimal_norm import least_norm, minimal_network, parity_norm
from beyondkernels.theory.process import ProcessSettings, StepSettings
from beyondkernels.theory.table1 import Table1
from beyondkernels.theory.taylor import Envelope, TaylorSeries, taylor_series
from beyondkernels.theory.theorem1 import Theorem1Constants, Theorem1Settings, theorem1
from beyondkernels.theory.theorem26 import theorem26
from beyondkernels.theory.witness import least_witness

__all__ = [
    "Complexity",
    "ConceptComplexity",
    "ConceptSizes",
    "Envelope",
    "Hypothesis",
    "MapComplexity",
    "ProcessSettings",
    "StepSettings",
    "Table1",
    "TaylorSeries",
    "Theorem1Constants",
    "Theorem1Settings",
    "concept_complexity",
    "least_norm",
    "least_witness",
    "lipschitz_bound",
    "map_complexity",
    "minimal_network",
    "parity_norm",
    "sample_complexity",
    "taylor_series",
    "theorem1",
    "theorem26",
    "width_complexity",
]
