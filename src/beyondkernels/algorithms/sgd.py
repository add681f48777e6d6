"""Mini-batch gradient descent."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Annotated

from beyondkernels.algorithms.base import CompiledRule, Stage
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.losses import Hinge, Loss
from beyondkernels.algorithms.optimisers import Chain, Drops, Momentum, Rate, chain
from beyondkernels.core.constraints import between, not_negative, positive


@dataclass(frozen=True)
class GradientDescent(ByOptimiser):
    r"""Gradient descent with momentum and weight decay on batches drawn epoch by epoch.

    .. math:: v \leftarrow \mu v + \nabla L(\theta) + \lambda\theta, \qquad \theta \leftarrow \theta - \eta v

    Arguments:
        steps: how many.
        learning_rate: η.
        batch: points in a batch; None takes the whole sample.
        momentum: µ.
        weight_decay: λ.
        group: which parameters are trained, a group of the network.
        loss: what is minimised.
        drops: steps after which the rate falls.
        drop_factor: by what it is multiplied then.
    """

    steps: Annotated[int, positive]
    learning_rate: Annotated[float, positive]
    batch: Annotated[int, positive] | None = None
    momentum: Annotated[float, between(0, 1, "[)")] = 0.0
    weight_decay: Annotated[float, not_negative] = 0.0
    group: str = "all"
    loss: Loss = field(default_factory=Hinge)
    drops: tuple[int, ...] = ()
    drop_factor: Annotated[float, between(0, 1, "(]")] = 0.1

    def rules(self) -> Chain:
        decayed = Momentum(self.momentum, decay=self.weight_decay)
        return chain(decayed, Rate(Drops(self.learning_rate, self.drops, self.drop_factor)))

    def with_rate_times(self, factor: float) -> GradientDescent:
        """The same with another η."""
        return replace(self, learning_rate=float(f"{self.learning_rate * factor:.12g}"))

    def descent(self, stage: Stage) -> GradientDescent:
        """The rule at work in a stage, with the group it trains: itself."""
        return self

    def program(self, stage: Stage) -> Hashable:
        return type(self), stage, self.group, self.loss

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        return CompiledRule("descent", self.group)
