"""One network in training: its data, its state and its random streams."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import torch

from beyondkernels.algorithms import Algorithm, MemberView, Stage, Transition
from beyondkernels.core import InputError, Sample, Shape, Stream, Tensors, UncacheableError, digest, on_device, require
from beyondkernels.networks import Network

Backend = Literal["eager", "compiled"]
"""How steps are computed. It is part of a run's key, because the last digits depend on it."""


@dataclass
class Member:
    """The state of one run while it trains.

    Arguments:
        network: the architecture.
        algorithm: the training rule.
        sample: the training sample.
        stream: where all of its randomness comes from.
        backend: ``eager`` for PyTorch's operations, ``compiled`` for compiled steps.
    """

    network: Network
    algorithm: Algorithm
    sample: Sample
    stream: Stream
    backend: Backend = "eager"
    params: Tensors = field(default_factory=dict)
    buffers: Tensors = field(default_factory=dict)
    optimiser: Tensors = field(default_factory=dict)
    stage_index: int | None = 0
    steps_in_stage: int = 0
    stage_entered: int = 0
    step: int = 0
    check_at: int | None = None
    diverged: bool = False
    in_dim: Shape = 0
    out_dim: int = 0

    def start(self, in_dim: Shape, out_dim: int) -> None:
        """Draw the initial parameters."""
        self.in_dim, self.out_dim = in_dim, out_dim
        params, buffers = self.algorithm.initialise(self.network, in_dim, out_dim, self._initial)
        self.params, self.buffers = on_device(params, self.device), self._own_buffers(buffers)
        require_points(self.algorithm, len(self.sample))
        self.optimiser = self.algorithm.optimiser_state(self.stage, self.params)

    @property
    def device(self) -> torch.device:
        """Where it trains: where its sample is. Draws are made on the processor and moved there."""
        return self.sample.x.device

    @property
    def active(self) -> bool:
        """Whether the training is not over."""
        return self.stage_index is not None and not self.diverged

    @property
    def stage(self) -> Stage:
        assert self.stage_index is not None
        return self.stages[self.stage_index]

    @functools.cached_property
    def stages(self) -> tuple[Stage, ...]:
        return self.algorithm.stages()

    def group(self) -> Hashable:
        """Members of equal groups can take their next steps as one ensemble."""
        points = self.stage.batch or len(self.sample)
        key = (self._architecture, self.algorithm.program(self.stage), self.step, self.shapes(), points)
        # The step number belongs to the key because hyper-parameters and stops depend on it. Compiled steps hold one
        # member each, and a user's module may not survive vmap: both get groups of their own.
        together = self.network.batching == "vmapped" and self.backend == "eager"
        return key if together else (id(self), key)

    def shapes(self) -> Hashable:
        """Names, shapes and kinds of all tensors of the state: a transition may change them, a step may not."""
        parts = (self.params, self.buffers, self.optimiser)
        return tuple(tuple((name, tuple(value.shape), value.dtype) for name, value in part.items()) for part in parts)

    def _own_buffers(self, buffers: Tensors) -> Tensors:
        """Buffers with the network's own numbers, in which the members of an ensemble may differ."""
        return on_device(_own("buffers", self.network.own_buffers() | buffers), self.device)

    @property
    def _initial(self) -> Stream:
        return self.stream.child("initial")

    @functools.cached_property
    def _architecture(self) -> Hashable:
        """Equal for networks of one program."""
        try:
            return digest(self.network.program())
        except UncacheableError:
            return id(self.network)

    def rows(self, ahead: int, steps: int) -> torch.Tensor | None:
        """Which points the next steps use, shape (steps, points); None if every step uses all points.

        Arguments:
            ahead: how many steps come before the first of these.
            steps: how many.
        """
        size, n, stage = self.stage.batch, len(self.sample), self.stage
        # All draws are counted by step and never by call, so a resumed run and one with other stops use the same
        # points.
        first = (self.step - self.stage_entered if stage.continues else self.steps_in_stage) + ahead
        if size is None:
            return None
        if self.stage.order == "once":
            return torch.arange(first * size, (first + steps) * size, device=self.device).view(steps, size)
        # a stage that is entered again goes on to orders of its own
        stream = self.stream.child("batches", str(self.stage_entered))
        if self.stage.order == "independent":
            return stream.integers_of(n, size, range(first, first + steps)).to(self.device)
        # Points of an incomplete last batch wait for the next epoch: batches of one size keep one recorded step.
        in_epoch = n // size
        epochs = range(first // in_epoch, (first + steps - 1) // in_epoch + 1)
        orders = stream.permutations(n, epochs).to(self.device)
        rows = orders[:, : in_epoch * size].reshape(-1, size)
        return rows[first - epochs.start * in_epoch :][:steps]

    def noise(self, ahead: int) -> Tensors:
        """The random numbers of a step. The next step has ``ahead`` 0."""
        # Counted over all stages: no step of a training meets the noise of another one.
        points, stream = self.stage.batch or len(self.sample), self.stream.child("noise").at(self.step + 1 + ahead)
        return on_device(self.algorithm.noise(self.stage, self.network, self.params, points, stream), self.device)

    def steps_to_check(self) -> int:
        """How many steps remain until the algorithm decides what comes next."""
        left = self.stage.steps - self.steps_in_stage
        if self.check_at is not None:
            return min(left, self.check_at - self.steps_in_stage)
        every = self.stage.check_every
        return left if every is None else min(left, every - self.steps_in_stage % every)

    def steps_ahead(self, ahead: int, steps: int) -> range:
        """The numbers of some steps, counted from 1 over all stages."""
        return range(self.step + ahead + 1, self.step + ahead + steps + 1)

    def count(self, steps: int) -> None:
        """Add to the number of steps taken."""
        self.step += steps
        self.steps_in_stage += steps

    def view(self) -> MemberView:
        """What the algorithm sees of this member."""
        assert self.stage_index is not None
        return MemberView(
            network=self.network,
            sample=self.sample,
            loss=self.algorithm.loss,
            stage=self.stage_index,
            steps_in_stage=self.steps_in_stage,
            step=self.step,
            stream=self.stream.child("transition").at(self.step),
            # Copies of the mappings, so that an algorithm that adds or drops a name does not change the member behind
            # its back.
            params=dict(self.params),
            buffers=dict(self.buffers),
            optimiser=dict(self.optimiser),
            in_dim=self.in_dim,
            out_dim=self.out_dim,
            initial=self._initial,
        )

    def check(self) -> None:
        """Let the algorithm decide what comes next."""
        after = self.algorithm.transition(self.view())
        # Decided before the index changes below.
        stays = after.stage == self.stage_index
        self._require_sound(after)
        self.params = on_device(_own("params", after.params), self.device)
        self.buffers = self._own_buffers(after.buffers)
        if not stays:
            self.stage_index, self.steps_in_stage = after.stage, 0
            if after.stage is None or not self.stage.continues:  # batches are counted from there
                self.stage_entered = self.step
        self.check_at = None if after.check_after is None else self.steps_in_stage + after.check_after
        if after.optimiser is not None:
            self.optimiser = on_device(_own("optimiser", after.optimiser), self.device)
        # A rule that says nothing starts its optimiser anew, because old averages belong to parameters of another
        # stage.
        elif after.stage is not None:
            self.optimiser = self.algorithm.optimiser_state(self.stage, self.params)

    def _require_sound(self, after: Transition) -> None:
        rule = type(self.algorithm).__name__
        require(
            after.stage != self.stage_index or self.steps_in_stage < self.stage.steps,
            f"stage {self.stage.name!r} has had its {self.stage.steps} steps and cannot go on",
        )
        require(
            after.stage is None or after.stage in range(len(self.stages)),
            f"the transition of {rule} must go to one of its {len(self.stages)} stages or to None, got {after.stage!r}",
        )
        require(
            after.check_after is None or after.check_after >= 1,
            f"the transition of {rule} must be asked again after at least one step, got check_after="
            f"{after.check_after}",
        )


def _own(part: str, tensors: Tensors) -> Tensors:
    """Tensors with memory of their own, laid out in one way.

    Sums that run over memory in another order round in another way, and an ensemble lays its members' tensors out anew.
    """
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor):  # writing out every tensor would take longer than many steps
            raise InputError(f"a transition must give tensors, got {part}[{name!r}] = {value!r:.80}")
    return {name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}


def require_points(algorithm: Algorithm, samples: int) -> None:
    """Ask for as many points as the stages of an algorithm need."""
    for stage in algorithm.stages():
        require(
            stage.batch is None or stage.batch <= samples,
            f"batch must not exceed the {samples} points of the sample, got {stage.batch}",
        )
        needed = stage.steps * (stage.batch or samples)
        require(
            stage.order != "once" or needed <= samples,
            f"a stage that uses each point once needs {needed} points for its {stage.steps} steps, "
            f"got a sample of {samples}",
        )
