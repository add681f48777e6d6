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
from beyondkernels.data.named_inputs import NamedInput, named_inputs, pack
from beyondkernels.data.precision import single
from beyondkernels.data.tables import ValueTable, needs_values

MOST_POINTS, MOST_BYTES, MOST_SECONDS = 1_000_000, 2**31, 60.0
"""What has no length and has given so many points or bytes, or gives them for so long, is taken for what never ends."""

_NUMBERS, _FRACTIONS = (int, float, np.integer, np.floating), (float, np.floating)

FORMS = (
    "(X, y), ((X_train, y_train), (X_test, y_test)), a torch Dataset or DataLoader, or a DataFrame with target='column'"
)


LABELS = ("labels", "label", "y", "target", "targets")
"""The keys by which dictionaries hold their labels, unless ``target`` names another."""


@dataclass(frozen=True)
class Read:
    """What one source holds.

    Arguments:
        exact: points (n, …) in the precision in which they were given.
        points: the same in single precision.
        labels: (n,) or (n, k).
        columns: the names of the points' columns; none where they have no names.
        order: the classes in the order that the labels say they have; none where they say nothing.
        inputs: the named arrays that a point is packed from; none where it is one array.
        table: the values of a table's cells, where points are their places.
    """

    exact: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    columns: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    inputs: tuple[NamedInput, ...] = ()
    table: ValueTable | None = None


def read_pair(
    data: Any,
    target: str | None = None,
    columns: tuple[str, ...] = (),
    name: str = "the training data",
    inputs: tuple[NamedInput, ...] = (),
    tables: bool | ValueTable = False,
) -> Read:
    """Points and labels from one source.

    Arguments:
        data: a pair (X, y), a DataFrame, a torch Dataset or a DataLoader. X and the items of a data set may be
            dictionaries of arrays, and so may the data themselves.
        target: the column of a DataFrame, or the key of a dictionary, that holds the labels.
        columns: the columns of a DataFrame in the order in which they are read; none reads them as they come.
        name: what to call the data in error messages about columns.
        inputs: the named arrays of a point, in the order in which they are read; none reads them as they come.
        tables: whether tables may hold words, dates and missing values, or the values of the training points' table.
    """
    if is_frame(data):
        return _from_frame(data, target, columns, name, tables)
    names, order, table = (), (), None
    pair = isinstance(data, tuple | list) and len(data) == 2
    require(
        target is None or not pair,
        f"target names a column of a DataFrame or a key of a dictionary, got data of type {type(data).__name__}",
    )
    if pair:
        x = in_order(data[0], columns, name)
        (points, table), labels = _cells(x, tables), _array(data[1], "y")
        names, order = column_names(x), class_order(data[1])
    elif isinstance(data, torch.utils.data.DataLoader):
        points, labels = _from_batches(data, target)
    elif isinstance(data, Mapping):
        x, y = _two(data, target)
        points, labels = _points(x, "X"), _array(y, "y")
    elif (
        isinstance(data, tuple | list) and data and hasattr(data[0], "shape") and not isinstance(data[0], tuple | list)
    ):
        raise InputError(f"data must be a pair (X, y), got {len(data)} arrays")
    elif isinstance(data, torch.utils.data.Dataset) or (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        points, labels = _from_items(data, target)
    else:
        raise InputError(f"data must be {FORMS}, got a {type(data).__name__}")
    require(
        labels.ndim in (1, 2), f"y must have a label, or a row of them, for each point, got the shape {labels.shape}"
    )
    if isinstance(points, Mapping):
        inputs = inputs or named_inputs(points)
        points = pack(points, inputs, "X")
    else:
        require(not inputs, f"X must be a dictionary of {', '.join(each.name for each in inputs)}, got one array")
    require(
        len(points) == len(labels),
        f"X and y must have equally many rows, got {len(points)} points and {len(labels)} labels",
    )
    require(len(points) > 0, "data must hold at least one point, got none")
    require_labels(labels)
    return Read(points, single(points, "X"), labels, names, order, inputs, table)


def read_points(x: Any, name: str = "X", inputs: tuple[NamedInput, ...] = ()) -> np.ndarray:
    """Points as an array of single precision; images of bytes are divided by 255.

    Arguments:
        x: an array, a tensor, a DataFrame of numbers, a list of lists, or a dictionary of these.
        name: what to call them in error messages.
        inputs: the named arrays that a point is packed from; none where it is one array.

    >>> read_points([[0, 1], [2, 3]]).dtype, read_points(np.full((1, 2, 2), 255, np.uint8)).max()
    (dtype('float32'), np.float32(1.0))
    """
    require(
        isinstance(x, Mapping) or not inputs,
        f"{name} must be a dictionary of {', '.join(each.name for each in inputs)}, got a {type(x).__name__}",
    )
    points = _points(x, name)
    return single(pack(points, inputs or named_inputs(points), name) if isinstance(points, Mapping) else points, name)


def _cells(x: Any, tables: bool | ValueTable) -> tuple[Any, ValueTable | None]:
    """Points, and the values of their cells if they are a table that is no table of numbers."""
    known = tables if isinstance(tables, ValueTable) else None
    if not is_frame(x) or tables is False or not (known or needs_values(x)):
        return _points(x, "X"), None
    return ValueTable.read(x, known)


def _points(x: Any, name: str) -> np.ndarray | dict[str, np.ndarray]:
    """Points as one array of numbers, or as several by name where they are a dictionary."""
    if not isinstance(x, Mapping):
        return as_numbers(x, name)
    require(len(x) > 0, f"{name} must hold at least one array, got an empty dictionary")
    arrays = {str(key): _array(value, f"{name}[{key!r}]") for key, value in x.items()}
    found = {key: as_numbers(array, f"{name}[{key!r}]") for key, array in arrays.items()}
    return {key: value[:, 0] if arrays[key].ndim == 1 else value for key, value in found.items()}


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
            "zeros and ones of them, and a pipeline of scikit-learn may take them as they are",
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


def _from_frame(
    frame: Any, target: str | None, columns: tuple[str, ...], name: str, tables: bool | ValueTable = False
) -> Read:
    names = [str(name) for name in frame.columns]
    if target is None:
        raise InputError(f"target must name the column of the labels, one of {', '.join(names[:8])}")
    require(target in frame.columns, f"target must be one of the columns {', '.join(names[:8])}, got {shown(target)}")
    require(len(frame) > 0, "data must hold at least one point, got a DataFrame without rows")
    labels = _array(frame[target], "y")
    require_labels(labels)
    x = in_order(frame.drop(columns=target), columns, name)
    points, table = _cells(x, tables)
    return Read(points, single(points, "X"), labels, column_names(x), class_order(frame[target]), table=table)


def _array(values: Any, name: str) -> np.ndarray:
    _require_unmasked(values, name)
    if isinstance(values, torch.Tensor):
        require(
            not values.is_nested,
            f"{name} must have rows of one shape, got a nested tensor; torch.nested.to_padded_tensor({name}, 0.0) "
            "gives them one",
        )
        require(
            not values.is_quantized,
            f"{name} must hold numbers, got a quantised tensor of {values.dtype}; {name}.dequantize() would do",
        )
        require(values.layout == torch.strided, f"{name} must be dense, got a sparse tensor; to_dense() makes it dense")
        require(not values.is_meta, f"{name} must hold numbers, got a tensor of the device meta, which has none")
        values = values.detach().cpu().resolve_conj()
        small = values.is_floating_point() and values.dtype not in (torch.float32, torch.float64)
        values = (values.float() if small else values).numpy()
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
        try:
            array = array.astype(np.float64 if any(isinstance(each, _FRACTIONS) for each in array.flat) else np.int64)
        except OverflowError:
            largest = max(array.flat, key=abs)
            raise InputError(
                f"{name} must hold whole numbers that 64 bits hold, got {largest:.3g}; numbers that are divided by it, "
                "or words for classes, would do"
            ) from None
    return array


def _require_unmasked(values: Any, name: str) -> None:
    """Refuse masked arrays, also in a list, if a value is masked: NumPy would hand out the number under the mask."""
    several = values if isinstance(values, tuple | list) else (values,)
    masked = sum(int(np.ma.getmaskarray(each).sum()) for each in several if isinstance(each, np.ma.MaskedArray))
    require(
        not masked,
        f"{name} must have a value in each place, got a masked array with {masked} masked; {name}.filled(0.0) puts a "
        "number there",
    )


def _from_batches(loader: Any, target: str | None) -> tuple[np.ndarray | dict[str, np.ndarray], np.ndarray]:
    points, labels, limit = [], [], _Limit(loader, "DataLoader")
    for batch in _unshuffled(loader):
        x, y = _two(batch, target)
        points.append(_arrays(x))
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


def _from_items(items: Any, target: str | None) -> tuple[np.ndarray | dict[str, np.ndarray], np.ndarray]:
    length = None if isinstance(items, torch.utils.data.IterableDataset) else _length(items)
    several: Iterable[Any] = items if length is None else (items[i] for i in range(length))
    points, labels, limit = [], [], _Limit(items, "data set")
    for item in several:
        x, y = _two(item, target)
        one = _arrays(x)
        points.append({key: each[None] for key, each in one.items()} if isinstance(one, dict) else one[None])
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

    def count(self, points: np.ndarray | dict[str, np.ndarray]) -> None:
        arrays = list(points.values()) if isinstance(points, dict) else [points]
        self._points += len(arrays[0]) if arrays else 0
        self._bytes += sum(array.nbytes for array in arrays)
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


def _arrays(x: Any) -> np.ndarray | dict[str, np.ndarray]:
    """A point or a batch as an array, or as arrays by name."""
    if isinstance(x, Mapping):
        return {str(key): _array(each, f"X[{key!r}]") for key, each in x.items()}
    return _array(x, "X")


def _joined(points: list[Any], labels: list[np.ndarray]) -> tuple[np.ndarray | dict[str, np.ndarray], np.ndarray]:
    require(len(points) > 0, "data must hold at least one point, got none")
    if isinstance(points[0], dict):
        keys = list(points[0])
        other = next((each for each in points if not isinstance(each, dict) or set(each) != set(keys)), None)
        require(other is None, f"all points must hold {', '.join(keys)}, got {shown(list(other or ()))}")
        return _points({key: _one_array([each[key] for each in points]) for key in keys}, "X"), np.concatenate(labels)
    return as_numbers(_one_array(points), "X"), np.concatenate(labels)


def _one_array(points: list[np.ndarray]) -> np.ndarray:
    shapes = {each.shape[1:] for each in points}
    require(len(shapes) == 1, f"all points must have one shape, got {', '.join(map(str, sorted(shapes)[:3]))}")
    return np.concatenate(points)


def _two(item: Any, target: str | None) -> tuple[Any, Any]:
    """A point and its label, or those of a batch."""
    if isinstance(item, Mapping):
        key = target if target is not None else next((each for each in LABELS if each in item), None)
        if key is None or key not in item or len(item) < 2:
            raise InputError(
                f"target must name the key of the labels beside others, one of {', '.join(map(str, list(item)[:8]))}, "
                f"got {shown(target)}"
            )
        return {each: value for each, value in item.items() if each != key}, item[key]
    if not isinstance(item, tuple | list) or len(item) != 2:
        parts = f" of {len(item)}" if isinstance(item, tuple | list) else ""
        raise InputError(
            f"each item of the data must be a pair of a point and a label, got a {type(item).__name__}{parts}"
        )
    return item[0], item[1]
