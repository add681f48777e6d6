"""The usual optimisers, as chains of rules, with the words of ``torch.optim``."""

from __future__ import annotations

from beyondkernels.algorithms.optimisers.base import Chain, chain
from beyondkernels.algorithms.optimisers.rules import Adam, Decay, Momentum, Rate
from beyondkernels.algorithms.optimisers.schedules import Schedule

_BETAS, _EPS = (0.9, 0.999), 1e-8


def sgd(lr: Schedule | float, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> Chain:
    """Gradient descent with momentum and L2 regularisation, as ``torch.optim.SGD``.

    Arguments:
        lr: the learning rate, a number or a schedule.
        momentum: of the heavy ball.
        weight_decay: of L2 regularisation.
        nesterov: whether the direction looks ahead.
    """
    return chain(Decay(weight_decay), Momentum(momentum, nesterov), Rate(lr))


def adam(lr: Schedule | float, betas: tuple[float, float] = _BETAS, eps: float = _EPS) -> Chain:
    """Adam, as ``torch.optim.Adam``.

    Arguments:
        lr: the learning rate, a number or a schedule.
        betas: how much the average of gradients keeps, and that of their squares.
        eps: added to the root of the latter.
    """
    return chain(Adam(betas, eps), Rate(lr))


def adamw(
    lr: Schedule | float, weight_decay: float = 0.01, betas: tuple[float, float] = _BETAS, eps: float = _EPS
) -> Chain:
    """Adam with decoupled weight decay, as ``torch.optim.AdamW``.

    Arguments:
        lr: the learning rate, a number or a schedule.
        weight_decay: the part of the parameters, in units of the rate, that is taken away in a step.
        betas: how much the average of gradients keeps, and that of their squares.
        eps: added to the root of the latter.
    """
    return chain(Adam(betas, eps), Decay(weight_decay), Rate(lr))
