"""Mini-batch gradient descent."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.algorithms.base import Algorithm, Batch, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import Hinge, Loss
from beyondkernels.core import Tensors
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.networks import Network


@dataclass(frozen=True)
class GradientDescent(Algorithm):
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

    steps: Annotated[int, positive]
    learning_rate: Annotated[float, positive]
    batch: Annotated[int, positive] | None = None
    momentum: Annotated[float, between(0, 1, "[)")] = 0.0
    weight_decay: Annotated[float, not_negative] = 0.0
    group: str = "all"
    objective: Loss = field(default_factory=Hinge)
    drops: tuple[int, ...] = ()
    drop_factor: Annotated[float, between(0, 1, "(]")] = 0.1

    @property
    def loss(self) -> Loss:
        """The objective."""
        return self.objective

    def stages(self) -> tuple[Stage, ...]:
        """A single stage."""
        return (Stage("descent", self.steps, self.batch),)

    def descent(self, stage: Stage) -> GradientDescent:
        """The rule at work in a stage, with the group it trains: itself."""
        return self

    def optimiser(self, stage: Stage, params: Tensors) -> Tensors:
        """The velocity, zero at first."""
        return {name: torch.zeros_like(value) for name, value in params.items()}

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        """η, µ and λ."""
        dropped = sum(step > drop for drop in self.drops)
        rate = self.learning_rate * self.drop_factor**dropped
        return {"rate": rate, "momentum": self.momentum, "decay": self.weight_decay}

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        """The same for many steps: only the rate ever changes, and seldom."""
        turns = [
            steps.start,
            *sorted(drop + 1 for drop in self.drops if steps.start <= drop < steps.stop - 1),
            steps.stop,
        ]
        pieces = [(self.hyper(stage, start), stop - start) for start, stop in itertools.pairwise(turns)]
        return {name: [number for each, count in pieces for number in [each[name]] * count] for name in pieces[0][0]}

    def program(self, stage: Stage) -> Hashable:
        """What the step does besides its numbers."""
        return type(self), stage, self.group, self.objective

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
        """One update."""
        names = network.trained(self.group, params)
        loss, gradient, after = loss_and_gradient(network, params, buffers | noise, batch, self.loss, names)
        velocity = dict(optimiser)
        moved = dict(params)
        for name in names:
            velocity[name] = hyper["momentum"] * velocity[name] + gradient[name] + hyper["decay"] * params[name]
            moved[name] = params[name] - hyper["rate"] * velocity[name]
        return StepResult(moved, after, velocity, loss)
