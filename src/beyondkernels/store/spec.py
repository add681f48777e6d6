"""The specification of one run, which is also its identity."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any

from beyondkernels.core.components import Component, describe, later
from beyondkernels.core.constraints import any_number, at_least
from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import require, shown
from beyondkernels.store.device import PROCESSOR, require_device_name
from beyondkernels.store.keys import key_of
from beyondkernels.store.witness import witness_of


@dataclass(frozen=True)
class RunSpec(Component):
    """One learner on one problem with one seed.

    Arguments:
        problem: where the samples come from.
        learner: what learns.
        samples: the size of the train sample.
        test_samples: the size of the test sample.
        seed: everything random in the run is a function of it.
        measurements: applied to the outcome, in this order; each is a ``measure.Measurement``.
        validation_samples: the size of the validation sample; there is none while it is 0.
        device: where it is computed, ``cpu``, ``cuda`` or ``cuda:1``: the last digits depend on it.
    """

    problem: Problem
    learner: Learner
    samples: Annotated[int, at_least(1)]
    test_samples: Annotated[int, at_least(0)]
    seed: Annotated[int, any_number]
    measurements: tuple[Component, ...] = ()  # not tuple[Measurement, ...]: the hints must resolve without torch
    # Fields that were added later are left out of a description while they have their defaults, so older keys stay.
    validation_samples: Annotated[int, at_least(0)] = later(0)
    device: str = later(PROCESSOR)

    def __post_init__(self) -> None:
        require_device_name(self.device)
        kind, got = type(self.learner).__name__, shown(self.device)
        require(
            self.learner.runs_on(self.device),
            f"device must be 'cpu' for this {kind}, which computes there, got {got}",
        )

    @property
    def fresh_samples(self) -> int:
        """How many points are drawn beside the train sample."""
        return self.test_samples + self.validation_samples

    @functools.cached_property
    def key(self) -> str:
        """The run's key: 32 hexadecimal digits that change with anything that may change its numbers."""
        # With the witness, if there is one: two models whose code reads alike may still act differently.
        return key_of(self.description)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """All that is known of the run beforehand, as plain data: what a store keeps of it, and what has its key."""
        described = describe(self)
        return described if self.witness is None else {**described, "witness": self.witness}

    @functools.cached_property
    def witness(self) -> dict[str, Any] | None:
        """What a user's own code in it does on a few points; None if all of it is this package's."""
        return witness_of(self.learner, self.problem, self.samples, self.measurements)

    def witnessed(self, witness: dict[str, Any] | None) -> RunSpec:
        """This run with a witness that another process has made, which then need not be made again."""
        self.__dict__["witness"] = witness
        return self
