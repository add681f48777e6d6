"""Means and second moments of σ(√q z), by quadrature with an estimate of its error."""

from __future__ import annotations

import math

import torch

from beyondkernels.activations.gaussian import REACH, Function, line_rule, pieces

ROUNDING = 1e-14
"""The rounding error of a sum over the nodes, or of a closed form, relative to its terms."""

Rule = tuple[int, bool]
"""A rule: the number of nodes on a piece, and which of two sets of pieces."""

_RULES: tuple[Rule, ...] = ((24, False), (48, True), (96, False), (192, True))
"""The rules, which are tried in this order."""

_WITNESSES: tuple[Rule, ...] = ((128, False), (160, True))
"""More rules, for functions that are not smooth on a piece: two rules alone may agree by chance."""

_FURTHER = 4.0
"""Up to where the tails are integrated."""

_ROWS = 256
"""How many variances are treated at once."""


def line_moments(
    value: Function, derivative: Function, cuts: tuple[float, ...], q: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""E σ, E σ² and E σ′² of σ(√q z), and a bound on the error of each; both of shape (3, \*q.shape).

    Where two rules agree, the error is their difference. Where even the finest rules disagree, the function has a bend
    inside a piece. The error then is twice the largest difference to three other rules, plus the weight of one node
    near a jump. The estimate for the tails is added.

    Arguments:
        value: σ.
        derivative: σ′.
        cuts: where pieces end.
        q: variances, of any shape, float64.

    >>> found, error = line_moments(torch.relu, torch.sign, (), torch.ones(1, dtype=torch.float64))
    >>> bool(((found[0] - 0.3989422804014327).abs() <= error[0]).all()), error[0].item() > 1e-6  # a bend at zero
    (True, True)
    """
    if q.numel() == 0:
        return torch.empty(3, *q.shape, dtype=torch.float64), torch.empty(3, *q.shape, dtype=torch.float64)
    flat = q.reshape(-1)
    parts = [_rows(value, derivative, cuts, std) for std in flat.sqrt().split(_ROWS)]
    found, error = (torch.cat(part, 1) for part in zip(*parts, strict=True))
    for k, function in enumerate((value, squared(value), squared(derivative))):
        error[k] += tails(function, flat, REACH)
    return found.view(3, *q.shape), error.view(3, *q.shape)


def squared(function: Function) -> Function:
    """f²."""
    return lambda z: function(z).square()


def tails(function: Function, q: torch.Tensor, reach: float) -> torch.Tensor:
    r"""An estimate of the part of :math:`E |f(\sqrt q z)|` beyond ±reach; infinite if the integrand does not decrease.

    Beyond ±reach, f is assumed to grow exponentially, at its rate over the last unit before.

    Arguments:
        function: f.
        q: variances, shape (n,), float64.
        reach: where the integral ends.

    >>> q = torch.tensor([1.0, 400.0], dtype=torch.float64)
    >>> tails(torch.exp, q, 1.0).tolist()  # mostly the part above 1: √e·Φ(0) = √e/2
    [0.86..., inf]
    """
    std, end = q.sqrt()[:, None], reach + _FURTHER
    z, w = pieces(torch.linspace(reach, end, int(_FURTHER) + 1, dtype=torch.float64), _RULES[0][0])

    def larger(z: torch.Tensor) -> torch.Tensor:
        return torch.maximum(function(std * z).abs(), function(-std * z).abs())

    inside = (w * (function(std * z).abs() + function(-std * z).abs())).sum(1)
    first, before, last = (
        larger(end + torch.linspace(t - 0.5, t, 9, dtype=torch.float64)).amax(1) for t in (-1, -0.5, 0)
    )
    rate = torch.where((first > 0) & (before > 0), 2 * (last / before).log(), 0.0)  # zero before: no growth
    density = math.exp(-(end**2) / 2) / math.sqrt(2 * math.pi)
    beyond = torch.where(rate < end, 2 * density * last / (end - rate), torch.inf)
    return inside + torch.where(last > 0, beyond, 0.0)


def _rows(
    value: Function, derivative: Function, cuts: tuple[float, ...], std: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    found, error = torch.empty(2, 3, len(std), dtype=torch.float64)
    left = torch.arange(len(std))
    coarse, _ = _sums(value, derivative, cuts, std, _RULES[0])
    for rule in _RULES[1:]:
        fine, rounding = _sums(value, derivative, cuts, std[left], rule)
        missed = (fine - coarse).abs()
        found[:, left], error[:, left] = fine, missed + rounding
        open_ = ~(missed <= rounding).all(0)
        left, coarse = left[open_], fine[:, open_]
        if not len(left):
            return found, error
    others = [_sums(value, derivative, cuts, std[left], rule)[0] for rule in _WITNESSES]
    missed = torch.stack([error[:, left], *((coarse - other).abs() for other in others)]).amax(0)
    error[:, left] = 2 * missed + _jumps(value, derivative, cuts, std[left])
    return found, error


def _sums(
    value: Function, derivative: Function, cuts: tuple[float, ...], std: torch.Tensor, rule: Rule
) -> tuple[torch.Tensor, torch.Tensor]:
    """The moments and their rounding errors, including those of the nodes z and of the density at z."""
    g, z, w = _integrands(value, derivative, cuts, std, rule)
    g.mul_(w)
    return g.sum(2), ROUNDING * g.abs().mul_(1 + z * z).sum(2)


def _jumps(value: Function, derivative: Function, cuts: tuple[float, ...], std: torch.Tensor) -> torch.Tensor:
    """The largest change of an integrand between two nodes, times the weight of a node."""
    g, _, w = _integrands(value, derivative, cuts, std, _RULES[-1])
    return (g.diff(dim=2).abs() * torch.maximum(w[:, 1:], w[:, :-1])).amax(2)


def _integrands(
    value: Function, derivative: Function, cuts: tuple[float, ...], std: torch.Tensor, rule: Rule
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """σ, σ² and σ′² at the nodes, shape (3, n, nodes), the nodes and their weights."""
    z, w = line_rule(std, cuts, *rule)
    at = std[:, None] * z
    f, slope = value(at), derivative(at)
    return torch.stack([f, f * f, slope * slope]), z, w
