"""An activation from a user's functions."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.activations.gaussian import Function


@dataclass(frozen=True)
class FromFunction(Activation):
    """An activation made of two functions.

    Arguments:
        function: σ, continuous, entry by entry on tensors; a named, importable function, so that runs can be stored.
        slope: σ′, a function of the same kind.
        name: what to call it in tables and sentences.
        bends: where σ or σ′ is not smooth. Quadrature splits its integrals there. A bend that is not listed makes the
            result less accurate; the stated error then is larger too.

    >>> softplus = FromFunction(torch.nn.functional.softplus, torch.sigmoid, "softplus")
    >>> softplus.value(torch.tensor(0.0)).item()
    0.693...
    """

    function: Function
    slope: Function
    name: str
    bends: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "bends", tuple(sorted(self.bends)))

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.bends

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return self.function(z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return self.slope(z)

    @property
    def _label(self) -> str:
        return self.name
