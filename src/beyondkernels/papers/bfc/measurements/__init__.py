"""Measurements for the paper on backward feature correction: what each layer has learnt, and the way down."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.measurements.degrees import CoefficientErrors as CoefficientErrors
from beyondkernels.papers.bfc.measurements.descent import (
    DescentDirections as DescentDirections,
    slope_and_curvature as slope_and_curvature,
    worst_promised as worst_promised,
)
from beyondkernels.papers.bfc.measurements.features import (
    FeatureErrors as FeatureErrors,
    HiddenNorms as HiddenNorms,
    LayerContributions as LayerContributions,
    below_from as below_from,
)
from beyondkernels.papers.bfc.measurements.ranks import FoundRanks as FoundRanks
from beyondkernels.papers.bfc.measurements.second_layer import SecondLayer as SecondLayer

_check_exports(globals())
