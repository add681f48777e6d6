"""The weights of a ground truth: given, or drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch

from beyondkernels.core import Component, Stream, Tensors, require
from beyondkernels.data.maps import drawn_directions, nested, tensor_of

Rows = tuple[tuple[float, ...], ...]
"""A matrix, row by row."""

_ROUNDING = 1e-6


@dataclass(frozen=True)
class GivenWeights(Component):
    r"""Weights of a ground truth, by the names of the paper.

    Rows of w and v have norm 1, entries of a lie in [−1, 1]. The names are those of eqs. (3), (6) and (9): a two-layer
    truth has a, w1 and w2; a three-layer truth has v1 and v2 as well; the general form also has w3 and w4.

    Arguments:
        a: a*, k rows of p (or p₁) numbers.
        w1: directions inside φ₁.
        w2: the linear factors of eq. (3); directions inside φ₂ of eq. (6).
        v1: weights of the second layer, p₁ rows of p₂ numbers.
        v2: those of the second factor.
        w3: the linear factors of the first sum in eq. (9).
        w4: those of the second sum.

    >>> GivenWeights(a=((1.0,),), w1=((0.6, 0.8),), w2=((0.0, 1.0),)).tensors()["w1"].tolist()
    [[0.6..., 0.8...]]
    """

    a: Rows
    w1: Rows
    w2: Rows
    v1: Rows | None = None
    v2: Rows | None = None
    w3: Rows | None = None
    w4: Rows | None = None

    def __post_init__(self) -> None:
        for name, value in self._given().items():
            if not isinstance(value, torch.Tensor):
                lengths = {len(row) for row in value}
                require(len(lengths) == 1, f"{name} must have rows of one length, got lengths {sorted(lengths)}")
            rows = torch.as_tensor(value, dtype=torch.float64)
            require(rows.dim() == 2, f"{name} must be a matrix, row by row, got {rows.dim()} axes")
            object.__setattr__(self, name, nested(rows))
            if name == "a":
                largest = float(rows.abs().max())
                require(largest <= 1 + _ROUNDING, f"a must lie in [−1, 1], got {largest:g}; φ can hold a factor")
                continue
            lengths = rows.norm(dim=1)
            worst = int((lengths - 1).abs().argmax())
            require(
                abs(float(lengths[worst]) - 1) <= _ROUNDING,
                f"{name} must have rows of norm 1, got {float(lengths[worst]):g} in row {worst}; φ can hold a factor",
            )

    def tensors(self) -> Tensors:
        """The matrices that are given, float64. They are shared, so do not write to them."""
        return {name: tensor_of(value) for name, value in self._given().items()}

    def _given(self) -> dict[str, Any]:
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in named if value is not None}


def checked_weights(given: GivenWeights, shapes: dict[str, tuple[int, int]]) -> Tensors:
    """The given matrices, if they are those that a ground truth needs."""
    found = given.tensors()
    for name, shape in shapes.items():
        got = tuple(found[name].shape) if name in found else None
        require(got == shape, f"weights.{name} must be a matrix of {shape[0]} × {shape[1]} numbers, got {got}")
    more = sorted(found.keys() - shapes.keys())
    require(not more, f"weights must hold {', '.join(shapes)}, got {', '.join(more)} besides")
    return found


def drawn_weights(shapes: dict[str, tuple[int, int]], relevant: int | None, instance: int) -> Tensors:
    """Directions uniform on the unit sphere, and a* = ±1. This choice is ours.

    Arguments:
        shapes: by the name of the matrix.
        relevant: how many first coordinates the directions w use; None for all. The draw depends on this number and
            not on the dimension.
        instance: selects the draw.
    """
    found: Tensors = {}
    for name, (rows, columns) in shapes.items():
        if name == "a":
            signs = Stream(instance).child("truth", "a").bernoulli(0.5, rows, columns)
            found[name] = signs.double() * 2 - 1
            continue
        used = columns if relevant is None or name[0] == "v" else relevant
        unit = drawn_directions(f"truth.{name}", instance, rows, used)
        found[name] = torch.cat([unit, unit.new_zeros(rows, columns - used)], 1)
    return found
