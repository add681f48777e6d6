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
    n = batch.x.shape[0]
    fixed = {name: value for name, value in params.items() if name not in names}

    def block_loss(moving: Tensors, buffers: Tensors, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
        out, after = network.apply(fixed | moving, buffers, x, train=True)
        return loss.each(out, y).sum() / n, after

    gradient_of = torch.func.grad_and_value(block_loss, has_aux=True)
    moving = {name: params[name] for name in names}
    total, gradient = torch.zeros((), dtype=batch.x.dtype, device=batch.x.device), {}
    noise = buffers.get("noise") if network.batching == "vmapped" else None
    # A user's module may look at its batch as a whole (batch normalisation does), so it is not cut up.
    size = BLOCK if network.batching == "vmapped" else n
    for start in range(0, n, size):
        rows = slice(start, start + size)
        at = buffers if noise is None else buffers | {"noise": noise[rows]}
        block, (value, buffers) = gradient_of(moving, at, batch.x[rows], batch.y[rows])
        gradient = {name: gradient[name] + block[name] if gradient else block[name] for name in names}
        total = total + value
    return total, gradient, buffers
