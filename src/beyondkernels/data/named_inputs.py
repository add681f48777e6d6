"""Points that are several named arrays, such as token ids and a mask: packed into one array, and taken apart again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from beyondkernels.core import Component, Tensors, require

Kind = Literal["whole", "truth", "numbers"]

_KINDS: dict[str, Kind] = {"b": "truth", "i": "whole", "u": "whole"}

_EXACT = 2**24
"""Whole numbers below this are exact in single precision."""


@dataclass(frozen=True)
class NamedInput(Component):
    """One of the arrays that a point consists of.

    Arguments:
        name: the argument of the model that takes it.
        shape: of its numbers at one point.
        kind: what the model is given: whole numbers, truth values, or numbers of the precision of its parameters.
    """

    example: ClassVar[str] = "NamedInput('input_ids', (16,), 'whole')"

    name: str
    shape: tuple[int, ...]
    kind: Kind


def named_inputs(arrays: Mapping[str, np.ndarray]) -> tuple[NamedInput, ...]:
    """What the arrays of a set of points are.

    Arguments:
        arrays: by name, each with a row for each point.
    """
    found = []
    for name, array in arrays.items():
        kind: Kind = _KINDS.get(array.dtype.kind, "numbers")
        if kind == "whole":
            largest = int(np.abs(array.astype(np.int64)).max(initial=0))
            require(largest < _EXACT, f"X[{name!r}] must hold whole numbers below 2**24, got {largest}")
        found.append(NamedInput(name, tuple(array.shape[1:]), kind))
    return tuple(found)


def pack(arrays: Mapping[str, np.ndarray], inputs: Sequence[NamedInput], name: str) -> np.ndarray:
    """One array (n, numbers of a point) of several.

    Arguments:
        arrays: by name, each with a row for each point.
        inputs: their order and shapes.
        name: what to call them in error messages.

    >>> arrays = {"ids": np.array([[3, 1], [2, 0]]), "weight": np.array([0.5, 1.5])}
    >>> pack(arrays, named_inputs(arrays), "X").tolist()
    [[3.0, 1.0, 0.5], [2.0, 0.0, 1.5]]
    """
    names = [each.name for each in inputs]
    require(set(arrays) == set(names), f"{name} must hold {', '.join(names)}, got {', '.join(arrays)}")
    lengths = {each: len(arrays[each]) for each in names}
    require(len(set(lengths.values())) == 1, f"all arrays of {name} must have equally many rows, got {lengths}")
    rows = []
    for each in inputs:
        came = tuple(arrays[each.name].shape[1:])
        require(came == each.shape, f"{name}[{each.name!r}] must have points of the shape {each.shape}, got {came}")
        rows.append(arrays[each.name].reshape(lengths[each.name], -1))
    return np.concatenate(rows, axis=1)


def unpack(x: torch.Tensor, inputs: Sequence[NamedInput]) -> Tensors:
    """The arrays of some points by name, as a model takes them; the inverse of :func:`pack`.

    Arguments:
        x: packed points, (n, numbers of a point).
        inputs: what they consist of.

    >>> inputs = (NamedInput("ids", (2,), "whole"), NamedInput("weight", (), "numbers"))
    >>> {name: value.tolist() for name, value in unpack(torch.tensor([[3.0, 1.0, 0.5]]), inputs).items()}
    {'ids': [[3, 1]], 'weight': [0.5]}
    """
    parts = x.flatten(1).split([math.prod(each.shape) for each in inputs], dim=1)
    found = {}
    for each, part in zip(inputs, parts, strict=True):
        value = part.reshape(len(x), *each.shape)
        found[each.name] = value.long() if each.kind == "whole" else value.bool() if each.kind == "truth" else value
    return found
