"""Theorems as functions that know their domain: numbers, and which hypotheses hold by how much.

What belongs to one paper is in ``theory.resnet``, ``theory.features``, ``theory.bfc`` or ``theory.overparam``. Names
that are clear without the paper are here too. A theorem with a common number, such as ``theory.resnet.theorem1``, is in
its paper's package alone. Lower bounds are in ``theory.certificates``, and oracles
of the statistical-query model in ``theory.statistical_queries``.
"""

from beyondkernels.theory import bfc, certificates, features, overparam, resnet, statistical_queries
from beyondkernels.theory.certificates import Certificate, certify
from beyondkernels.theory.complexity import (
    Complexity,
    largest_complexity,
    sample_complexity,
    smooth_complexity,
    width_complexity,
)
from beyondkernels.theory.features import ProcessSettings, StepSettings, theorem26, theorem34
from beyondkernels.theory.hypotheses import Hypothesis
from beyondkernels.theory.resnet import (
    ConceptComplexity,
    ConceptSizes,
    MapComplexity,
    concept_complexity,
    least_norm,
    least_witness,
    lipschitz_bound,
    map_complexity,
    minimal_network,
    parity_norm,
)
from beyondkernels.theory.taylor import Envelope, TaylorSeries, taylor_series

__all__ = [
    "Certificate",
    "Complexity",
    "ConceptComplexity",
    "ConceptSizes",
    "Envelope",
    "Hypothesis",
    "MapComplexity",
    "ProcessSettings",
    "StepSettings",
    "TaylorSeries",
    "bfc",
    "certificates",
    "certify",
    "concept_complexity",
    "features",
    "largest_complexity",
    "least_norm",
    "least_witness",
    "lipschitz_bound",
    "map_complexity",
    "minimal_network",
    "overparam",
    "parity_norm",
    "resnet",
    "sample_complexity",
    "smooth_complexity",
    "statistical_queries",
    "taylor_series",
    "theorem26",
    "theorem34",
    "width_complexity",
]
