"""The specification of one run, which is also its identity."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from beyondkernels.core.components import Component, digest, later
from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import require, require_whole


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
    samples: int
    test_samples: int
    seed: int
    measurements: tuple[Component, ...] = ()  # not tuple[Measurement, ...]: the hints must resolve without torch
    validation_samples: int = later(0)
    device: str = later("cpu")

    def __post_init__(self) -> None:
        require(isinstance(self.problem, Problem), f"problem must be a Problem, got {self.problem!r}")
        require(isinstance(self.learner, Learner), f"learner must be a Learner, got {self.learner!r}")
        parts = isinstance(self.measurements, tuple) and all(isinstance(part, Component) for part in self.measurements)
        require(parts, f"measurements must be a tuple of measurements, got {self.measurements!r}")
        for name, least in (("samples", 1), ("test_samples", 0), ("validation_samples", 0), ("seed", None)):
            value = getattr(self, name)
            require_whole(name, value, None)  # 1000.0 would be another key than 1000
            require(least is None or value >= least, f"{name} must be at least {least}, got {value}")

        named = isinstance(self.device, str) and re.fullmatch(r"[a-z]+(:\d+)?", self.device) is not None
        require(named, f"device must be a device's name, such as 'cpu' or 'cuda:0', got {self.device!r}")
        require(
            self.learner.runs_on(self.device),
            f"device must be 'cpu' for this {type(self.learner).__name__}, which computes there, got {self.device!r}",
        )

    @property
    def fresh_samples(self) -> int:
        """How many points are drawn beside the train sample."""
        return self.test_samples + self.validation_samples

    @functools.cached_property
    def key(self) -> str:
        """The run's key: 32 hexadecimal digits that change with anything that may change its numbers."""
        return digest(self)
