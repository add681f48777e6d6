"""What an activation is: a value, a derivative, and its Gaussian-smoothed version, side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from beyondkernels.core import Component


class Activation(Component, ABC):
    """A scalar function applied entry by entry, with its derivative.

    ``value`` is what networks call; automatic differentiation of it gives ``derivative`` wherever that exists.
    """

    @abstractmethod
    def value(self, z: torch.Tensor) -> torch.Tensor:
        """σ(z)."""

    @abstractmethod
    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z)."""

    @abstractmethod
    def smoothed(self, std: float) -> Activation:
        r"""The activation under Gaussian noise, :math:`\tilde\sigma(z) = E_\xi\,\sigma(z + \xi)`, ξ ~ N(0, std²)."""
