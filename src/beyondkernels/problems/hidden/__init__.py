"""Distributions of the hidden vector that says which patterns are present."""

from beyondkernels.problems.hidden.base import HiddenPatterns, Product
from beyondkernels.problems.hidden.independent import IndependentPatterns
from beyondkernels.problems.hidden.structured import StructuredMixture
from beyondkernels.problems.hidden.uniform import UniformPatterns

__all__ = ["HiddenPatterns", "IndependentPatterns", "Product", "StructuredMixture", "UniformPatterns"]
