"""Running statistics of a network at its start that are those of the data."""

from __future__ import annotations

import torch

from beyondkernels.core import Tensors
from beyondkernels.engine.member import Member

_BATCHES = 60
"""Batches that pass through the network. With PyTorch's momentum of 0.1, 0.2 % of the initial statistics remain."""


def settled_buffers(member: Member) -> Tensors:
    """The buffers of a member after some batches have passed through it in training mode, its parameters unchanged.

    Batch normalisation starts with the mean 0 and the variance 1, whatever the data are. In evaluation mode such a
    network does not normalise. After these passes it does. They use no label, so features at the start stay fixed ones.
    A network without running statistics keeps its buffers.

    Arguments:
        member: a network at its start. It is not changed.
    """
    x, buffers = member.sample.x, member.buffers
    dtype = next((value.dtype for value in member.params.values()), x.dtype)
    size = min(member.stage.batch or len(x), len(x))
    # A batch of one point has no variance to normalise by.
    if size < 2 or not any(value.is_floating_point() and value.numel() for value in buffers.values()):
        return buffers
    # A stream of its own: training draws the same batches whether or not these passes took place.
    stream = member.stream.child("settled")
    orders = (stream.at(epoch).permutation(len(x)).to(x.device) for epoch in range(_BATCHES))
    batches = (order[i : i + size] for order in orders for i in range(0, len(x) - size + 1, size))
    with torch.no_grad():
        for _, rows in zip(range(_BATCHES), batches, strict=False):
            points = x[rows].to(dtype) if x.is_floating_point() else x[rows]
            after = member.network.apply(member.params, buffers, points, train=True)[1]
            # A pass in training mode that changes no statistic shows that the network keeps none.
            if all(torch.equal(value, after[name]) for name, value in _statistics(buffers).items()):
                return member.buffers
            buffers = after
    # Counters of batches stay at their start, since no step of training has been taken yet.
    return member.buffers | _statistics(buffers)


def _statistics(buffers: Tensors) -> Tensors:
    """Buffers with fractions. Those with whole numbers count what was drawn or seen."""
    return {name: value for name, value in buffers.items() if value.is_floating_point()}
