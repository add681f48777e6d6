"""Allen-Zhu & Li, What can ResNet learn efficiently, going beyond kernels: Theorem 1 and what it needs."""

from beyondkernels.theory.resnet.closed_form import ClosedForm, closed_form
from beyondkernels.theory.resnet.concept_complexity import (
    ConceptComplexity,
    MapComplexity,
    concept_complexity,
    lipschitz_bound,
    map_complexity,
)
from beyondkernels.theory.resnet.concept_sizes import ConceptSizes
from beyondkernels.theory.resnet.minimal_norm import least_norm, minimal_network, parity_norm
from beyondkernels.theory.resnet.ranges import Theorem1Ranges, radius_ranges
from beyondkernels.theory.resnet.theorem1 import Theorem1Constants, Theorem1Settings, theorem1
from beyondkernels.theory.resnet.witness import least_witness

__all__ = [
    "ClosedForm",
    "ConceptComplexity",
    "ConceptSizes",
    "MapComplexity",
    "Theorem1Constants",
    "Theorem1Ranges",
    "Theorem1Settings",
    "closed_form",
    "concept_complexity",
    "least_norm",
    "least_witness",
    "lipschitz_bound",
    "map_complexity",
    "minimal_network",
    "parity_norm",
    "radius_ranges",
    "theorem1",
]
