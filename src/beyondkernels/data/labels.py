"""Labels: numbers to be predicted, or classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from beyondkernels.core import InputError, require, shown
from beyondkernels.data.precision import single, varies

MOST_CLASSES = 1000
"""More different whole numbers than this are taken for numbers."""

_FEW_CLASSES = 20
"""So few different whole numbers are taken for classes, however few points there are."""


def class_names(y: np.ndarray, classify: bool | None = None) -> tuple[str, ...]:
    """The classes among labels in their order; none where labels are numbers to be predicted.

    Words, truth values and whole numbers are classes, and rows of zeros with a single one. Numbers with a fraction are
    not, unless all of them are −1 or +1. Whole numbers of which there are about as many as points are numbers.

    Arguments:
        y: labels.
        classify: True or False overrides the guess.

    >>> class_names(np.array(["cat", "dog", "cat"])), class_names(np.array([0.5, 1.0]))
    (('cat', 'dog'), ())
    """
    if y.ndim == 2:
        require(
            not classify,
            f"classes must be given as one label for each point, or as rows with a single one, got the shape {y.shape}",
        )
        return ()
    kinds = np.unique(y)
    if classify is None:
        words = y.dtype.kind in "bUS"
        whole = y.dtype.kind in "iu" or bool(np.isin(kinds, (-1.0, 1.0)).all())
        classify = words or (whole and len(kinds) <= max(_FEW_CLASSES, min(MOST_CLASSES, len(y) // 2)))
    require(
        classify or y.dtype.kind in "fiub",
        f"labels must be numbers or classes, got {len(kinds)} different values of {y.dtype}",
    )
    if not classify:
        return ()
    require(len(kinds) > 1, f"labels must be of at least two classes, got {named(kinds[0])} alone")
    return tuple(named(each) for each in kinds)


def class_order(y: object) -> tuple[str, ...]:
    """The names of the categories of an ordered pandas categorical, in their order; none for other labels.

    Arguments:
        y: labels, as they were given.
    """
    kind: Any = getattr(y, "dtype", None)
    return tuple(named(each) for each in kind.categories) if getattr(kind, "ordered", None) else ()


def single_labels(y: np.ndarray, classify: bool | None = None) -> np.ndarray:
    """Labels as one for each point, where a column, or rows of zeros with a single one for classes, were given.

    Arguments:
        y: labels, (n,) or (n, k).
        classify: False leaves them as numbers.

    >>> single_labels(np.array([[0, 1, 0], [0, 0, 1]])).tolist(), single_labels(np.array([[0.5], [2.5]])).tolist()
    ([1, 2], [0.5, 2.5])
    """
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    rows = y.ndim == 2 and y.shape[1] > 1 and classify is not False and y.dtype.kind in "fiub"
    if rows and bool(np.isin(y, (0, 1)).all()) and bool((y.sum(1) == 1).all()):
        return y.argmax(1)
    return y


def require_labels(y: np.ndarray) -> None:
    """Ask for labels that are there, of one kind.

    Arguments:
        y: labels, as they were given.
    """
    if y.dtype == object:
        flat = y.reshape(len(y), -1)[:, 0] if y.size else y
        missing = [i for i, each in enumerate(flat) if each is None or each != each]  # NaN is not itself
        require(not missing, f"y must have a label for each point, got none in {_rows(missing, len(y))}")
        kinds = sorted({type(each).__name__ for each in flat})
        raise InputError(f"y must hold labels of one kind, numbers or words, got {', '.join(kinds[:4])}")
    if y.dtype.kind == "S":
        for each in np.unique(y):
            _require_text(each)
    require(y.dtype.kind != "c", f"y must hold real numbers or classes, got {y.dtype}")
    if y.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(y).all(axis=tuple(range(1, y.ndim))))
        require(len(bad) == 0, f"y must be finite, got NaN or infinity in {_rows(bad, len(y))}")


def _require_text(label: bytes) -> None:
    try:
        label.decode()
    except UnicodeDecodeError:
        raise InputError(f"y must hold bytes that are text in UTF-8, got {shown(label)}") from None


def _rows(bad: Sequence[int] | np.ndarray, n: int) -> str:
    return f"{len(bad)} of {n} labels, the first in row {int(bad[0]) if len(bad) else 0}"


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


def require_different(y: np.ndarray, name: str) -> None:
    """Ask that numbers to be predicted are not all equal in single precision if they are not as they were given.

    Arguments:
        y: labels, (n,) or (n, k).
        name: what to call them.
    """
    columns = y.reshape(len(y), -1)
    rounded = single(columns, name)
    equal = np.flatnonzero((rounded == rounded[0]).all(0) & varies(columns))
    if len(equal):
        column = columns[:, equal[0]]
        raise InputError(
            f"{name} must differ in single precision, got numbers from {column.min()!s} to {column.max()!s} that all "
            "become the same; subtract their mean and divide by their standard deviation first"
        )


def as_numbers(y: np.ndarray) -> np.ndarray:
    """Labels that are numbers, in single precision."""
    return single(y, "y")


def named(value: object) -> str:
    """A class by its name: 1.0 and 1 are one class, and so are b"a" and "a".

    >>> named(np.float64(1.0)), named("a"), named(b"a")
    ('1', 'a', 'a')
    """
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
