"""What a measurement is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from beyondkernels.core import Component, Ended, Measured


class Measurement(Component, ABC):
    """Scalars, series and arrays computed from a run that has ended."""

    @abstractmethod
    def measure(self, run: Ended) -> Measured:
        """All that it finds, by name."""


def over_steps(group: str, steps: Iterable[int], rows: Iterable[Mapping[str, object]]) -> dict[str, np.ndarray]:
    """Series with a time axis of their own, from what was found at each step.

    Arguments:
        group: the first part of their names, ``<group>/<name>``; the axis is ``<group>/step``.
        steps: when it was found.
        rows: for each step numbers or arrays by name, the same names and shapes at every step.

    >>> sorted(over_steps("norm", [0, 10], [{"W": 1.0}, {"W": 2.0}]))
    ['norm/W', 'norm/step']
    """
    found = list(rows)
    columns = {name: np.array([row[name] for row in found]) for name in found[0]} if found else {}
    axis = {f"{group}/step": np.array([float(step) for step in steps])}
    return axis | {f"{group}/{name}": column for name, column in columns.items()}
