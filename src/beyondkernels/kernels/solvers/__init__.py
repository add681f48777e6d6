"""Regression and classification on kernels and features, each solution with a statement of how exact it is."""

from beyondkernels.kernels.solvers.hinge import HingeSolution, solve_hinge
from beyondkernels.kernels.solvers.intercept import RidgeSolution, solve_features, solve_gram
from beyondkernels.kernels.solvers.large import LargeSolution, solve_large
from beyondkernels.kernels.solvers.linearised import Descent, LinearisedTraining, linearised_training
from beyondkernels.kernels.solvers.nystrom import NystromFactor, nystrom_factor
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, RidgePath, ridge_path
from beyondkernels.kernels.solvers.spectrum import Spectrum, spectrum

__all__ = [
    "RELATIVE_RIDGES",
    "Descent",
    "HingeSolution",
    "LargeSolution",
    "LinearisedTraining",
    "NystromFactor",
    "RidgePath",
    "RidgeSolution",
    "Spectrum",
    "linearised_training",
    "nystrom_factor",
    "ridge_path",
    "solve_features",
    "solve_gram",
    "solve_hinge",
    "solve_large",
    "spectrum",
]
