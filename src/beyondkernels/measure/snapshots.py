"""The parameters that a run kept along its training."""

from __future__ import annotations

import numpy as np

from beyondkernels.core import InputError, Outcome

HIDDEN = "hidden.weight"


def snapshots(outcome: Outcome, name: str = HIDDEN) -> dict[int, np.ndarray]:
    """The kept versions of a parameter by step."""
    found = {}
    for key, array in outcome.arrays.items():
        kind, _, rest = key.partition("/")
        step, _, parameter = rest.partition("/")
        if kind == "snapshot" and parameter == name:
            found[int(step)] = array
    if not found:
        raise InputError(f"the run kept no snapshot of {name}; ask for one with snapshot_at and snapshot_names")
    return dict(sorted(found.items()))
