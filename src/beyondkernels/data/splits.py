"""From data as it comes to a problem: read, split once, look for what would spoil a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from beyondkernels.core import Problem, Stream, require, require_between, require_whole, shown
from beyondkernels.data.columns import is_frame
from beyondkernels.data.given import GivenData, hold
from beyondkernels.data.labels import as_numbers, class_names, class_numbers, require_different, single_labels
from beyondkernels.data.readers import FORMS, LABELS, Read, read_pair
from beyondkernels.data.warnings import keys_in_common, warn_of_repeats, warn_of_rounding


def given(
    data: Any,
    *,
    test: Any = None,
    validation: float = 0.0,
    test_fraction: float | None = None,
    target: str | None = None,
    classify: bool | None = None,
    split_seed: int = 0,
    name: str = "data",
    tables: bool = False,
) -> GivenData:
    """A problem from data as it comes.

    A set without test points is split once: ``split_seed`` alone says how, whatever the seeds of the runs. Validation
    points come from what remains. Classes are found in the labels and sorted, unless they are an ordered categorical of
    pandas; each class is split by itself.

    Arguments:
        data: a pair (X, y), a torch Dataset or DataLoader, or a DataFrame; or a pair of these for training and test.
        test: the test points, in any of these forms.
        validation: the fraction of the training points that is put aside to choose by.
        test_fraction: the fraction of the points that is put aside to test on, where there is no ``test``; a fifth
            unless given.
        target: the column of a DataFrame, or the key of a dictionary, that holds the labels.
        classify: whether labels are classes; None guesses from what they are.
        split_seed: says how the set is split.
        name: what to call the data.
        tables: whether tables may hold words, dates and missing values, as estimators of scikit-learn may take them.

    >>> problem = given(([[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "b", "a"]), test_fraction=0.4)
    >>> problem.classes, problem.size("train"), problem.size("test")
    (('a', 'b'), 3, 2)
    """
    if isinstance(data, Problem):
        require(isinstance(data, GivenData), f"data must be {FORMS}, got the problem {type(data).__name__}")
        assert isinstance(data, GivenData)
        return data
    require_between("validation", validation, 0, 1, "[)")
    aside = 0.2 if test_fraction is None else test_fraction
    require_between("test_fraction", aside, 0, 1, "()")
    require_whole("split_seed", split_seed, None)
    require(
        classify is None or isinstance(classify, bool | np.bool_),
        f"classify must be True, False or None, got {shown(classify)}",
    )
    _require_two(data, test, target)
    if test is None and isinstance(data, tuple | list) and len(data) == 2 and _are_sources(data, target):
        data, test = data
    require(
        test is None or test_fraction is None,
        f"test must be test data or a fraction of the data, got both test data and {test_fraction}",
    )
    source = read_pair(data, target, tables=tables)
    in_rows = source.labels.ndim == 2
    y = single_labels(source.labels, classify)
    source, classes = replace(source, labels=y), class_names(y, classify)
    classes = tuple(each for each in source.order if each in classes) or classes
    _look_at(source, classes, name, "")  # before the split, so that a message names a row as it was given
    if test is None:
        inside, outside = _split(y, classes, aside, Stream(split_seed).child("test"))
        tested = source
    else:
        known = source.table or False  # of a table of numbers, the test points are numbers, too
        tested = read_pair(test, target, source.columns, "the test data", source.inputs, known)
        tested = replace(tested, labels=single_labels(tested.labels, classify if classes else False))
        shape, came = source.points.shape[1:], tested.points.shape[1:]
        require(came == shape, f"test points must have the shape of the training points, {shape}, got {came}")
        _look_at(tested, classes, name, "test ")
        inside, outside = np.arange(len(y)), np.arange(len(tested.labels))
    stay, leave = _split(y[inside], classes, validation, Stream(split_seed).child("validation"))
    parts = {"train": (source, inside[stay]), "validation": (source, inside[leave]), "test": (tested, outside)}
    known, new = keys_in_common(source.exact, tested.exact)
    warn_of_repeats({"train": known[inside[stay]], "validation": known[inside[leave]], "test": new[outside]}, name)
    arrays = {}
    for part, (read, rows) in parts.items():
        arrays[f"{part}_x"], labels = read.points[rows], read.labels[rows]
        arrays[f"{part}_y"] = class_numbers(labels, classes, part) if classes else as_numbers(labels)
    words = not all(name.removeprefix("-").isdigit() for name in classes) or y.dtype.kind in "US"
    form = _form(y.dtype) if classes else "rows" if in_rows else ""
    held = hold(arrays, classes, words, name, form, tested.table)
    held = replace(held, columns=source.columns, target=None if target is None else str(target), inputs=source.inputs)
    # Points that are whole numbers throughout are no vectors, such as token ids with their mask.
    return replace(held, tokens=bool(held.inputs) and held.whole and all(x.kind != "numbers" for x in held.inputs))


def hold_out(problem: GivenData, fraction: float, split_seed: int = 0) -> GivenData:
    """A data set made of the training points of another one: most of them to train on, the others to test on.

    So learners can be chosen, or judged before the test, without a look at the test points, which are left out. Each
    class is split by itself.

    Arguments:
        problem: the data set.
        fraction: of its training points that become test points.
        split_seed: says how they are split.

    >>> problem = given(([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 4.0]), test_fraction=0.2)
    >>> held = hold_out(problem, 0.25)
    >>> held.size("train"), held.size("test"), problem.size("test")
    (3, 1, 1)
    """
    arrays = problem.arrays
    x, y = arrays["train_x"], arrays["train_y"]
    stay, leave = _split(y, problem.classes, fraction, Stream(split_seed).child("held out"))
    none = np.arange(0)
    parts = {"train": stay, "validation": none, "test": leave}
    found = {f"{part}_{name}": each[rows] for part, rows in parts.items() for name, each in (("x", x), ("y", y))}
    held = hold(found, problem.classes, problem.words, problem.name)
    return replace(problem, content=held.content, file=None)


def _form(kind: np.dtype) -> str:
    """The type of classes that are neither words nor whole numbers."""
    return "bytes" if kind.kind == "S" else kind.name if kind.kind in "bf" else ""


def _require_two(data: Any, test: Any, target: str | None) -> None:
    """Ask for training and test data, each once, and for nothing else."""
    several = isinstance(data, tuple | list) and len(data) in (2, 3) and _are_all_sources(data, target)
    require(
        not (several and len(data) == 3),
        "data must be a pair of training and test data, got 3 sets; validation=0.1 puts training points aside to "
        "choose by",
    )
    require(
        not several or test is None,
        "test must be given once, got training and test data as a pair, and test besides; data=(X, y) with test, or "
        "the pair alone, would do",
    )


def _are_all_sources(parts: Any, target: str | None) -> bool:
    """Whether each of these is data by itself."""
    return all(_is_source(part) or (target is not None and is_frame(part)) for part in parts)


def _look_at(read: Read, classes: tuple[str, ...], name: str, part: str) -> None:
    """Refuse or warn of what single precision does not hold."""
    warn_of_rounding(read.exact, f"{part}points of {name}", "column", read.columns)
    if not classes:
        require_different(read.labels, f"{part}labels")
        warn_of_rounding(read.labels, f"{part}labels of {name}", "column" if read.labels.ndim == 2 else "")


def _are_sources(pair: Any, target: str | None) -> bool:
    """Whether these are training and test data, and not points and their labels."""
    return _is_source(pair[0]) or (target is not None and all(is_frame(part) for part in pair))


def _is_source(part: Any) -> bool:
    """Whether this is data by itself: a pair of points and labels, a data set or a loader, and no array."""
    import torch

    pair = isinstance(part, tuple | list) and len(part) == 2 and hasattr(part[0], "__len__") and _rows(part)
    pair = pair or (isinstance(part, Mapping) and any(each in part for each in LABELS))
    return pair or isinstance(part, torch.utils.data.Dataset | torch.utils.data.DataLoader)


def _rows(pair: Any) -> bool:
    """Whether a pair holds points and their labels, and not two points."""
    if isinstance(pair[0], Mapping):
        return not isinstance(pair[1], Mapping)
    points, labels = np.shape(pair[0]), np.shape(pair[1])
    return len(labels) >= 1 and len(points) >= 1 and len(points) >= len(labels) and points[0] == labels[0]


def _split(y: np.ndarray, classes: tuple[str, ...], fraction: float, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stay, and rows that are put aside: the same fraction of each class."""
    if fraction == 0:
        return np.arange(len(y)), np.arange(0)
    order = stream.permutation(len(y)).numpy()
    kinds = np.unique(y, return_inverse=True)[1].reshape(-1) if classes else np.zeros(len(y), int)
    aside = np.concatenate([rows[: round(fraction * len(rows))] for rows in _by_kind(order, kinds)])
    groups = f" in {len(classes)} classes" if classes else ""
    require(
        0 < len(aside) < len(y),
        f"test and validation must leave points on both sides, got the fraction {fraction} of {len(y)} points{groups}; "
        "more points, test points of their own, or a fraction such as 0.5 would do",
    )
    return np.setdiff1d(np.arange(len(y)), aside), np.sort(aside)


def _by_kind(order: np.ndarray, kinds: np.ndarray) -> list[np.ndarray]:
    return [order[kinds[order] == kind] for kind in np.unique(kinds)]
