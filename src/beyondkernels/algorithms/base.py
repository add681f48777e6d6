"""What a training rule is: stages of pure, tensor-only steps, with decisions taken between them on the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch

from beyondkernels.algorithms.losses import Loss
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import Component, Shape, Stream, Tensors, digest, speaks_for
from beyondkernels.networks import Network


@dataclass(frozen=True)
class Stage:
    """A stretch of training in which the rule stays the same.

    Arguments:
        name: what it is called.
        steps: how many steps it lasts at most.
        batch: points in a batch; None takes the whole sample.
        check_every: after how many steps ``transition`` is asked; None asks only when all steps are taken.
        order: ``shuffled`` takes the batches of an epoch in an order drawn for it; ``once`` takes the points as the
            sample has them, each at most once; ``independent`` draws every point of every batch from the whole sample.
        continues: whether its batches go on where those of the stage before it ended, which had the same batch and
            order.
    """

    name: str
    steps: int
    batch: int | None
    check_every: int | None = None
    order: Literal["shuffled", "once", "independent"] = "shuffled"
    continues: bool = False


class Batch(NamedTuple):
    """Points and labels of one step."""

    x: torch.Tensor
    y: torch.Tensor


class StepResult(NamedTuple):
    """The state after a step, and the batch loss before it."""

    params: Tensors
    buffers: Tensors
    optimiser: Tensors
    loss: torch.Tensor


@dataclass(frozen=True)
class CompiledRule:
    r"""What the steps of a stage are, where the compiled backend has such steps.

    Arguments:
        kind: ``descent`` for :math:`v \leftarrow \mu v + \nabla L + \lambda\theta,\ \theta \leftarrow \theta - \eta v`
            with v in the optimiser's state under the parameters' names and η, µ, λ among the numbers as ``rate``,
            ``momentum`` and ``decay`` (zero where they are missing); ``adam`` for :class:`~.optimisers.Adam` with its
            own state and numbers and a ``rate``; ``one pass`` for :class:`OnePass`; ``smoothed`` for
            :class:`ThreeLayerSGD`.
        group: which parameters are trained.
        decays: for ``adam``, the names of the numbers of L2 regularisation and of decoupled decay; empty where there
            is none.
    """

    kind: Literal["descent", "adam", "one pass", "smoothed"]
    group: str = "all"
    decays: tuple[str, str] = ("", "")


class Algorithm(Component, ABC):
    """A training rule.

    ``step`` is pure and made of tensors only: all randomness is drawn outside and passed in, no branch depends on a
    tensor, nothing is read back. It is vmapped over the members of an ensemble, so what differs between members goes
    through ``hyper`` and ``noise``, and what is the same for all is the ``program``.
    """

    loss: Loss
    """The loss that is trained and reported."""

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in the order in which members pass them."""

    @abstractmethod
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
        """One update. Of a network that trains alone (``sequential``) it may overwrite parameters and optimiser."""

    @abstractmethod
    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        """The numbers of this step (counted from 1 over all stages); they become tensors."""

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        """The numbers of many steps, each a list: the same as ``hyper`` gives one by one."""
        numbers = [self.hyper(stage, step) for step in steps]
        return {name: [each[name] for each in numbers] for name in numbers[0]}

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The parameters and buffers training starts from."""
        return network.init(in_dim, out_dim, stream)

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        """The optimiser's state at the start of a stage."""
        return {}

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        """The random numbers of one step.

        Arguments:
            stage: the present stage.
            network: the network.
            params: its parameters, for their names and shapes alone.
            points: how many points the step looks at.
            stream: already at that step.
        """
        return {}

    def later_parameters(self, network: Network) -> tuple[str, ...]:
        """The names of parameters that are not there at the start and that a transition may add.

        A buffer of that kind is named as in a snapshot, ``buffers/<name>``.
        """
        return ()

    def program(self, stage: Stage) -> Hashable:
        """Equal for algorithms whose ``step`` differs in nothing but ``hyper`` and ``noise``."""
        return digest(self), stage

    def compiled_rule(self, stage: Stage) -> CompiledRule | None:
        """What the compiled backend needs to know of a stage's steps; None where it has no such steps.

        A class that overrides ``step`` or its numbers declares its rule anew: what its parent said is not believed of
        it.
        """
        return None

    def recorded(self, view: MemberView) -> dict[str, float]:
        """The rule's own numbers for the record over training, kept as series ``rule/<name>``; none by default.

        They are asked for while training goes on, so there are none of the last step.
        """
        return {}

    def summary(self, steps: int, optimiser: Tensors) -> dict[str, float]:
        """What the optimiser's state knows about the whole run, at its end; read on the host.

        Arguments:
            steps: how many were taken.
            optimiser: the state after them.
        """
        return {}

    def transition(self, view: MemberView) -> Transition:
        """Where a member goes next; asked on the host every ``check_every`` steps and when a stage has had all of its.

        Thresholds, decompositions, changes of shape and choices among random draws belong here. The default goes on
        to the end of each stage, and then to the next one.

        Arguments:
            view: the member, and nothing of the company it trains in.
        """
        stages = self.stages()
        if view.steps_in_stage < stages[view.stage].steps:
            return view.stay()
        return view.enter(view.stage + 1) if view.stage + 1 < len(stages) else view.end()


def declared_rule(algorithm: Algorithm, stage: Stage) -> CompiledRule | None:
    """The compiled rule of a stage, if it speaks for the steps that the algorithm takes."""
    believed = speaks_for(type(algorithm), "compiled_rule", ("step", "hyper", "hyper_of", "noise"))
    return algorithm.compiled_rule(stage) if believed else None
