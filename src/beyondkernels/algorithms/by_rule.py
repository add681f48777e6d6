"""Trainings in several stages that hand their steps to rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

from beyondkernels.algorithms.base import Algorithm, Batch, Stage, StepResult
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Stream, Tensors
from beyondkernels.networks import Network


class ByRules(Algorithm):
    """Stages with the optimiser, the schedule and the steps of a rule, each with its own."""

    @abstractmethod
    def descent(self, stage: Stage) -> ByOptimiser:
        """The rule at work in a stage, with the group it trains."""

    @abstractmethod
    def before(self, stage: Stage) -> int:
        """How many steps of the training the rule does not count in a stage, because its schedule began anew since."""

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        return self.descent(stage).optimiser_state(stage, params)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        return self.descent(stage).hyper(stage, step - self.before(stage))

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        before = self.before(stage)
        return self.descent(stage).hyper_of(stage, range(steps.start - before, steps.stop - before))

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        return self.descent(stage).noise(stage, network, params, points, stream)

    def program(self, stage: Stage) -> Hashable:
        return type(self), self.descent(stage).program(stage)

    def step(
        self,
        stage: Stage,
        network: Network,
        params: Tensors,
        buffers: Tensors,
        optimiser: Tensors,
        batch: Batch,
        noise: Tensors,
        hyper: Tensors,
    ) -> StepResult:
        return self.descent(stage).step(stage, network, params, buffers, optimiser, batch, noise, hyper)


class ByRule(ByRules):
    """Stages with the objective, the optimiser and the schedule of one rule."""

    rule: ByOptimiser

    @property
    def loss(self) -> Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.rule.loss

    def descent(self, stage: Stage) -> ByOptimiser:
        return self.rule
