"""What a measurement is."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from beyondkernels.core import Component, Outcome, Problem


class Measurement(Component, ABC):
    """Numbers or arrays computed from a run's outcome and its problem."""

    @abstractmethod
    def measure(self, outcome: Outcome, problem: Problem) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Named scalars and named arrays."""
