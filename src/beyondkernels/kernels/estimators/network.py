"""Shared by the estimators that use the kernel of a network."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from beyondkernels.core import require
from beyondkernels.core.errors import shown, warn
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.estimators.arguments import whole_number, yes_or_no
from beyondkernels.kernels.estimators.base import KernelMachine
from beyondkernels.networks import FullyConnected, Network, Parameterisation

DEFAULT_NETWORK = FullyConnected(width=512, depth=3, parameterisation=Parameterisation(bias_variance=1.0))
"""The network of an estimator that is given none. Its last layer has no bias: the fitted intercept is one."""


class NetworkKernelMachine(KernelMachine):
    """Ridge regression with a kernel of a network, drawn at finite width or in the limit of infinite width."""

    network: Any  # what scikit-learn sets is checked when it is used
    infinite_width: Any
    in_shape: Any

    def __init__(
        self,
        network: Network | None = None,
        *,
        infinite_width: bool = False,
        ridges: float | Sequence[float] | None = None,
        fit_intercept: bool = True,
        memory: int = MEMORY,
        in_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.network = network
        self.infinite_width = infinite_width
        self.ridges = ridges
        self.fit_intercept = fit_intercept
        self.memory = memory
        self.in_shape = in_shape
        self.random_state = random_state

    def _stands_for(self) -> dict[str, Network]:
        return {"network": DEFAULT_NETWORK}

    def _network(self, points: torch.Tensor | None = None) -> Network:
        network = DEFAULT_NETWORK if self.network is None else self.network
        require(isinstance(network, Network), f"network must be a Network or None, got {shown(network)}")
        scales = getattr(network, "parameterisation", None)
        without = isinstance(scales, Parameterisation) and scales.bias_variance is None
        if without and points is not None and points[0].numel() == 1:
            warn(
                "a network without biases sees of a single number little more than its sign and its size: "
                "Parameterisation(bias_variance=1.0) gives it biases",
            )
        return network

    def _infinite(self) -> bool:
        return yes_or_no("infinite_width", self.infinite_width)

    def _memory(self) -> int:
        return whole_number("memory", self.memory)

    def _in_shape(self) -> tuple[int, ...] | None:
        """The shape into which rows are folded for the network."""
        if self.in_shape is None:
            return None
        sizes = self.in_shape if isinstance(self.in_shape, Sequence) else (self.in_shape,)
        return tuple(whole_number("in_shape", size) for size in sizes)

    def _kernel_in_words(self, name: str) -> str:
        """A description of the kernel, with its network's parameterisation."""
        network = DEFAULT_NETWORK if self.network is None else self.network
        width = "infinite" if self.infinite_width else "finite"
        return f"{name} kernel at {width} width of {network_in_words(network)}"


def network_in_words(network: Network) -> str:
    """A network and its parameterisation.

    >>> print(network_in_words(FullyConnected(width=8, depth=2)))
    FullyConnected(width=8, depth=2, activation=ReLU(), readout='normal'), ntk parameterisation: hidden weights 2/p,
    no hidden biases, readout weights 1/p, no readout bias
    """
    scales = getattr(network, "parameterisation", None)
    if not (isinstance(scales, Parameterisation) and dataclasses.is_dataclass(network)):
        return repr(network)
    names = [field.name for field in dataclasses.fields(network) if field.repr and field.name != "parameterisation"]
    return f"{type(network).__name__}({', '.join(f'{name}={getattr(network, name)!r}' for name in names)}), {scales}"
