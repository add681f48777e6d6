"""The usual optimisers, as chains of rules."""

from __future__ import annotations

from beyondkernels.algorithms.optimisers.base import Chain, chain
from beyondkernels.algorithms.optimisers.rules import Adam, Decay, Momentum, Rate
from beyondkernels.algorithms.optimisers.schedules import Schedule


def sgd(rate: Schedule | float, momentum: float = 0.0, decay: float = 0.0, nesterov: bool = False) -> Chain:
    """Gradient descent with momentum and L2 regularisation, as ``torch.optim.SGD``.

    Arguments:
        rate: the learning rate.
        momentum: of the heavy ball.
        decay: of L2 regularisation.
        nesterov: whether the direction looks ahead.
    """
    return chain(Decay(decay), Momentum(momentum, nesterov), Rate(rate))


def adam(rate: Schedule | float, mean: float = 0.9, square: float = 0.999, epsilon: float = 1e-8) -> Chain:
    """Adam, as ``torch.optim.Adam``.

    Arguments:
        rate: the learning rate.
        mean: how much the average of gradients keeps.
        square: how much the average of their squares keeps.
        epsilon: added to the root of the latter.
    """
    return chain(Adam(mean, square, epsilon), Rate(rate))


def adamw(
    rate: Schedule | float, decay: float = 0.01, mean: float = 0.9, square: float = 0.999, epsilon: float = 1e-8
) -> Chain:
    """Adam with decoupled weight decay, as ``torch.optim.AdamW``.

    Arguments:
        rate: the learning rate.
        decay: the part of the parameters, in units of the rate, that is taken away in a step.
        mean: how much the average of gradients keeps.
        square: how much the average of their squares keeps.
        epsilon: added to the root of the latter.
    """
    return chain(Adam(mean, square, epsilon), Decay(decay), Rate(rate))
