"""Linear layers, the only place where parameters enter a network. Their inputs and outputs can be recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from beyondkernels.core import require

_LINE = 16
"""How many float32 numbers fit into the 64 bytes to which linear algebra aligns."""


@dataclass(frozen=True)
class Use:
    """One use of a weight matrix: output = input · weightᵀ + bias_scale · bias."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    bias_scale: float
    input: torch.Tensor
    output: torch.Tensor


class Reached(BaseException):
    """Ends a computation that has come as far as it is needed. No ``except Exception`` in between holds it up."""


_record: ContextVar[list[Use] | None] = ContextVar("record", default=None)
_until: ContextVar[torch.Tensor | None] = ContextVar("until", default=None)


@contextlib.contextmanager
def recorded() -> Iterator[list[Use]]:
    """Record every use of :func:`linear` inside the block.

    The derivative of a prediction in a weight matrix is the outer product of its derivative in the layer's output and
    the layer's input. So tangent kernels can be computed without a derivative in any parameter.
    """
    uses: list[Use] = []
    token = _record.set(uses)
    try:
        yield uses
    finally:
        _record.reset(token)


@contextlib.contextmanager
def computed_until(weight: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """Compute no further than to a layer, and keep what enters it.

    Arguments:
        weight: the layer's weights. The block ends where they are first used.
    """
    entered: list[torch.Tensor] = []
    token = _until.set(weight)
    try:
        yield entered
    except Reached as reached:
        entered.extend(reached.args)
    finally:
        _until.reset(token)


def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, bias_scale: float = 1.0
) -> torch.Tensor:
    """The layer x Wᵀ + s·b, computed so that its bits do not depend on how many networks are batched."""
    if _until.get() is weight:
        raise Reached(x)
    z = product(x, weight)
    if bias is not None:
        z = z + (bias if bias_scale == 1.0 else bias_scale * bias)
    uses = _record.get()
    if uses is not None:
        uses.append(Use(weight, bias, bias_scale, x, z))
    return z


def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The product x Wᵀ, not recorded as a layer.

    The library multiplies a matrix with a single column by different code alone and in a batch, which rounds
    differently. So that case is computed as an elementwise product and a sum. Rounding also depends on where a matrix
    begins in memory. So matrices are padded with zeros until all networks of a batch begin at equally aligned places.
    """
    (n, d), m = x.shape[-2:], weight.shape[-2]
    require(d == weight.shape[-1], f"points must have dimension {weight.shape[-1]} to fit the weights, got {d}")
    if m == 1:
        return (x * weight).sum(-1, keepdim=True)
    # The length of a row counts as well: x may be a part of a larger tensor, and its size is not known here.
    if d % 4 or m % 4 or any(size % _LINE for size in (n * d, m * d, n * m)):
        right, below = -d % _LINE, -m % _LINE
        return (F.pad(x, (0, right)) @ F.pad(weight, (0, right, 0, below)).mT)[..., :m]
    return x @ weight.mT
