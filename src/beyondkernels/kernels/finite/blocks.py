"""Gram matrices of gradients that are known in factors, block by block within a memory budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from beyondkernels.core import InputError, require
from beyondkernels.core.errors import shown
from beyondkernels.kernels.finite.factors import (
    Common,
    Factors,
    Formed,
    Gradient,
    Layer,
    outputs_of,
    require_finite_factors,
    tensors_of,
)
from beyondkernels.kernels.finite.memory import peak_bytes

_TILE, _LEAST_TILE = 512, 96
"""Rows (points times outputs) of one product, at most and at least: enough for matrix products at full speed."""

_TILES = 6
"""Tiles along a diagonal: so many that little is computed twice, in both halves of the tiles on it."""

_SMALL = 2**15
"""Bytes for what is too small to be counted one by one."""

_MIRRORED = 64
"""Rows that are mirrored together: few, because they are copied on the way."""


def gram_of_factors(
    gradient: Gradient,
    x1: torch.Tensor,
    x2: torch.Tensor | None,
    outputs: Literal["traced", "full"],
    memory: int,
) -> torch.Tensor:
    r"""Inner products of gradients: (n1, n2, k, k), or their mean over equal outputs, (n1, n2).

    .. math:: \Theta_{cc'} = \sum_{\text{layers}} \sum_{u, u'}
              \langle \delta_{u,c}, \delta'_{u',c'} \rangle \langle h_u, h'_{u'} \rangle

    over the uses u, u′ of a layer. With one batch only the upper half is computed and then mirrored.

    Arguments:
        gradient: gives the factors of a batch.
        x1: points, shape (n1, ...).
        x2: points, shape (n2, ...); None for x1 itself.
        outputs: ``full`` or ``traced``.
        memory: bytes that may be taken, the result included. The size of blocks follows from it, which changes entries
            by rounding alone: by at most 1e-12 of the largest.
    """
    require(outputs in ("traced", "full"), f"outputs must be 'traced' or 'full', got {shown(outputs)}")
    columns = x1 if x2 is None else x2
    if not len(x1) or not len(columns):
        raise InputError(f"there must be points on both sides, got {len(x1)} and {len(columns)}")
    plan = _plan(gradient, x1, None if x2 is None else len(x2), outputs, memory)
    k = plan.outputs if outputs == "full" else 1
    gram = torch.zeros(len(x1), k, len(columns), k, dtype=gradient.dtype)
    for right in _ranges(0, len(columns), plan.points):
        factors_right = require_finite_factors(gradient.at(columns[right]))
        for left in _ranges(0, len(x1), plan.points):
            if x2 is None and left.start > right.start:
                continue  # below the diagonal: mirrored at the end
            same = x2 is None and left == right
            factors_left = factors_right if same else require_finite_factors(gradient.at(x1[left]))
            _add(gram[left, :, right], factors_left, factors_right, outputs, same)
            del factors_left  # before the next block is computed
        del factors_right
    if x2 is None:
        _mirror(gram)
    return gram[:, 0, :, 0] if outputs == "traced" else gram.permute(0, 2, 1, 3)


def diagonal_of_factors(gradient: Gradient, x: torch.Tensor, memory: int) -> torch.Tensor:
    """The mean over outputs of the squared norms of the gradients, shape (n,)."""
    plan = _plan(gradient, x, 1, "traced", memory)
    parts = []
    for block in _ranges(0, len(x), plan.points):
        total = torch.zeros(len(x[block]), dtype=gradient.dtype)
        for layer in require_finite_factors(gradient.at(x[block])):
            assert not isinstance(layer, Common), "traced kernels have no such layers"
            if isinstance(layer, Formed):
                total += layer.gradients.square().sum((1, 2)) / layer.gradients.shape[1]
                continue
            for one in layer:
                for other in layer:
                    change = (one.changes * other.changes).sum((1, 2))
                    total += change * (one.inputs * other.inputs).sum(1) / one.changes.shape[1]
        parts.append(total)
    return torch.cat(parts)


@dataclass(frozen=True)
class _Plan:
    """How many points a block may hold, and how many outputs there are."""

    points: int
    outputs: int


def _plan(
    gradient: Gradient,
    x: torch.Tensor,
    others: int | None,
    outputs: Literal["traced", "full"],
    memory: int,
) -> _Plan:
    n1, n2 = len(x), len(x) if others is None else others
    factors = gradient.at(x[:1])
    k = max(outputs_of(layer) for layer in factors)
    size = torch.finfo(gradient.dtype).bits // 8
    channels = k if outputs == "full" else 1
    result = n1 * n2 * channels**2 * size
    # one point, then two: what grows is each point's share
    first, second = (peak_bytes(lambda n=n: gradient.at(x[:1].expand(n, *x.shape[1:]))) for n in (1, 2))
    point = second - first
    kept = point if gradient.chunk is None else min(point, _bytes(factors))
    fixed = gradient.fixed_bytes() + max(first - point, 0) + _SMALL
    mirrored = min(max(_MIRRORED, channels), n1 * channels)

    def needed(points: int, sides: int = 2) -> int:
        tile = 3 * min(points * channels, max(_TILE, channels)) * points * channels * size
        working = min(points, gradient.chunk or points) * (point - kept)
        blocks = result + fixed + max(sides * points * kept + max(working, tile), 4 * mirrored**2 * size)
        return max(blocks, fixed + gradient.looking)

    if needed(1) > memory:
        raise InputError(
            f"memory must be at least {needed(1):,} bytes for blocks of one point "
            f"({result:,} of them for the result, {fixed:,} for the parameters), got {memory:,}"
        )
    if others is None and needed(n1, sides=1) <= memory:
        return _Plan(n1, k)  # one block, which meets none but itself
    low, high = 1, max(n1, n2)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if needed(middle) <= memory else (low, middle - 1)
    blocks = math.ceil(max(n1, n2) / low)
    return _Plan(math.ceil(max(n1, n2) / blocks), k)


def _bytes(factors: Factors) -> int:
    return sum(part.numel() * part.element_size() for layer in factors for part in tensors_of(layer))


def _add(gram: torch.Tensor, left: Factors, right: Factors, outputs: Literal["traced", "full"], upper: bool) -> None:
    """Add the products of two blocks to their part of the result, shape (n1, k, n2, k); ``upper`` leaves out the rest.

    Rows go tile by tile, which bounds what is held beside the result and spares work below the diagonal.
    """
    (n1, channels, n2, _) = gram.shape
    tile = min(_TILE, max(_LEAST_TILE, n1 * channels // _TILES)) if upper else _TILE
    for rows in _ranges(0, n1, max(1, tile // channels)):
        columns = slice(rows.start if upper else 0, n2)
        for layer_left, layer_right in zip(left, right, strict=True):
            _add_layer(gram[rows, :, columns], layer_left, layer_right, rows, columns, outputs)


def _add_layer(
    part: torch.Tensor, left: Layer, right: Layer, rows: slice, columns: slice, outputs: Literal["traced", "full"]
) -> None:
    """Add the products of some points of a layer to their part of the result."""
    if isinstance(left, Common):
        assert isinstance(right, Common), "blocks have equal layers"
        _add_common(part, left.rows[rows], right.rows[columns], left.readout)
        return
    if isinstance(left, Formed):
        assert isinstance(right, Formed), "blocks have equal layers"
        g1, g2 = left.gradients[rows], right.gradients[columns]
        n1, channels, n2, _ = part.shape
        matrix = part.view(n1 * channels, n2 * channels)
        matrix.addmm_(g1.reshape(len(matrix), -1), g2.reshape(matrix.shape[1], -1).T, alpha=channels / g1.shape[1])
        return
    assert isinstance(right, list), "blocks have equal layers"
    for one in left:
        for other in right:
            inputs = one.inputs[rows] @ other.inputs[columns].T
            d1, d2 = one.changes[rows], other.changes[columns]
            if outputs == "full":
                changes = (d1.flatten(0, 1) @ d2.flatten(0, 1).T).view(part.shape)
            else:
                changes = ((d1.flatten(1) @ d2.flatten(1).T) / d1.shape[1])[:, None, :, None]
            part.addcmul_(changes, inputs[:, None, :, None])


def _add_common(part: torch.Tensor, left: torch.Tensor, right: torch.Tensor, readout: torch.Tensor) -> None:
    r"""Add :math:`\sum_m A_{cm} A_{c'm} \langle v_m, v'_m\rangle` to a part (n1, k, n2, k) of the result."""
    n1, k, n2, _ = part.shape
    for some in _ranges(0, left.shape[1], k * k):  # so that products take no more room than the result's tile
        products = torch.bmm(left[:, some].transpose(0, 1), right[:, some].permute(1, 2, 0))
        A = readout[:, some]
        pairs = (A[:, None] * A[None]).flatten(0, 1)
        part += (products.flatten(1).T @ pairs.T).view(n1, n2, k, k).transpose(1, 2)


def _mirror(gram: torch.Tensor) -> None:
    """Copy what lies above the diagonal below it, tile by tile: Θ(x′, x) = Θ(x, x′)ᵀ."""
    n, k = gram.shape[:2]
    step = max(1, _MIRRORED // k)
    for rows in _ranges(0, n, step):
        count = rows.stop - rows.start
        square = gram[rows, :, rows].reshape(count * k, count * k)
        gram[rows, :, rows] = (square.triu() + square.triu(1).T).view(count, k, count, k)
        gram[rows.stop :, :, rows] = gram[rows, :, rows.stop :].permute(2, 3, 0, 1)


def _ranges(start: int, stop: int, step: int) -> Iterator[slice]:
    for i in range(start, stop, step):
        yield slice(i, min(i + step, stop))
