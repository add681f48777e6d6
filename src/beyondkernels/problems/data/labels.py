"""Labels: numbers to be predicted, or classes."""

from __future__ import annotations

import numpy as np

from beyondkernels.core import require

MOST_CLASSES = 1000
"""More different whole numbers than this are taken for numbers."""


def class_names(y: np.ndarray, classify: bool | None = None) -> tuple[str, ...]:
    """The classes among labels in their order; none where labels are numbers to be predicted.

    Words, truth values and whole numbers are classes. Numbers with a fraction are not, unless all of them are −1 or +1.

    Arguments:
        y: labels.
        classify: True or False overrides the guess.

    >>> class_names(np.array(["cat", "dog", "cat"])), class_names(np.array([0.5, 1.0]))
    (('cat', 'dog'), ())
    """
    if y.ndim == 2:
        require(not classify, f"classes must be given as one label for each point, got the shape {y.shape}")
        return ()
    kinds = np.unique(y)
    if classify is None:
        whole = y.dtype.kind in "iubUS" or bool(np.isin(kinds, (-1.0, 1.0)).all())
        classify = whole and len(kinds) <= MOST_CLASSES
    require(
        classify or y.dtype.kind in "fiub",
        f"labels must be numbers or classes, got {len(kinds)} different values of {y.dtype}",
    )
    if not classify:
        return ()
    require(len(kinds) > 1, f"labels must be of at least two classes, got {named(kinds[0])} alone")
    return tuple(named(each) for each in kinds)


def class_numbers(y: np.ndarray, classes: tuple[str, ...], part: str) -> np.ndarray:
    """The place of each label among the classes.

    Arguments:
        y: labels.
        classes: their names.
        part: what to call the labels in an error message.
    """
    place = {name: i for i, name in enumerate(classes)}
    kinds, inverse = np.unique(y, return_inverse=True)
    strangers = [named(each) for each in kinds if named(each) not in place]
    require(not strangers, f"{part} labels must be among the classes {', '.join(classes[:8])}, got {strangers[:3]}")
    return np.array([place[named(each)] for each in kinds])[inverse.reshape(-1)]


def numbers(y: np.ndarray) -> np.ndarray:
    """Labels that are numbers, in single precision."""
    values = y.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
    require(
        len(bad) == 0,
        f"y must be finite, got NaN or infinity in {len(bad)} of {len(y)} labels, the first in row {bad[:1]}",
    )
    return values


def named(value: object) -> str:
    """A class by its name: 1.0 and 1 are one class.

    >>> named(np.float64(1.0)), named("a")
    ('1', 'a')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
