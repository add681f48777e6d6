"""What is measured in runs of the paper's problems: how many centres the neurons have found."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.features.measurements.balanced import BalancedAccuracy as BalancedAccuracy
from beyondkernels.papers.features.measurements.chance import chance_deviation as chance_deviation
from beyondkernels.papers.features.measurements.coverage import (
    CentreCoverage as CentreCoverage,
    CentreDirections as CentreDirections,
    chance_cosine as chance_cosine,
)

_check_exports(globals())
