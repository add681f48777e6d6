"""Measurements for the paper on feature learning: alignment and directions of neurons, coverage of centres."""

from beyondkernels.measure.features.alignment import Alignment, cosines
from beyondkernels.measure.features.coverage import CentreCoverage, CentreDirections, chance_cosine
from beyondkernels.measure.features.directions import Directions, classical_scaling, cosine_distances

__all__ = [
    "Alignment",
    "CentreCoverage",
    "CentreDirections",
    "Directions",
    "chance_cosine",
    "classical_scaling",
    "cosine_distances",
    "cosines",
]
