"""The user's door: fit one model, compare several, sweep a grid; what people have becomes problems and learners."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.learning.batch import run_specs as run_specs
from beyondkernels.learning.comparison import Comparison as Comparison
from beyondkernels.learning.fit_and_compare import compare as compare, fit as fit
from beyondkernels.learning.run import Run as Run
from beyondkernels.learning.sweep import (
    Sweep as Sweep,
    fit_many as fit_many,
    grid as grid,
    one_two_five as one_two_five,
)

_check_exports(globals())
