"""Mini-batch gradient descent."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from beyondkernels.algorithms.base import CompiledRule, Stage
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.losses import Hinge, Loss
from beyondkernels.algorithms.optimisers import Chain, Drops, Momentum, Rate, chain
from beyondkernels.core import require, require_between, require_positive


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
        objective: the loss.
        drops: steps after which the rate falls.
        drop_factor: by what it is multiplied then.
    """

    steps: int
    learning_rate: float
    batch: int | None = None
    momentum: float = 0.0
    weight_decay: float = 0.0
    group: str = "all"
    objective: Loss = field(default_factory=Hinge)
    drops: tuple[int, ...] = ()
    drop_factor: float = 0.1

    def __post_init__(self) -> None:
        require_positive("steps", self.steps)
        require_positive("learning_rate", self.learning_rate)
        require_between("momentum", self.momentum, 0, 1, "[)")
        require(self.weight_decay >= 0, f"weight_decay must not be negative, got {self.weight_decay}")
        require_between("drop_factor", self.drop_factor, 0, 1, "(]")
        if self.batch is not None:
            require_positive("batch", self.batch)

    def rules(self) -> Chain:
        """Momentum with decay in it, and the rate."""
        decayed = Momentum(self.momentum, decay=self.weight_decay)
        return chain(decayed, Rate(Drops(self.learning_rate, self.drops, self.drop_factor)))

    def descent(self, stage: Stage) -> GradientDescent:
        """The rule at work in a stage, with the group it trains: itself."""
        return self

    def program(self, stage: Stage) -> Hashable:
        """What the step does besides its numbers."""
        return type(self), stage, self.group, self.objective

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        """Descent of its group."""
        return CompiledRule("descent", self.group)
