"""Shi, Wei & Liang, A theoretical analysis on feature learning in neural networks: its theorems and lemmas."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.features.theory.application import error_bound as error_bound
from beyondkernels.papers.features.theory.ball_classifier import (
    BallClassifier as BallClassifier,
    every_pattern as every_pattern,
    mean_floor as mean_floor,
    parity_norms as parity_norms,
    population_floor as population_floor,
)
from beyondkernels.papers.features.theory.corollary3 import KernelBallCertificate as KernelBallCertificate
from beyondkernels.papers.features.theory.every_target import EveryTarget as EveryTarget
from beyondkernels.papers.features.theory.exact_steps import ExactSteps as ExactSteps
from beyondkernels.papers.features.theory.fixed_maps import (
    FixedMap as FixedMap,
    FixedNeurons as FixedNeurons,
    FixedTangents as FixedTangents,
    FixedWaves as FixedWaves,
)
from beyondkernels.papers.features.theory.hinge_ball import (
    BestInBall as BestInBall,
    least_hinge_loss as least_hinge_loss,
)
from beyondkernels.papers.features.theory.kernel_ball import KernelBall as KernelBall
from beyondkernels.papers.features.theory.lemma5 import GoodNetwork as GoodNetwork, good_network as good_network
from beyondkernels.papers.features.theory.lemma6 import (
    activation_shares as activation_shares,
    first_error as first_error,
    pattern_gradients as pattern_gradients,
)
from beyondkernels.papers.features.theory.theorem2 import (
    FixedFeatureCertificate as FixedFeatureCertificate,
    theorem2_bound as theorem2_bound,
)
from beyondkernels.papers.features.theory.theorem26 import (
    as_theorem26 as as_theorem26,
    direction_cosine as direction_cosine,
    theorem26 as theorem26,
)
from beyondkernels.papers.features.theory.theorem34 import noise_at as noise_at, theorem34 as theorem34

_check_exports(globals())
