"""Distributions of the hidden vector that says which patterns are present."""

from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns as HiddenPatterns, Product as Product
from beyondkernels.papers.features.problems.hidden.independent import IndependentPatterns as IndependentPatterns
from beyondkernels.papers.features.problems.hidden.listed import ListedPatterns as ListedPatterns
from beyondkernels.papers.features.problems.hidden.structured import StructuredMixture as StructuredMixture
from beyondkernels.papers.features.problems.hidden.uniform import UniformPatterns as UniformPatterns
