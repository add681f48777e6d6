"""The paper on backward feature correction: its algorithm's numbers, symmetric tensors, coefficients, features."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.theory.best_fit import (
    best_polynomial as best_polynomial,
    best_second_layer as best_second_layer,
    best_terms as best_terms,
    rotated_part as rotated_part,
)
from beyondkernels.papers.bfc.theory.best_in_span import BestInSpan as BestInSpan
from beyondkernels.papers.bfc.theory.classes import (
    cross_entropy_of_target as cross_entropy_of_target,
    cross_entropy_scale as cross_entropy_scale,
    layer_shares as layer_shares,
)
from beyondkernels.papers.bfc.theory.constants import (
    DenseNetSettings as DenseNetSettings,
    practical as practical,
    theorem1 as theorem1,
)
from beyondkernels.papers.bfc.theory.degrees import (
    LayerAgreement as LayerAgreement,
    coefficients_norm as coefficients_norm,
    compared as compared,
    layer_agreement as layer_agreement,
    turns as turns,
)
from beyondkernels.papers.bfc.theory.descent import (
    descent_step as descent_step,
    free_frames as free_frames,
    random_frames as random_frames,
    target_in_basis as target_in_basis,
)
from beyondkernels.papers.bfc.theory.population import PopulationFit as PopulationFit, hermite_grid as hermite_grid
from beyondkernels.papers.bfc.theory.procrustes import (
    aligned as aligned,
    distilled as distilled,
    linear_error as linear_error,
    padded as padded,
    procrustes as procrustes,
)
from beyondkernels.papers.bfc.theory.products import (
    products_of_four as products_of_four,
    products_of_two as products_of_two,
)
from beyondkernels.papers.bfc.theory.proof import (
    ProofConstants as ProofConstants,
    ProofNumbers as ProofNumbers,
    definition_b3 as definition_b3,
)
from beyondkernels.papers.bfc.theory.search import (
    allowed_graphs as allowed_graphs,
    alpha_grid as alpha_grid,
    architectures as architectures,
)
from beyondkernels.papers.bfc.theory.symmetric import (
    induced as induced,
    pairs as pairs,
    quartic as quartic,
    star as star,
    sym as sym,
)
from beyondkernels.papers.bfc.theory.weights import QuadraticWeights as QuadraticWeights

_check_exports(globals())
