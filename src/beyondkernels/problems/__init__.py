"""Distributions of inputs and labels, and what is exactly known about them."""

from beyondkernels.problems.assumptions import Assumption
from beyondkernels.problems.dictionaries import Dictionary, Incoherent, Orthonormal, coherence
from beyondkernels.problems.dictionary import DictionaryProblem
from beyondkernels.problems.hidden import (
    HiddenPatterns,
    IndependentPatterns,
    Product,
    StructuredMixture,
    UniformPatterns,
)
from beyondkernels.problems.labels import Counts, Interval, LabelSet, Parity, Threshold
from beyondkernels.problems.moments import Moments
from beyondkernels.problems.named import DictionaryParity, IntervalLabelling, two_gaussians

__all__ = [
    "Assumption",
    "Counts",
    "Dictionary",
    "DictionaryParity",
    "DictionaryProblem",
    "HiddenPatterns",
    "Incoherent",
    "IndependentPatterns",
    "Interval",
    "IntervalLabelling",
    "LabelSet",
    "Moments",
    "Orthonormal",
    "Parity",
    "Product",
    "StructuredMixture",
    "Threshold",
    "UniformPatterns",
    "coherence",
    "two_gaussians",
]
