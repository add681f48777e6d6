"""The gradient of a mean loss, taken in blocks of points so that intermediate results stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from beyondkernels.algorithms.base import Batch
from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Tensors
from beyondkernels.networks import Network

BLOCK = 1000
"""Points in a block."""


def loss_and_gradient(
    network: Network, params: Tensors, buffers: Tensors, batch: Batch, loss: Loss, names: Sequence[str]
) -> tuple[torch.Tensor, Tensors, Tensors]:
    r"""The mean loss over a batch, its gradient in some of the parameters, and the buffers afterwards.

    .. math:: L(\theta) = \frac1n \sum_{i=1}^n \ell(y_i, g(x_i; \theta))

    Arguments:
        network: the network.
        params: all its parameters.
        buffers: its buffers; one named ``noise`` has a row for each point of the batch.
        batch: the points.
        loss: ℓ.
        names: the parameters in which the gradient is taken.
    """
    if network.batching == "sequential":
        return _of_a_module(network, params, buffers, batch, loss, names)
    n = batch.x.shape[0]
    fixed = {name: value for name, value in params.items() if name not in names}

    def block_loss(moving: Tensors, buffers: Tensors, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
        out, after = network.apply(fixed | moving, buffers, x, train=True)
        # Over the whole batch and not over the block, so that the blocks add up to the mean.
        return loss.each(out, y).sum() / n, after

    gradient_of = torch.func.grad_and_value(block_loss, has_aux=True)
    moving = {name: params[name] for name in names}
    total, gradient = torch.zeros((), dtype=batch.x.dtype, device=batch.x.device), {}
    noise = buffers.get("noise")
    # In blocks, because the memory of a whole batch of an ensemble would be the product of points, members and neurons.
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        at = buffers if noise is None else buffers | {"noise": noise[rows]}
        block, (value, buffers) = gradient_of(moving, at, batch.x[rows], batch.y[rows])
        gradient = {name: gradient[name] + block[name] if gradient else block[name] for name in names}
        total = total + value
    return total, gradient, buffers


def _of_a_module(
    network: Network, params: Tensors, buffers: Tensors, batch: Batch, loss: Loss, names: Sequence[str]
) -> tuple[torch.Tensor, Tensors, Tensors]:
    """The same for a network that is never vmapped: PyTorch's tape costs less time in each step than torch.func.

    The batch is not cut up, because a user's module may look at it as a whole, as batch normalisation does.
    """
    moving = {name: params[name].detach().requires_grad_() for name in names}
    with torch.enable_grad():
        out, after = network.apply(params | moving, buffers, batch.x, train=True)
        value = loss.each(out, batch.y).mean()
        found = torch.autograd.grad(value, list(moving.values()), allow_unused=True) if moving else ()
    gradient = {
        # A module may leave a parameter unused, as a frozen branch does: it gets a zero gradient, and decay still acts
        # on it.
        name: torch.zeros_like(params[name]) if each is None else each
        for name, each in zip(names, found, strict=True)
    }
    return value.detach(), gradient, {name: each.detach() for name, each in after.items()}
