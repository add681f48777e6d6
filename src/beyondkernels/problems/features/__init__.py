"""The learning problems of the paper on feature learning: dictionaries, hidden patterns, labels."""

from beyondkernels.problems.features.assumptions import Assumption
from beyondkernels.problems.features.dictionaries import Dictionary, Equiangular, Incoherent, Orthonormal, coherence
from beyondkernels.problems.features.dictionary import DictionaryProblem
from beyondkernels.problems.features.gaussians import GaussianMixture
from beyondkernels.problems.features.hidden import (
    HiddenPatterns,
    IndependentPatterns,
    ListedPatterns,
    Product,
    StructuredMixture,
    UniformPatterns,
)
from beyondkernels.problems.features.labels import Counts, Interval, LabelSet, Parity, Threshold
from beyondkernels.problems.features.moments import Moments
from beyondkernels.problems.features.named import DictionaryParity, IntervalLabelling, two_gaussians
from beyondkernels.problems.features.representation import RepresentationLabels, RepresentationMoments

__all__ = [
    "Assumption",
    "Counts",
    "Dictionary",
    "DictionaryParity",
    "DictionaryProblem",
    "Equiangular",
    "GaussianMixture",
    "HiddenPatterns",
    "Incoherent",
    "IndependentPatterns",
    "Interval",
    "IntervalLabelling",
    "LabelSet",
    "ListedPatterns",
    "Moments",
    "Orthonormal",
    "Parity",
    "Product",
    "RepresentationLabels",
    "RepresentationMoments",
    "StructuredMixture",
    "Threshold",
    "UniformPatterns",
    "coherence",
    "two_gaussians",
]
