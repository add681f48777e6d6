"""Checks and conversions of the estimators' arguments: points, whole numbers, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from beyondkernels.core import require
from beyondkernels.core.errors import shown


def as_tensor(x: np.ndarray) -> torch.Tensor:
    """A copy of the points as float64. A caller who changes the array later does not change the fit."""
    return torch.from_numpy(np.array(x, dtype=np.float64, order="C"))


def whole_number(name: str, value: Any) -> int:
    """A parameter that must be a positive whole number."""
    # For Python, True is a whole number; as a number of features it is a mistake.
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(whole and int(value) > 0, f"{name} must be a positive whole number, got {shown(value)}")
    return int(value)


def yes_or_no(name: str, value: Any) -> bool:
    """A parameter that must be True or False."""
    require(isinstance(value, bool | np.bool_), f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` stands for.

    A whole number is the seed itself, and None is 0: nothing here runs on a seed that cannot be told afterwards. A
    ``numpy.random.RandomState`` gives its next number, so that it gives another one to the next fit.

    >>> seed_of(None), seed_of(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    require(
        isinstance(random_state, np.random.RandomState),
        f"random_state must be a whole number, None or a numpy.random.RandomState, got {shown(random_state)}",
    )
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
