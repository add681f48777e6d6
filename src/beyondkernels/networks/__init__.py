"""Architectures as data: one definition serves training, ensembles, linearisation and kernels."""

from beyondkernels.networks.base import Network, linear
from beyondkernels.networks.initialisation import Initialisation, Symmetric, initialisation
from beyondkernels.networks.linearised import Linearised
from beyondkernels.networks.module import FromModule, NetworkModule
from beyondkernels.networks.two_layer import TwoLayer

__all__ = [
    "FromModule",
    "Initialisation",
    "Linearised",
    "Network",
    "NetworkModule",
    "Symmetric",
    "TwoLayer",
    "initialisation",
    "linear",
]
