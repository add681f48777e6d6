"""One network in training: its data, its state, and the random streams that belong to it alone."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field

import torch

from beyondkernels.algorithms import Algorithm, Batch, Stage
from beyondkernels.core import Sample, Stream, Tensors, UncacheableError, digest, require
from beyondkernels.networks import Network


@dataclass
class Member:
    """The state of one run while it trains.

    Arguments:
        network: the architecture.
        algorithm: the training rule.
        sample: the training sample.
        stream: where all of its randomness comes from.
    """

    network: Network
    algorithm: Algorithm
    sample: Sample
    stream: Stream
    params: Tensors = field(default_factory=dict)
    buffers: Tensors = field(default_factory=dict)
    optimiser: Tensors = field(default_factory=dict)
    stage_index: int | None = 0
    steps_in_stage: int = 0
    stage_entered: int = 0
    step: int = 0
    diverged: bool = False

    def start(self, in_dim: int, out_dim: int) -> None:
        """Draw the initial parameters."""
        params, buffers = self.algorithm.initialise(self.network, in_dim, out_dim, self.stream.child("initial"))
        self.params, self.buffers = params, buffers
        for stage in self.algorithm.stages():
            require(
                stage.batch is None or stage.batch <= len(self.sample),
                f"batch must not exceed the {len(self.sample)} points of the sample, got {stage.batch}",
            )
        self.optimiser = self.algorithm.optimiser(self.stage, params)

    @property
    def active(self) -> bool:
        """Whether there is something left to train."""
        return self.stage_index is not None and not self.diverged

    @property
    def stage(self) -> Stage:
        """The present stage."""
        assert self.stage_index is not None
        return self.algorithm.stages()[self.stage_index]

    def group(self) -> Hashable:
        """Members of equal groups can take their next steps as one ensemble."""
        shapes = tuple((name, tuple(value.shape)) for name, value in (self.params | self.buffers).items())
        points = self.stage.batch or len(self.sample)
        key = (_identity(self.network), self.algorithm.program(self.stage), self.step, shapes, points)
        return key if self.network.batching == "vmapped" else (id(self), key)

    def batch(self) -> Batch:
        """The batch of the next step: all points, or the next part of this epoch's order."""
        size, n = self.stage.batch, len(self.sample)
        if size is None:
            return Batch(self.sample.x, self.sample.y)
        epoch, position = divmod(self.steps_in_stage, n // size)
        # a stage that is entered again goes on to orders of its own
        order = _order(self.stream.child("batches", str(self.stage_entered)).at(epoch), n)
        rows = order[position * size : (position + 1) * size]
        return Batch(self.sample.x[rows], self.sample.y[rows])

    def noise(self) -> Tensors:
        """The random numbers of the next step."""
        points = self.stage.batch or len(self.sample)
        return self.algorithm.noise(self.stage, self.network, points, self.stream.child("noise").at(self.step + 1))

    def steps_to_check(self) -> int:
        """How many steps until the algorithm is asked where to go next."""
        left = self.stage.steps - self.steps_in_stage
        every = self.stage.check_every
        return left if every is None else min(left, every - self.steps_in_stage % every)

    def count(self) -> None:
        """Count a step that was taken."""
        self.step += 1
        self.steps_in_stage += 1

    def check(self) -> None:
        """Ask the algorithm where to go next."""
        assert self.stage_index is not None
        after = self.algorithm.transition(self.stage_index, self.steps_in_stage, self.params, self.optimiser)
        stays = after.stage == self.stage_index
        require(
            not stays or self.steps_in_stage < self.stage.steps,
            f"stage {self.stage.name!r} has had its {self.stage.steps} steps and cannot go on",
        )
        self.params, self.optimiser = after.params, after.optimiser
        if not stays:
            self.stage_index, self.steps_in_stage, self.stage_entered = after.stage, 0, self.step
            if after.stage is not None:
                self.optimiser = self.algorithm.optimiser(self.stage, after.params)


def _identity(network: Network) -> Hashable:
    try:
        return digest(network)
    except UncacheableError:
        return id(network)


@functools.lru_cache(maxsize=256)
def _order(stream: Stream, n: int) -> torch.Tensor:
    """The order of an epoch; kept because every batch of the epoch asks for it."""
    return stream.permutation(n)
