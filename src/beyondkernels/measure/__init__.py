"""Measurements of runs: feature alignment, neuron directions."""

from beyondkernels.measure.alignment import Alignment, cosines
from beyondkernels.measure.base import Measurement
from beyondkernels.measure.directions import Directions, classical_scaling, cosine_distances

__all__ = ["Alignment", "Directions", "Measurement", "classical_scaling", "cosine_distances", "cosines"]
