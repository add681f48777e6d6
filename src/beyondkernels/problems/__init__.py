"""Distributions of inputs and labels, with the quantities that are known exactly."""

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
from beyondkernels.problems.resnet import (
    CompositeParity,
    CompositeProblem,
    HardInstance,
    LinearThenPolynomial,
    Monomial,
    SmoothComposite,
)

__all__ = [
    "Assumption",
    "CompositeParity",
    "CompositeProblem",
    "Counts",
    "Dictionary",
    "DictionaryParity",
    "DictionaryProblem",
    "HardInstance",
    "HiddenPatterns",
    "Incoherent",
    "IndependentPatterns",
    "Interval",
    "IntervalLabelling",
    "LabelSet",
    "LinearThenPolynomial",
    "Moments",
    "Monomial",
    "Orthonormal",
    "Parity",
    "Product",
    "SmoothComposite",
    "StructuredMixture",
    "Threshold",
    "UniformPatterns",
    "coherence",
    "two_gaussians",
]
