"""Each activation with its derivative, its Gaussian-smoothed version and its dual map."""

from beyondkernels.activations.base import Activation, Moments
from beyondkernels.activations.cosine import Cosine
from beyondkernels.activations.erf import Erf
from beyondkernels.activations.from_function import FromFunction
from beyondkernels.activations.gelu import GELU
from beyondkernels.activations.polynomial import Polynomial, identity, quadratic
from beyondkernels.activations.quadrature import quadrature_dual
from beyondkernels.activations.registry import NAMED, activation
from beyondkernels.activations.relu import ReLU, SmoothedReLU
from beyondkernels.activations.sine import Sine
from beyondkernels.activations.tanh import Tanh
from beyondkernels.activations.truncated_relu import SmoothedTruncatedReLU, TruncatedReLU
from beyondkernels.activations.truncated_square import TruncatedSquare

__all__ = [
    "GELU",
    "NAMED",
    "Activation",
    "Cosine",
    "Erf",
    "FromFunction",
    "Moments",
    "Polynomial",
    "ReLU",
    "Sine",
    "SmoothedReLU",
    "SmoothedTruncatedReLU",
    "Tanh",
    "TruncatedReLU",
    "TruncatedSquare",
    "activation",
    "identity",
    "quadratic",
    "quadrature_dual",
]
