"""A finite data set as a problem: its points are its identity."""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from beyondkernels.core import InputError, Problem, Sample, Stream, later, require, shown
from beyondkernels.data.labels import named
from beyondkernels.data.named_inputs import NamedInput
from beyondkernels.data.tables import ValueTable

PARTS = ("train", "validation", "test")


class DataWarning(UserWarning):
    """Something about the data that changes what results mean."""


class Arrays:
    """Points and labels of all parts, which nobody changes.

    Arguments:
        by_name: ``train_x``, ``train_y`` and the same of the other parts; labels of classes are whole numbers.
    """

    def __init__(self, by_name: Mapping[str, np.ndarray]) -> None:
        self.by_name = {name: np.ascontiguousarray(by_name[name]) for name in sorted(by_name)}

    def content(self) -> str:
        """A hash of everything in them."""
        hashed = hashlib.sha256()
        for name, array in self.by_name.items():
            hashed.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            hashed.update(array.tobytes())
        return hashed.hexdigest()[:32]


_HELD: weakref.WeakValueDictionary[str, Arrays] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class GivenData(Problem):
    """A finite set of points and labels, split once into training, validation and test points.

    Nothing is drawn from it twice: a run takes its training points from the training part alone. If it takes fewer
    than there are, its seed says which. :func:`given` makes one from arrays, tensors, tables and data sets.

    Labels are numbers, or classes. Two classes are −1 and +1 in one output, unless ``one_hot``; more are rows of zeros
    with a single one.

    Arguments:
        content: the hash of the points and labels. Two sets with the same content are the same problem.
        classes: the names of the classes; none where labels are numbers.
        words: whether classes were given as words; otherwise they were whole numbers.
        one_hot: whether two classes have two outputs.
        tokens: whether points are handed out as whole numbers, for models that look something up by them, as
            ``torch.nn.Embedding`` does; otherwise they are numbers of single precision.
        inputs: the named arrays that a point is packed from, for models with several arguments; none where a point is
            one array.
        name: what to call it.
        given_as: the form of the labels, in which predictions come back: the type of classes that are neither words
            nor whole numbers, such as ``bool`` or ``bytes``; ``rows`` for numbers that are given as (n, k); else empty.
        columns: the names of the points' columns, by which tables of new points are read; none for arrays.
        target: the column of the labels in such a table.
        table: the values of the cells of such a table, where points are their places; see
            :class:`~beyondkernels.data.tables.ValueTable`. They are part of ``content``.
        file: where the points are for other processes; None while they are only in the memory of this one.
    """

    content: str
    classes: tuple[str, ...] = ()
    words: bool = True
    one_hot: bool = False
    tokens: bool = later(False)
    inputs: tuple[NamedInput, ...] = later(())
    name: str = field(default="data", metadata={"identity": False})
    given_as: str = field(default="", metadata={"identity": False})
    columns: tuple[str, ...] = field(default=(), metadata={"identity": False})
    target: str | None = field(default=None, metadata={"identity": False})
    table: ValueTable | None = field(default=None, metadata={"identity": False}, repr=False)
    file: str | None = field(default=None, metadata={"identity": False})

    def __post_init__(self) -> None:
        object.__setattr__(self, "_arrays", _found(self.content, self.file))

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Points and labels as they are held; labels of classes are places among ``classes``."""
        return self.__dict__["_arrays"].by_name

    @property
    def in_shape(self) -> tuple[int, ...]:
        return self.arrays["train_x"].shape[1:]

    @property
    def out_dim(self) -> int:
        if self.classes:
            return 1 if self.signs else len(self.classes)
        labels = self.arrays["train_y"]
        return 1 if labels.ndim == 1 else labels.shape[1]

    @property
    def signs(self) -> bool:
        """Whether labels are −1 and +1."""
        return len(self.classes) == 2 and not self.one_hot

    def has_classes(self, y: torch.Tensor) -> bool:
        """Whether labels were read as classes. Numbers may look like them: −1 and +1 with ``classify=False``."""
        return bool(self.classes)

    @property
    def whole(self) -> bool:
        """Whether all points are whole numbers, not below zero, that single precision holds exactly."""
        return all(are_tokens(self.arrays[f"{part}_x"]) for part in PARTS)

    def size(self, part: str) -> int:
        """How many points a part has."""
        return len(self.arrays[f"{part}_x"])

    def sample(self, n: int, stream: Stream) -> Sample:
        """Refused: a finite data set has no fresh points."""
        raise InputError(f"{self.name} is a finite data set, from which no fresh points can be drawn")

    def take(self, part: str, n: int, seed: int) -> Sample:
        x, y = self.arrays[f"{part}_x"], self.arrays[f"{part}_y"]
        require(n <= len(x), f"the {part} part of {self.name} has {len(x)} points, got n={n}")
        if n < len(x):
            rows = Stream(seed).child("subset", part).permutation(len(x))[:n].sort().values.numpy()
            x, y = x[rows], y[rows]
        return Sample(self.handed(torch.from_numpy(x.copy())), self.encoded(y))

    def handed(self, x: torch.Tensor) -> torch.Tensor:
        """Points as models take them: numbers of single precision, or whole numbers."""
        return x.long() if self.tokens else x

    def encoded(self, y: np.ndarray) -> torch.Tensor:
        """Labels as learners take them: numbers, ±1, or rows with a single one."""
        if not self.classes:
            return torch.from_numpy(y.astype(np.float32))
        if self.signs:
            return torch.from_numpy(2.0 * y - 1).float()
        return torch.nn.functional.one_hot(torch.from_numpy(y).long(), len(self.classes)).float()

    def decoded(self, out: torch.Tensor) -> np.ndarray:
        """Predictions in the form of the labels that were given: classes (n,), or numbers (n,) or (n, k)."""
        if not self.classes:
            out = out.detach().cpu()
            rows = (out.float() if out.dtype == torch.bfloat16 else out).numpy().reshape(len(out), -1)
            return rows if self.given_as == "rows" else rows[:, 0]
        places = (out.reshape(-1) > 0).long() if self.signs else out.argmax(1)
        return self._labels()[places.cpu().numpy()]

    def _labels(self) -> np.ndarray:
        """The classes as they were given."""
        if self.given_as == "bool":
            return np.array([name == "True" for name in self.classes])
        if self.given_as == "bytes":
            return np.array([name.encode() for name in self.classes])
        if self.given_as:
            return np.array([float(name) for name in self.classes], self.given_as)
        return np.array(self.classes if self.words else [int(name) for name in self.classes])

    def shared(self, folder: Path) -> GivenData:
        """The same data in a file, where other processes find it."""
        path = folder / f"{self.content}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **self.arrays)  # pyright: ignore[reportArgumentType]
            Path(temporary).replace(path)
        return replace(self, file=str(path))

    def __str__(self) -> str:
        sizes = ", ".join(f"{self.size(part)} {part}" for part in PARTS if self.size(part))
        kind = (
            f"{len(self.classes)} classes"
            if self.classes
            else f"{self.out_dim} number{'s' if self.out_dim > 1 else ''} to predict"
        )
        return f"{self.name}: {sizes} points of shape {self.in_shape}, {kind}"


def are_tokens(x: np.ndarray) -> bool:
    """Whether all numbers are whole, not below zero, and such that single precision holds them exactly.

    Arguments:
        x: any numbers, also none.

    >>> are_tokens(np.array([[0.0, 3.0]])), are_tokens(np.array([[0.5, -1.0]]))
    (True, False)
    """
    return x.size == 0 or bool((x == np.floor(x)).all() and x.min() >= 0 and x.max() < 2**24)


def hold(
    arrays: Mapping[str, np.ndarray],
    classes: tuple[str, ...],
    words: bool,
    name: str,
    given_as: str = "",
    table: ValueTable | None = None,
) -> GivenData:
    """A problem that holds arrays in the memory of this process.

    Arguments:
        arrays: ``train_x``, ``train_y`` and the same of validation and test.
        classes: the names of the classes.
        words: whether they were given as words.
        name: what to call it.
        given_as: the form of the labels.
        table: the values of the points' cells.
    """
    held = Arrays(arrays)
    values = "" if table is None else f" {table.content()}"
    told = f"{held.content()} {[named(each) for each in classes]}{values}"
    content = hashlib.sha256(told.encode()).hexdigest()[:32]
    held = _HELD.setdefault(content, held)
    return GivenData(content, classes, words, name=name, given_as=given_as, table=table)


def _found(content: str, file: str | None) -> Arrays:
    """The arrays with this content, from memory or from a file."""
    held = _HELD.get(content)
    if held is None:
        require(
            file is not None and Path(file).is_file(),
            f"the data {shown(content)} is neither in this process nor in the file {shown(file)}; give it again",
        )
        assert file is not None
        with np.load(file, allow_pickle=False) as stored:
            held = Arrays({name: stored[name] for name in stored.files})
        held = _HELD.setdefault(content, held)
    return held
