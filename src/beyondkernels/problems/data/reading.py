"""Points and labels as people have them: arrays, tensors, tables, data sets and loaders."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from beyondkernels.core import InputError, require, shown

MOST_POINTS = 5_000_000
"""A loader that has given so many points is taken for one that never ends."""

FORMS = (
    "(X, y), ((X_train, y_train), (X_test, y_test)), a torch Dataset or DataLoader, or a DataFrame with target='column'"
)


def read_pair(data: Any, target: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, …) and labels (n,) or (n, k) from one source.

    Arguments:
        data: a pair (X, y), a DataFrame, a torch Dataset or a DataLoader.
        target: the column of a DataFrame that holds the labels.
    """
    if _is_frame(data):
        return _from_frame(data, target)
    require(target is None, f"target names a column of a DataFrame, got data of type {type(data).__name__}")
    require(
        not isinstance(data, torch.Tensor | np.ndarray),
        f"data must hold points and labels, such as the pair (X, y), got one array of the shape "
        f"{tuple(getattr(data, 'shape', ()))}",
    )
    if isinstance(data, tuple | list) and len(data) == 2:
        points, labels = read_points(data[0]), _array(data[1], "y")
    elif isinstance(data, torch.utils.data.DataLoader):
        points, labels = _from_batches(data)
    elif isinstance(data, torch.utils.data.Dataset) or (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        points, labels = _from_items(data)
    else:
        raise InputError(f"data must be {FORMS}, got a {type(data).__name__}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    require(
        labels.ndim in (1, 2), f"y must have a label, or a row of them, for each point, got the shape {labels.shape}"
    )
    require(
        len(points) == len(labels),
        f"X and y must have equally many rows, got {len(points)} points and {len(labels)} labels",
    )
    require(len(points) > 0, "data must hold at least one point, got none")
    return points, labels


def read_points(x: Any) -> np.ndarray:
    """Points as an array of single precision; images of bytes are divided by 255.

    Arguments:
        x: an array, a tensor, a DataFrame of numbers, or a list of lists.

    >>> read_points([[0, 1], [2, 3]]).dtype, read_points(np.full((1, 2, 2), 255, np.uint8)).max()
    (dtype('float32'), np.float32(1.0))
    """
    if _is_frame(x):
        words = [str(name) for name in x.columns if not np.issubdtype(np.asarray(x[name]).dtype, np.number)]
        require(
            not words or all(np.asarray(x[name]).dtype == bool for name in words),
            f"columns must hold numbers, got {', '.join(words[:5])} with others; pandas.get_dummies makes columns of "
            "zeros and ones of them",
        )
    array = _array(x, "X")
    require(
        array.dtype.kind in "fiub",
        f"X must hold numbers, got an array of {array.dtype}",
    )
    require(array.ndim >= 1, f"X must have a row for each point, got the single value {shown(x)}")
    array = array[:, None] if array.ndim == 1 else array
    require(len(array) > 0, "data must hold at least one point, got none")
    require(array[:1].size > 0, f"points must have at least one coordinate, got the shape {array.shape}")
    points = array.astype(np.float32) / 255 if array.dtype == np.uint8 and array.ndim > 2 else array.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=tuple(range(1, points.ndim))))
    require(
        len(bad) == 0,
        f"X must be finite, got NaN or infinity in {len(bad)} of {len(points)} points, the first in row {bad[:1]}",
    )
    return points


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _from_frame(frame: Any, target: str | None) -> tuple[np.ndarray, np.ndarray]:
    names = [str(name) for name in frame.columns]
    if target is None:
        raise InputError(f"target must name the column of the labels, one of {', '.join(names[:8])}")
    require(target in frame.columns, f"target must be one of the columns {', '.join(names[:8])}, got {shown(target)}")
    require(len(frame) > 0, "data must hold at least one point, got a DataFrame without rows")
    return read_points(frame.drop(columns=target)), _array(frame[target], "y")


def _array(values: Any, name: str) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        values = (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be rectangular, with rows of one length: {error}") from None
    if array.dtype == object and array.size and all(isinstance(each, str) for each in array.flat):
        array = array.astype(str)
    return array


def _from_batches(loader: Any) -> tuple[np.ndarray, np.ndarray]:
    points, labels, count = [], [], 0
    for batch in loader:
        x, y = _two(batch)
        points.append(_array(x, "X"))
        labels.append(_array(y, "y"))
        count += len(points[-1])
        require(
            count <= MOST_POINTS,
            f"the DataLoader has given {count} points and goes on; give one that ends, or a list of its first batches",
        )
    return _joined(points, labels)


def _from_items(items: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(items, torch.utils.data.IterableDataset) or not hasattr(items, "__len__"):
        several: Iterable[Any] = itertools.islice(items, MOST_POINTS + 1)
    else:
        several = (items[i] for i in range(len(items)))
    points, labels = [], []
    for item in several:
        x, y = _two(item)
        points.append(_array(x, "X")[None])
        labels.append(np.asarray(_array(y, "y"))[None])
        require(
            len(points) <= MOST_POINTS, f"the data set has given {len(points)} points and goes on; give one that ends"
        )
    return _joined(points, labels)


def _joined(points: list[np.ndarray], labels: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    require(len(points) > 0, "data must hold at least one point, got none")
    shapes = {each.shape[1:] for each in points}
    require(len(shapes) == 1, f"all points must have one shape, got {', '.join(map(str, sorted(shapes)[:3]))}")
    return read_points(np.concatenate(points)), np.concatenate(labels)


def _two(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise InputError(f"each item of the data must be a pair of a point and a label, got {shown(type(item))}")
    return item[0], item[1]
