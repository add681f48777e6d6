"""Measurements of the learners of the paper on overparameterised networks: coupling with the start, complexity."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.overparam.measurements.crossing import samples_that_suffice as samples_that_suffice
from beyondkernels.papers.overparam.measurements.labels import (
    constant_loss as constant_loss,
    label_variance as label_variance,
)
from beyondkernels.papers.overparam.measurements.landscape import SmoothedLandscape as SmoothedLandscape
from beyondkernels.papers.overparam.measurements.rademacher import RademacherComplexity as RademacherComplexity
from beyondkernels.papers.overparam.measurements.rooms import least_rooms as least_rooms
from beyondkernels.papers.overparam.measurements.smoothing import SmoothedCoupling as SmoothedCoupling
from beyondkernels.papers.overparam.measurements.three_layer import (
    ThreeLayerCoupling as ThreeLayerCoupling,
    allowed_radii as allowed_radii,
    changed_share as changed_share,
    three_layer_bounds as three_layer_bounds,
)
from beyondkernels.papers.overparam.measurements.two_layer import (
    TwoLayerCoupling as TwoLayerCoupling,
    TwoLayerTerms as TwoLayerTerms,
    two_layer_bounds as two_layer_bounds,
    two_layer_terms as two_layer_terms,
)

_check_exports(globals())
