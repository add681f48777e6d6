"""Measurements for the paper on feature learning: alignment and directions of neurons."""

from beyondkernels.measure.features.alignment import Alignment, cosines
from beyondkernels.measure.features.directions import Directions, classical_scaling, cosine_distances

__all__ = [
    "Alignment",
    "Directions",
    "classical_scaling",
    "cosine_distances",
    "cosines",
]
