"""Distributions of the hidden vector that says which patterns are present."""

from beyondkernels.problems.features.hidden.base import HiddenPatterns, Product
from beyondkernels.problems.features.hidden.independent import IndependentPatterns
from beyondkernels.problems.features.hidden.listed import ListedPatterns
from beyondkernels.problems.features.hidden.structured import StructuredMixture
from beyondkernels.problems.features.hidden.uniform import UniformPatterns

__all__ = [
    "HiddenPatterns",
    "IndependentPatterns",
    "ListedPatterns",
    "Product",
    "StructuredMixture",
    "UniformPatterns",
]
