"""What is doubtful about data and is not refused: numbers that are rounded, points that come twice."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from beyondkernels.core.errors import warn
from beyondkernels.data.given import DataWarning
from beyondkernels.data.precision import lost

MOST_LOST = 1e-3
"""More than this fraction of a column's standard deviation is not lost without a word."""

_BLOCK = 4096
"""So many points are converted at once."""

_REPEATS = (
    ("validation", "train", "training", "so what is chosen by them is too easy"),
    ("test", "train", "training", "so the test is too easy"),
    ("test", "validation", "validation", "so the test is too easy for what is chosen by these"),
)


def warn_of_rounding(values: np.ndarray, name: str, what: str, columns: tuple[str, ...] = ()) -> None:
    """Say which column single precision does not tell apart well.

    Arguments:
        values: points or labels as they were given, (n, …).
        name: what to call them.
        what: what to call a column of them; empty where there is one alone.
        columns: the names of the columns; without them they are counted from 0.
    """
    each = lost(values)
    most, several = int(each.argmax()), int((each > MOST_LOST).sum())
    if not several:
        return
    place = most if values.ndim <= 2 else tuple(int(i) for i in np.unravel_index(most, values.shape[1:]))
    which = repr(columns[most]) if columns else str(place)
    where = f" in {what} {which}{f' and {several - 1} more' if several > 1 else ''}" if what else ""
    warn(
        f"rounding to single precision changes the {name}{where} by up to {each[most]:.2g} standard deviations; "
        "subtract an offset first, such as the mean, or scale what is tiny",
        DataWarning,
    )


def keys_in_common(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A key for each point of two sets; points are equal if their keys are.

    Arguments:
        one: points in the precision in which they were given, before any rounding.
        other: further points, or the same array.
    """
    coarse = any(each.dtype.kind == "f" and each.dtype.itemsize <= 4 for each in (one, other))
    # What was rounded before it came here can only be equal to what is rounded in the same way.
    kind = np.dtype(np.float32) if coarse else np.result_type(one, other)
    keys = _keys(one, kind)
    return keys, keys if other is one else _keys(other, kind)


def warn_of_repeats(keys: Mapping[str, np.ndarray], name: str) -> None:
    """Say how many points of one part are in another too: on these a test says nothing.

    Arguments:
        keys: of the points of each part.
        name: what to call the data.
    """
    for part, other, called, so in _REPEATS:
        known = set(keys[other].tolist())
        repeats = sum(key in known for key in keys[part].tolist())
        if repeats:
            warn(
                f"{repeats} of the {len(keys[part])} {part} points of {name} are among its {called} points, {so}",
                DataWarning,
            )


def _keys(points: np.ndarray, kind: np.dtype) -> np.ndarray:
    """A hash of each point; −0.0 plus 0 is 0.0, so that the two are equal."""
    keys = []
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK].astype(kind) + kind.type(0)
        keys += [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in block]
    return np.array(keys, "V16")
