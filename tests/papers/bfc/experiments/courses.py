"""Outcomes of runs made by hand: a test error and feature errors at the end of every stage."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from beyondkernels.core import Outcome

Stages = Mapping[int, Mapping[str, float]]
"""By the highest layer that has joined: ``test``, ``S2``, … ``all2``, …, all relative."""


def run_with(settings: Any, layers: int, stages: Stages, variance: float) -> Outcome:
    """A run of the plain learner that has these numbers from the start of each stage on."""
    ends = settings.ends(layers)
    times = settings.times(layers) if layers == 4 else tuple(ends.values())
    tops = [next(top for top, end in ends.items() if step <= end or top == layers) for step in times]
    steps = np.array(times, dtype=float)
    series = {"step": steps, "features/step": steps}
    series["test_loss"] = np.array([stages[top]["test"] * variance for top in tops])
    for layer in range(2, layers + 1):
        found = np.array([stages[top].get(f"S{layer}", 1.0) for top in tops])
        every = np.array([stages[top].get(f"all{layer}", stages[top].get(f"S{layer}", 1.0)) for top in tops])
        series |= {f"features/distilled{layer}": found, f"features/relative{layer}": every}
    return Outcome("finished", {"steps": steps[-1], "test_loss": series["test_loss"][-1]}, series)
