"""Regression and classification on kernels and features, each solution with a statement of how exact it is."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.kernels.solvers.intercept import (
    RidgeSolution as RidgeSolution,
    solve_features as solve_features,
)
from beyondkernels.kernels.solvers.large import solve_large as solve_large
from beyondkernels.kernels.solvers.linearised import (
    LinearisedTraining as LinearisedTraining,
    linearised_training as linearised_training,
)
from beyondkernels.kernels.solvers.ridge import (
    RidgePath as RidgePath,
    ridge_path as ridge_path,
)
from beyondkernels.kernels.solvers.spectrum import spectrum as spectrum

_check_exports(globals())
