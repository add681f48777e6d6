"""Stochastic gradient descent as the paper on overparameterised networks has it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Annotated

from beyondkernels.algorithms.base import CompiledRule, Stage
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.losses import Loss, PseudoHuber
from beyondkernels.algorithms.optimisers import Chain, Rate, chain
from beyondkernels.core.constraints import positive


@dataclass(frozen=True)
class TwoLayerSGD(ByOptimiser):
    r"""Algorithm 1: each step takes a point of the sample at random, with replacement.

    .. math:: W_t = W_{t-1} - \eta\,\nabla L_F(z^{(t)}, W_{t-1} + W^{(0)})

    Here ``W`` holds :math:`W^{(0)} + W_t`, which moves in the same way as the increment. A
    :class:`bk.overparam.TwoLayerLearner` has no other parameters.

    Arguments:
        steps: T.
        learning_rate: η.
        batch: points in a step, drawn independently; the paper has one. None takes the whole sample.
        group: which parameters are trained.
        loss: L, by default a loss that meets the paper's conditions for all predictions.

    >>> rule = TwoLayerSGD(steps=100, learning_rate=0.01)
    >>> rule.stages()[0].batch, rule.stages()[0].order
    (1, 'independent')

    Reference: Allen-Zhu, Li & Liang (overparam), Algorithm 1.
    """

    steps: Annotated[int, positive]
    learning_rate: Annotated[float, positive]
    batch: Annotated[int, positive] | None = 1
    group: str = "all"
    loss: Loss = field(default_factory=PseudoHuber)

    def rules(self) -> Chain:
        return chain(Rate(self.learning_rate))

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("descent", self.steps, self.batch, order="independent"),)

    def program(self, stage: Stage) -> Hashable:
        return type(self), stage, self.group, self.loss

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        return CompiledRule("descent", self.group)
