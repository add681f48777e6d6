"""Points and labels as people have them: arrays, tensors, tables, data sets and loaders."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from beyondkernels.core import InputError, require, shown
from beyondkernels.data.columns import column_names, in_order, is_frame
from beyondkernels.data.labels import class_order, require_labels
from beyondkernels.data.precision import single

MOST_POINTS, MOST_BYTES, MOST_SECONDS = 1_000_000, 2**31, 60.0
"""What has no length and has given so many points or bytes, or gives them for so long, is taken for what never ends."""

_NUMBERS, _FRACTIONS = (int, float, np.integer, np.floating), (float, np.floating)

FORMS = (
    "(X, y), ((X_train, y_train), (X_test, y_test)), a torch Dataset or DataLoader, or a DataFrame with target='column'"
)


@dataclass(frozen=True)
class Read:
    """What one source holds.

    Arguments:
        exact: points (n, …) in the precision in which they were given.
        points: the same in single precision.
        labels: (n,) or (n, k).
        columns: the names of the points' columns; none where they have no names.
        order: the classes in the order that the labels say they have; none where they say nothing.
    """

    exact: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    columns: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


def read_pair(
    data: Any, target: str | None = None, columns: tuple[str, ...] = (), name: str = "the training data"
) -> Read:
    """Points and labels from one source.

    Arguments:
        data: a pair (X, y), a DataFrame, a torch Dataset or a DataLoader.
        target: the column of a DataFrame that holds the labels.
        columns: the columns of a DataFrame in the order in which they are read; none reads them as they come.
        name: what to call the data in error messages about columns.
    """
    if is_frame(data):
        return _from_frame(data, target, columns, name)
    names, order = (), ()
    require(target is None, f"target names a column of a DataFrame, got data of type {type(data).__name__}")
    if isinstance(data, tuple | list) and len(data) == 2:
        x = in_order(data[0], columns, name)
        points, labels = as_numbers(x, "X"), _array(data[1], "y")
        names, order = column_names(x), class_order(data[1])
    elif isinstance(data, torch.utils.data.DataLoader):
        points, labels = _from_batches(data)
    elif isinstance(data, Mapping):
        raise InputError(f"data must be {FORMS}, got a {type(data).__name__} with {shown(list(data)[:4])}")
    elif (
        isinstance(data, tuple | list) and data and hasattr(data[0], "shape") and not isinstance(data[0], tuple | list)
    ):
        raise InputError(f"data must be a pair (X, y), got {len(data)} arrays")
    elif isinstance(data, torch.utils.data.Dataset) or (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        points, labels = _from_items(data)
    else:
        raise InputError(f"data must be {FORMS}, got a {type(data).__name__}")
    require(
        labels.ndim in (1, 2), f"y must have a label, or a row of them, for each point, got the shape {labels.shape}"
    )
    require(
        len(points) == len(labels),
        f"X and y must have equally many rows, got {len(points)} points and {len(labels)} labels",
    )
    require(len(points) > 0, "data must hold at least one point, got none")
    require_labels(labels)
    return Read(points, single(points, "X"), labels, names, order)


def read_points(x: Any, name: str = "X") -> np.ndarray:
    """Points as an array of single precision; images of bytes are divided by 255.

    Arguments:
        x: an array, a tensor, a DataFrame of numbers, or a list of lists.
        name: what to call them in error messages.

    >>> read_points([[0, 1], [2, 3]]).dtype, read_points(np.full((1, 2, 2), 255, np.uint8)).max()
    (dtype('float32'), np.float32(1.0))
    """
    return single(as_numbers(x, name), name)


def as_numbers(x: Any, name: str) -> np.ndarray:
    """Points (n, …) in the precision in which they come; images of bytes are divided by 255.

    Arguments:
        x: an array, a tensor, a DataFrame of numbers, or a list of lists.
        name: what to call them in error messages.
    """
    if is_frame(x):
        words = [str(each) for each in x.columns if not np.issubdtype(np.asarray(x[each]).dtype, np.number)]
        require(
            not words or all(np.asarray(x[each]).dtype == bool for each in words),
            f"columns must hold numbers, got {', '.join(words[:5])} with others; pandas.get_dummies makes columns of "
            "zeros and ones of them",
        )
    array = _array(x, name)
    require(
        array.dtype.kind != "c",
        f"{name} must hold real numbers, got {array.dtype}; {name}.real and {name}.imag are real",
    )
    require(
        array.dtype.kind in "fiub",
        f"{name} must hold numbers, got an array of {array.dtype}{_stranger(array)}",
    )
    require(array.ndim >= 1, f"{name} must have a row for each point, got the single value {shown(x)}")
    array = array[:, None] if array.ndim == 1 else array
    require(len(array) > 0, f"{name} must hold at least one point, got none")
    require(array[:1].size > 0, f"points must have at least one coordinate, got the shape {array.shape}")
    points = array.astype(np.float32) / 255 if array.dtype == np.uint8 and array.ndim > 2 else array
    bad = np.flatnonzero(~np.isfinite(points).all(axis=tuple(range(1, points.ndim)))).tolist()
    require(
        not bad,
        f"{name} must be finite, got NaN or infinity in {len(bad)} of {len(points)} points, the first in row "
        f"{(*bad, 0)[0]}",
    )
    return points


def _stranger(array: np.ndarray) -> str:
    """What is no number in an array of anything."""
    if array.dtype != object:
        return ""
    found = next((each for each in array.flat if not isinstance(each, int | float | np.number)), None)
    return f" with {shown(found, 40)} in it"


def _from_frame(frame: Any, target: str | None, columns: tuple[str, ...], name: str) -> Read:
    names = [str(name) for name in frame.columns]
    if target is None:
        raise InputError(f"target must name the column of the labels, one of {', '.join(names[:8])}")
    require(target in frame.columns, f"target must be one of the columns {', '.join(names[:8])}, got {shown(target)}")
    require(len(frame) > 0, "data must hold at least one point, got a DataFrame without rows")
    labels = _array(frame[target], "y")
    require_labels(labels)
    x = in_order(frame.drop(columns=target), columns, name)
    points = as_numbers(x, "X")
    return Read(points, single(points, "X"), labels, column_names(x), class_order(frame[target]))


def _array(values: Any, name: str) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        require(values.layout == torch.strided, f"{name} must be dense, got a sparse tensor; to_dense() makes it dense")
        require(not values.is_meta, f"{name} must hold numbers, got a tensor of the device meta, which has none")
        values = values.detach().cpu()
        values = (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    require(
        not (hasattr(values, "toarray") and hasattr(values, "nnz")),
        f"{name} must be dense, got a sparse {type(values).__name__}; toarray() makes it dense",
    )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be rectangular, with rows of one length: {error}") from None
    if array.dtype == object and array.size and all(isinstance(each, str) for each in array.flat):
        array = array.astype(str)
    elif array.dtype == object and array.size and all(isinstance(each, bytes) for each in array.flat):
        array = array.astype(bytes)
    elif array.dtype == object and array.size and all(isinstance(each, bool | np.bool_) for each in array.flat):
        array = array.astype(bool)
    elif array.dtype == object and array.size and all(isinstance(each, _NUMBERS) for each in array.flat):
        array = array.astype(np.float64 if any(isinstance(each, _FRACTIONS) for each in array.flat) else np.int64)
    return array


def _from_batches(loader: Any) -> tuple[np.ndarray, np.ndarray]:
    points, labels, limit = [], [], _Limit(loader, "DataLoader")
    for batch in _unshuffled(loader):
        x, y = _two(batch)
        points.append(_array(x, "X"))
        labels.append(_array(y, "y"))
        limit.count(points[-1])
    return _joined(points, labels)


def _unshuffled(loader: Any) -> Any:
    """The same loader without a shuffle, which would be another one at each reading; others stay as they are."""
    of_torch, sampler = torch.utils.data, loader.sampler
    shuffles = (
        type(loader).__iter__ is of_torch.DataLoader.__iter__
        and type(sampler) is of_torch.RandomSampler
        and type(loader.batch_sampler) in (of_torch.BatchSampler, type(None))
        and sampler.data_source is loader.dataset
        and not sampler.replacement
        and sampler.num_samples == len(loader.dataset)
    )
    if not shuffles:
        return loader
    return of_torch.DataLoader(
        loader.dataset,
        batch_size=loader.batch_size,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        timeout=loader.timeout,
        generator=loader.generator,
    )


def _from_items(items: Any) -> tuple[np.ndarray, np.ndarray]:
    length = None if isinstance(items, torch.utils.data.IterableDataset) else _length(items)
    several: Iterable[Any] = items if length is None else (items[i] for i in range(length))
    points, labels, limit = [], [], _Limit(items, "data set")
    for item in several:
        x, y = _two(item)
        points.append(_array(x, "X")[None])
        labels.append(np.asarray(_array(y, "y"))[None])
        limit.count(points[-1])
    return _joined(points, labels)


class _Limit:
    """Stops reading what never ends. What has a length ends, and is read as long as it takes.

    Arguments:
        source: a loader or a data set.
        name: what to call it.
    """

    def __init__(self, source: Any, name: str) -> None:
        self._ends, self._name = _length(source) is not None, name
        self._points, self._bytes, self._begun = 0, 0, time.monotonic()

    def count(self, points: np.ndarray) -> None:
        self._points += len(points)
        self._bytes += points.nbytes
        seconds = time.monotonic() - self._begun
        require(
            self._ends or (self._points <= MOST_POINTS and self._bytes <= MOST_BYTES and seconds <= MOST_SECONDS),
            f"the {self._name} has no length, has given {self._points} points in {seconds:.0f} s and goes on; give one "
            "that ends, such as a TensorDataset of as many points as are needed",
        )


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except (TypeError, AttributeError, NotImplementedError):
        return None


def _joined(points: list[np.ndarray], labels: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    require(len(points) > 0, "data must hold at least one point, got none")
    shapes = {each.shape[1:] for each in points}
    require(len(shapes) == 1, f"all points must have one shape, got {', '.join(map(str, sorted(shapes)[:3]))}")
    return as_numbers(np.concatenate(points), "X"), np.concatenate(labels)


def _two(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        parts = f" of {len(item)}" if isinstance(item, tuple | list) else ""
        raise InputError(
            f"each item of the data must be a pair of a point and a label, got a {type(item).__name__}{parts}"
        )
    return item[0], item[1]
