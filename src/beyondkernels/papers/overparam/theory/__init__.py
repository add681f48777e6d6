"""Allen-Zhu, Li & Liang, Learning and generalization in overparameterized neural networks: what the proofs build."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.overparam.theory.composed import composed_complexity as composed_complexity
from beyondkernels.papers.overparam.theory.descent import (
    crossing_terms as crossing_terms,
    penalty as penalty,
    penalty_growth as penalty_growth,
    smoothed_coupling_bound as smoothed_coupling_bound,
    truth_direction as truth_direction,
)
from beyondkernels.papers.overparam.theory.estimate import (
    IndicatorEstimate as IndicatorEstimate,
    least_star as least_star,
)
from beyondkernels.papers.overparam.theory.existence import (
    ExistingNetwork as ExistingNetwork,
    biased_constants as biased_constants,
    existing_weights as existing_weights,
    unbiased_constants as unbiased_constants,
)
from beyondkernels.papers.overparam.theory.expectation import (
    gated_mean as gated_mean,
    sampled_mean as sampled_mean,
    second_moment as second_moment,
)
from beyondkernels.papers.overparam.theory.indicator import (
    IndicatorFunction as IndicatorFunction,
    indicator_function as indicator_function,
    least_constant as least_constant,
    unbiased_indicator_function as unbiased_indicator_function,
)
from beyondkernels.papers.overparam.theory.intervals import IntervalPartition as IntervalPartition
from beyondkernels.papers.overparam.theory.lemma53 import (
    ThreeLayerSettings as ThreeLayerSettings,
    lemma53 as lemma53,
    practical as practical,
    waiting_time as waiting_time,
    with_powers as with_powers,
)
from beyondkernels.papers.overparam.theory.pseudo import (
    ThreeLayerGates as ThreeLayerGates,
    gates as gates,
    pseudo_three_layer as pseudo_three_layer,
    pseudo_two_layer as pseudo_two_layer,
    smoothed_pseudo as smoothed_pseudo,
    stronger_coupling as stronger_coupling,
    three_layer_gates as three_layer_gates,
)
from beyondkernels.papers.overparam.theory.rademacher import (
    real_at_maximum as real_at_maximum,
    sign_vectors as sign_vectors,
    spectral_bound as spectral_bound,
    three_layer_bound as three_layer_bound,
    three_layer_suprema as three_layer_suprema,
    two_layer_bound as two_layer_bound,
    two_layer_suprema as two_layer_suprema,
)
from beyondkernels.papers.overparam.theory.randomness import (
    Decomposition as Decomposition,
    RandomFirstLayers as RandomFirstLayers,
    decompose as decompose,
    scale_of as scale_of,
    slope_excess as slope_excess,
)

_check_exports(globals())
