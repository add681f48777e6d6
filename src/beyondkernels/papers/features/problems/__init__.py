"""The learning problems of the paper on feature learning: dictionaries, hidden patterns, labels."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.features.problems.assumptions import Assumption as Assumption
from beyondkernels.papers.features.problems.dictionaries import (
    Dictionary as Dictionary,
    Equiangular as Equiangular,
    Incoherent as Incoherent,
    Orthonormal as Orthonormal,
    coherence as coherence,
)
from beyondkernels.papers.features.problems.dictionary import DictionaryProblem as DictionaryProblem
from beyondkernels.papers.features.problems.gaussians import GaussianMixture as GaussianMixture
from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns as HiddenPatterns, Product as Product
from beyondkernels.papers.features.problems.hidden.independent import IndependentPatterns as IndependentPatterns
from beyondkernels.papers.features.problems.hidden.listed import ListedPatterns as ListedPatterns
from beyondkernels.papers.features.problems.hidden.structured import StructuredMixture as StructuredMixture
from beyondkernels.papers.features.problems.hidden.uniform import UniformPatterns as UniformPatterns
from beyondkernels.papers.features.problems.labels import (
    Counts as Counts,
    Interval as Interval,
    LabelSet as LabelSet,
    Parity as Parity,
    Threshold as Threshold,
)
from beyondkernels.papers.features.problems.moments import Moments as Moments
from beyondkernels.papers.features.problems.named import (
    DictionaryParity as DictionaryParity,
    IntervalLabelling as IntervalLabelling,
    two_gaussians as two_gaussians,
)
from beyondkernels.papers.features.problems.representation import (
    RepresentationLabels as RepresentationLabels,
    RepresentationMoments as RepresentationMoments,
)

_check_exports(globals())
