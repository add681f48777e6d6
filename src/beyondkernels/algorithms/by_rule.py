"""Trainings in several stages that hand their steps to one rule."""

from __future__ import annotations

from abc import abstractmethod

from beyondkernels.algorithms.base import Algorithm, Stage
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Tensors


class ByRule(Algorithm):
    """Stages with the objective, the optimiser and the schedule of one rule."""

    rule: ByOptimiser

    @abstractmethod
    def before(self, stage: Stage) -> int:
        """How many steps of the training the rule does not count in a stage, because its schedule began anew since."""

    @property
    def loss(self) -> Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The rule's loss."""
        return self.rule.loss

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        return self.rule.optimiser_state(stage, params)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        return self.rule.hyper(stage, step - self.before(stage))

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        before = self.before(stage)
        return self.rule.hyper_of(stage, range(steps.start - before, steps.stop - before))
