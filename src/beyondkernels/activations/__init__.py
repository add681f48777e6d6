"""Each activation with its derivative and its Gaussian-smoothed version."""

from beyondkernels.activations.base import Activation
from beyondkernels.activations.registry import NAMED, activation
from beyondkernels.activations.truncated_relu import SmoothedTruncatedReLU, TruncatedReLU

__all__ = ["NAMED", "Activation", "SmoothedTruncatedReLU", "TruncatedReLU", "activation"]
