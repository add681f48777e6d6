"""The one way in which parameters enter a network: linear layers, whose inputs and outputs can be written down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from beyondkernels.core import require

_LINE = 16
"""Numbers (float32) in the 64 bytes to which linear algebra aligns."""


@dataclass(frozen=True)
class Use:
    """One use of a weight matrix: output = input · weightᵀ + bias_scale · bias."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    bias_scale: float
    input: torch.Tensor
    output: torch.Tensor


_record: ContextVar[list[Use] | None] = ContextVar("record", default=None)


@contextlib.contextmanager
def recorded() -> Iterator[list[Use]]:
    """Write down every use of :func:`linear` inside the block.

    The derivative of a prediction in a weight matrix is the outer product of the derivative in the layer's output and
    the layer's input, so that tangent kernels need no derivative in any parameter.
    """
    uses: list[Use] = []
    token = _record.set(uses)
    try:
        yield uses
    finally:
        _record.reset(token)


def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, bias_scale: float = 1.0
) -> torch.Tensor:
    """The layer x Wᵀ + s·b by a route that does not depend on how many networks stand side by side."""
    z = _product(x, weight)
    if bias is not None:
        z = z + (bias if bias_scale == 1.0 else bias_scale * bias)
    uses = _record.get()
    if uses is not None:
        uses.append(Use(weight, bias, bias_scale, x, z))
    return z


def _product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The product x Wᵀ.

    A matrix times a single column goes through different library code alone and in a batch, and rounds differently;
    a product and a sum do not. The library also rounds by where a matrix begins in memory, so sizes that would let one
    network's matrices begin at another place than the next one's are filled up with zeros.
    """
    (n, d), m = x.shape[-2:], weight.shape[-2]
    require(d == weight.shape[-1], f"points must have dimension {weight.shape[-1]} to fit the weights, got {d}")
    if m == 1:
        return (x * weight).sum(-1, keepdim=True)
    # Rows matter on their own too: x may be some rows of a larger tensor, whose size is not to be seen from here.
    if d % 4 or m % 4 or any(size % _LINE for size in (n * d, m * d, n * m)):
        right, below = -d % _LINE, -m % _LINE
        return (F.pad(x, (0, right)) @ F.pad(weight, (0, right, 0, below)).mT)[..., :m]
    return x @ weight.mT
