"""Dual maps of any activation, by quadrature with a stated error."""

from __future__ import annotations

import math

import torch

from beyondkernels.activations.base import Activation, hermite_order, require_variances
from beyondkernels.activations.chebyshev import chebyshev, clenshaw, lobatto
from beyondkernels.activations.plane import Duals, plane
from beyondkernels.activations.series import expand
from beyondkernels.core import require, require_positive

_DEGREES = (16, 32, 64, 128, 256, 512, 1024, 2048)
"""Lengths of Hermite series, which are tried in this order."""

_PLANE_COST = 100_000
"""The cost of a pair in the plane, in nodes times degrees of a series. A series that costs more is not tried."""

_TABLE_PAIRS = 2_000
"""With so many pairs of one variance, a table over the angle is faster."""


def quadrature_dual(
    activation: Activation,
    q1: torch.Tensor,
    q2: torch.Tensor,
    c: torch.Tensor,
    tolerance: float = 1e-10,
    slope: bool = True,
) -> tuple[torch.Tensor, torch.Tensor | None, float]:
    r"""The dual maps of σ and σ′ by quadrature, and the largest error of any entry.

    With :math:`\rho = c / \sqrt{q_1 q_2}` and the Hermite coefficients of σ(√q z),

    .. math:: E[\sigma(u)\,\sigma(v)] = \sum_k a_k(q_1)\, a_k(q_2)\, \rho^k,

    cut off after K terms with an error of at most :math:`|\rho|^{K+1} \sqrt{t(q_1)\,t(q_2)}`, where t is the sum of
    the squares left out. Pairs with ρ so near ±1 that this would need too many terms are integrated in the plane,
    between the kinks, and their error is the difference of two orders. Many pairs of one variance (points on a sphere)
    share a table over the angle. Its error is the largest difference at the nodes that are added next.

    Arguments:
        activation: σ; its ``kinks`` must be complete, or the error will be large.
        q1: variances of u, broadcast against c: (n1, 1) for a Gram matrix.
        q2: variances of v, broadcast against c: (1, n2) for a Gram matrix.
        c: covariances, float64.
        tolerance: the absolute error to aim for, at least 1e-13 of the largest second moment, because of rounding. The
            error that was reached is returned, also if it is larger. It does not include the effect of rounding c
            itself, which matters for nearly parallel pairs.
        slope: whether to compute the dual of σ′; if not, None is returned for it.

    >>> from beyondkernels.activations import Tanh
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> value, slope, error = quadrature_dual(Tanh(), one, one, one)
    >>> round(value.item(), 8), error < 1e-10
    (0.39429449, True)

    Reference: for the series, Daniely, Frostig & Singer (2016), Toward deeper understanding of neural networks.
    """
    require_positive("tolerance", tolerance)
    require_variances("q1", q1)
    require_variances("q2", q2)
    require(bool(torch.isfinite(c).all()), "c must hold finite covariances, got NaN or infinity")
    if c.numel() == 0:
        return torch.empty_like(c), torch.empty_like(c) if slope else None, 0.0
    activation, noise = activation.unsmoothed()
    q1, q2 = (q.to(torch.float64) + noise**2 for q in (q1, q2))

    variances, index = torch.cat([q1.reshape(-1), q2.reshape(-1)]).unique(return_inverse=True)
    i = index[: q1.numel()].view(q1.shape).expand(c.shape).reshape(-1)
    j = index[q1.numel() :].view(q2.shape).expand(c.shape).reshape(-1)
    rho = _correlations(q1.sqrt() * q2.sqrt(), c.to(torch.float64)).reshape(-1)

    _, second, slope_second = activation.moments(variances)
    tolerance = max(tolerance, 1e-13 * float(second.max()), 1e-13 * float(slope_second.max()) if slope else 0.0)
    found = None
    if len(rho) >= _TABLE_PAIRS and 0 < variances[-1] <= (1 + 1e-14) * variances[0]:
        found = _from_table(activation, float(variances[0]), rho, tolerance, slope)
    if found is None:
        found = _pair_by_pair(activation, variances, i, j, rho, tolerance, slope)
    duals, error = found
    return duals[0].view(c.shape), duals[1].view(c.shape) if slope else None, error


def _correlations(size: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    # Points that coincide up to rounding count as parallel: there the dual of σ′ is as steep as a square root.
    rho = torch.where(size > 0, c / size, 0.0)
    return rho.mul_(1 + 1e-14).clamp_(-1, 1)


def _pair_by_pair(
    activation: Activation,
    variances: torch.Tensor,
    i: torch.Tensor,
    j: torch.Tensor,
    rho: torch.Tensor,
    tolerance: float,
    slope: bool,
) -> tuple[Duals, float]:
    """The dual maps of pairs of variances (i, j): series of growing degree where they meet the bound, or the plane."""
    out = torch.empty(2 if slope else 1, len(rho), dtype=torch.float64)
    parallel = rho.abs() >= 1  # cheap as an integral along a line, while their series would be the longest
    (left,), error = torch.where(~parallel), 0.0
    for degree in _DEGREES:
        nodes = hermite_order(degree) * (20 + len(activation.kinks))
        if degree > _DEGREES[0] and len(left) * _PLANE_COST < len(variances) * nodes * degree:
            break
        expansions = expand(activation, variances, degree, slope)
        at = i[left], j[left], rho[left]
        bound = torch.stack([expansion.bound(*at) for expansion in expansions]).amax(0)
        good = bound <= tolerance / 2
        now, at = left[good], tuple(part[good] for part in at)
        for k, expansion in enumerate(expansions):
            out[k, now] = expansion.sum(*at)
        if len(now):
            error = max(error, float(bound[good].max()) + max(expansion.rounding for expansion in expansions))
        left = left[~good]
    left = torch.cat([left, *torch.where(parallel)])
    if len(left):
        pairs = torch.stack([torch.minimum(i, j)[left].double(), torch.maximum(i, j)[left].double(), rho[left]])
        pairs, back = pairs.unique(dim=1, return_inverse=True)  # a symmetric matrix holds each pair twice
        q1, q2 = variances[pairs[0].long()], variances[pairs[1].long()]
        found, errors = plane(activation, q1, q2, pairs[2], tolerance / 2, slope)
        out[:, left] = found[:, back]
        error = max(error, float(errors.max()) + 1e-14 * float(found.abs().max()))
    return out, error


def _from_table(
    activation: Activation, q: float, rho: torch.Tensor, tolerance: float, slope: bool
) -> tuple[Duals, float] | None:
    """Chebyshev interpolation in the angle, with nodes doubled until it is accurate; None if it never is."""
    variances = torch.tensor([q], dtype=torch.float64)

    def at(angles: torch.Tensor) -> tuple[Duals, float]:
        nothing = torch.zeros(len(angles), dtype=torch.long)
        return _pair_by_pair(activation, variances, nothing, nothing, torch.cos(angles), tolerance / 16, slope)

    degree = 32
    values, error = at(math.pi * (1 + lobatto(degree)) / 2)
    while degree <= 512:
        coefficients, degree = chebyshev(values), 2 * degree
        x = lobatto(degree)[1::2]  # the new nodes lie between the old ones
        between, more = at(math.pi * (1 + x) / 2)
        error = max(error, more)
        missed = float((clenshaw(coefficients, x) - between).abs().max())
        values = torch.stack([values, torch.cat([between, between[:, :1]], 1)], 2).flatten(1)[:, :-1]
        if missed <= tolerance / 4:
            coefficients = chebyshev(values)
            dropped = coefficients.abs().sum(0).flip(0).cumsum(0).flip(0)
            keep = max(1, int((dropped > tolerance / 8).sum()))
            lebesgue = 2 + math.log(degree)  # an error at the nodes may grow by this factor between them
            out = clenshaw(coefficients[:, :keep], 2 / math.pi * torch.acos(rho) - 1)
            return out, missed + tolerance / 8 + lebesgue * error
    return None
