"""Activations by name."""

from __future__ import annotations

from beyondkernels.activations.base import Activation
from beyondkernels.activations.cosine import Cosine
from beyondkernels.activations.erf import Erf
from beyondkernels.activations.gelu import GELU
from beyondkernels.activations.polynomial import identity, quadratic
from beyondkernels.activations.relu import ReLU
from beyondkernels.activations.sine import Sine
from beyondkernels.activations.tanh import Tanh
from beyondkernels.activations.truncated_relu import TruncatedReLU
from beyondkernels.core import unknown

NAMED: dict[str, Activation] = {
    "relu": ReLU(),
    "erf": Erf(),
    "identity": identity,
    "quadratic": quadratic,
    "tanh": Tanh(),
    "gelu": GELU(),
    "sine": Sine(),
    "cosine": Cosine(),
    "truncated_relu": TruncatedReLU(),
}
"""The activations a network accepts by name."""


def activation(name_or_activation: str | Activation) -> Activation:
    """The activation of that name; an activation is returned as it is.

    >>> activation("truncated_relu")
    TruncatedReLU()
    """
    if isinstance(name_or_activation, Activation):
        return name_or_activation
    if name_or_activation not in NAMED:
        unknown("activation", name_or_activation, NAMED)
    return NAMED[name_or_activation]
