"""Regression and classification on kernels and features, each solution with a statement of how exact it is."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.solvers.hinge import HingeSolution as HingeSolution, solve_hinge as solve_hinge
from beyondkernels.kernels.solvers.intercept import (
    RidgeSolution as RidgeSolution,
    solve_features as solve_features,
    solve_gram as solve_gram,
)
from beyondkernels.kernels.solvers.large import LargeSolution as LargeSolution, solve_large as solve_large
from beyondkernels.kernels.solvers.linearised import (
    Descent as Descent,
    LinearisedTraining as LinearisedTraining,
    linearised_training as linearised_training,
)
from beyondkernels.kernels.solvers.nystrom import NystromFactor as NystromFactor, nystrom_factor as nystrom_factor
from beyondkernels.kernels.solvers.ridge import (
    RELATIVE_RIDGES as RELATIVE_RIDGES,
    RidgePath as RidgePath,
    ridge_path as ridge_path,
)
from beyondkernels.kernels.solvers.spectrum import Spectrum as Spectrum, spectrum as spectrum

_check_exports(globals())
