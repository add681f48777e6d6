"""What one call of a layer contributes to the gradient, point by point."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.kernels.finite.calls import Call


@dataclass(frozen=True)
class Layout:
    """Where the points of a batch are in a layer's output.

    Arguments:
        dim: the dimension that grows with the batch.
        rows: how many of its rows belong to one point; they stand side by side.
        channels: the size of the output's channels.
        positions: how many outputs of all channels one point has.
    """

    dim: int
    rows: int
    channels: int
    positions: int


def layout(two: Call, three: Call) -> Layout | None:
    """The layout of a call, from its outputs for two and for three points; None if it cannot be told.

    Sizes that are equal by chance, as of three words for three points, do not deceive a comparison of two batches.
    """
    if len(two.shape) != len(three.shape) or len(two.shape) < 2:
        return None
    grown = [i for i, (a, b) in enumerate(zip(two.shape, three.shape, strict=True)) if a != b]
    channel = 1 if three.channels_first else len(three.shape) - 1
    if len(grown) != 1 or grown[0] == channel or (three.channels_first and grown[0] != 0):
        return None
    (dim,) = grown
    if three.shape[dim] % 3 or three.shape[dim] // 3 * 2 != two.shape[dim]:
        return None
    channels = three.shape[channel]
    return Layout(dim, three.shape[dim] // 3, channels, three.shape.numel() // (3 * channels))


def by_point(values: torch.Tensor, call: Call, where: Layout, n: int) -> torch.Tensor:
    """A layer's input or output as (n, channels, positions), a view where there is one row for each point."""
    if call.channels_first:
        values = values.flatten(2) if values.ndim > 2 else values[..., None]
        return values.unflatten(0, (n, where.rows)).movedim(1, 2).flatten(2)
    return values.movedim(where.dim, 0).reshape(n, -1, values.shape[-1]).mT


def weight_gradient(changes: torch.Tensor, call: Call, where: Layout) -> torch.Tensor:
    r"""The derivative of each output in the weight, shape (n, k, size of the weight).

    .. math:: \nabla_W f_c = \sum_q \delta_{c,q}\,h_q^\top \quad\text{over positions } q

    Arguments:
        changes: :math:`\delta`, shape (n, k, channels, positions).
        call: the call.
        where: its layout.
    """
    n, k, m, q = changes.shape
    h = by_point(call.input(), call, where, n)
    if call.diagonal:
        return torch.einsum("nkmq,nmq->nk" if call.shared else "nkmq,nmq->nkm", changes, h).reshape(n, k, -1)
    g = call.groups
    if g == 1:
        product = torch.bmm(changes.reshape(n, k * m, q), h.mT)  # all outputs of a point in one product
        return (product.view(n, k, m, -1).mT if call.transposed else product.view(n, k, m, -1)).flatten(2)
    parts = changes.reshape(n, k, g, m // g, q).transpose(1, 2).reshape(n * g, k * (m // g), q)
    product = torch.bmm(parts, h.reshape(n * g, -1, q).mT)
    return product.view(n, g, k, -1).transpose(1, 2).flatten(2)
