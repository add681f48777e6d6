"""Distances and angles between points, accurate where they are small too."""

from __future__ import annotations

import math

import torch

from beyondkernels.core import require

_CLOSE = 1e-2
"""Pairs with |x − y|² below this times |x|² + |y|² are computed from their differences."""

_PARALLEL = 1e-3
"""Pairs with 1 − |cosine| below this are computed from the difference of their directions."""

_TILE = 2**19
"""Entries worked on at a time: 4 MB of float64, which stay in a processor's cache."""


def squared_distances(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    r"""All squared Euclidean distances, each to a relative error of about 1e-13.

    .. math:: |x - y|^2 = |x - c|^2 + |y - c|^2 - 2 \langle x - c, y - c \rangle

    The right-hand side is one matrix product and nearly all of the work, with c the middle of the points. Its rounding
    error is relative to :math:`|x - c|^2 + |y - c|^2`, so pairs that are close beside that are computed anew from
    their differences: no square is negative, and points that coincide have distance zero exactly, whatever their norm.

    Arguments:
        x1: points, shape (n1, in_dim), float64.
        x2: points, shape (n2, in_dim), float64.

    >>> x = torch.tensor([[1e8, 0.0], [1e8, 0.25]], dtype=torch.float64)
    >>> squared_distances(x, x).tolist()
    [[0.0, 0.0625], [0.0625, 0.0]]
    """
    n1, n2 = len(x1), len(x2)
    out = torch.empty(n1, n2, dtype=torch.float64)
    if out.numel() == 0:
        return out
    # Points far from the origin lose digits to their norms. Distances do not change when all points move.
    c = x1.mean(0).add_(x2.mean(0)).mul_(0.5)
    y1, y2 = x1 - c, x2 - c
    q1, q2 = y1.square().sum(1), y2.square().sum(1)
    if not max(float(q1.max()), float(q2.max())) < 1e307:
        entry = max(float(x1.abs().max()), float(x2.abs().max()))
        require(False, f"points must have squared distances that float64 holds, got entries up to {entry:.3g}")
    for rows in _tiles(n1, n2):
        sums = q1[rows, None] + q2
        tile = torch.addmm(sums, y1[rows], y2.T, alpha=-2, out=out[rows])
        i, j = torch.nonzero(tile <= sums.mul_(_CLOSE), as_tuple=True)
        # Where many pairs are close, computing all differences is cheaper than picking out single ones.
        if 4 * len(i) > tile.numel():
            tile.copy_(torch.cdist(x1[rows], x2, compute_mode="donot_use_mm_for_euclid_dist").square_())
        else:
            tile[i, j] = _square_differences(x1[rows], x2, i, j)
    return out


def angles(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    r"""All angles between points, in [0, π], each to an absolute error of about 1e-14.

    .. math:: \theta = \arccos\frac{\langle x, y\rangle}{|x||y|} = 2 \arcsin\frac{|u - v|}{2}
              = \pi - 2 \arcsin\frac{|u + v|}{2}, \qquad u = \frac{x}{|x|},\ v = \frac{y}{|y|}

    The arccosine turns a rounding error ε at nearly parallel points into √(2ε); there one of the other forms is used.
    A point at the origin is at a right angle to every point, itself included.

    Arguments:
        x1: points, shape (n1, in_dim), float64.
        x2: points, shape (n2, in_dim), float64.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 1e-12]], dtype=torch.float64)
    >>> angles(x, x).tolist()
    [[0.0, 1e-12], [1e-12, 0.0]]
    """
    u, v = _directions(x1), _directions(x2)
    out = torch.empty(len(u), len(v), dtype=torch.float64)
    for rows in _tiles(*out.shape):
        cosine = u[rows] @ v.T
        i, j, forward, half = _nearly_parallel(cosine, u[rows], v)
        tile = torch.acos(cosine.clamp_(-1, 1), out=out[rows])
        theta = 2 * torch.asin(half)
        tile[i, j] = torch.where(forward, theta, math.pi - theta)
    return out


def cosines(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    r"""All cosines of the angle between points, exactly ±1 for points on one line through the origin.

    .. math:: \rho = \frac{\langle x, y\rangle}{|x||y|} = \pm\Bigl(1 - \frac{|u \mp v|^2}{2}\Bigr), \qquad
              u = \frac{x}{|x|},\ v = \frac{y}{|y|}

    The second form is used for nearly parallel points. The absolute error is about 1e-15 elsewhere and the rounding of
    the result there. A point at the origin has cosine 0 with every point, itself included.

    Arguments:
        x1: points, shape (n1, in_dim), float64.
        x2: points, shape (n2, in_dim), float64.

    >>> x = torch.tensor([[0.1, 0.7], [-0.3, -2.1], [0.0, 0.0]], dtype=torch.float64)
    >>> cosines(x, x).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    u, v = _directions(x1), _directions(x2)
    out = torch.empty(len(u), len(v), dtype=torch.float64)
    for rows in _tiles(*out.shape):
        tile = torch.mm(u[rows], v.T, out=out[rows])
        i, j, forward, half = _nearly_parallel(tile, u[rows], v)
        rho = 1 - 2 * half.square()
        tile[i, j] = torch.where(forward, rho, -rho)
    return out


def _directions(x: torch.Tensor) -> torch.Tensor:
    """Points divided by their norms, after division by their largest entry: no square overflows or underflows."""
    if x.numel() == 0:
        return x
    # Squares of entries above 1e154 are infinite, and below 1e-162 zero; divided by the largest they are neither.
    largest = x.abs().amax(1, keepdim=True)
    u = x / torch.where(largest > 0, largest, 1.0)
    return u.div_(torch.linalg.vector_norm(u, dim=1, keepdim=True).clamp_(min=1.0))  # 0 stays 0; others have norm ≥ 1


def _nearly_parallel(
    cosine: torch.Tensor, u: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pairs (i, j) on nearly one line, whether they point the same way, and half of |u ∓ v|."""
    i, j = torch.nonzero(cosine.abs() >= 1 - _PARALLEL, as_tuple=True)
    forward = cosine[i, j] > 0
    squares = _square_differences(u, v, i, j, torch.where(forward, 1.0, -1.0).to(u.dtype))
    return i, j, forward, squares.sqrt_().mul_(0.5)


def _square_differences(
    x1: torch.Tensor, x2: torch.Tensor, i: torch.Tensor, j: torch.Tensor, signs: torch.Tensor | None = None
) -> torch.Tensor:
    """|x1_i − s x2_j|² for listed pairs, as many at a time as the cache holds."""
    out = torch.empty(len(i), dtype=torch.float64)
    for part in _tiles(len(i), x1.shape[1]):
        y = x2[j[part]]
        if signs is not None:
            y *= signs[part, None]
        out[part] = y.sub_(x1[i[part]]).square_().sum(1)
    return out


def _tiles(rows: int, columns: int) -> list[slice]:
    step = max(1, _TILE // max(1, columns))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
