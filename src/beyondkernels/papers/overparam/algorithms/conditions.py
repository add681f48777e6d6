"""The conditions of the theorems on the loss, checked on a stated range of predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Hypothesis, InputError, Stream, require, require_between, require_whole
from beyondkernels.core.errors import shown

_POINTS = 1001  # on a line through the range
_LINES = 16  # of each kind that is drawn
_SHORT = 0.01  # of the radius: a line through a label in a corner may leave the range at once
_ROUNDING = 1e-6


def loss_conditions(
    loss: Loss, radius: float, labels: Sequence[float] | torch.Tensor, outputs: int = 1
) -> tuple[Hypothesis, ...]:
    r"""Whether a loss is convex, 1-Lipschitz, 1-smooth and in [0, 1] for predictions of a range, and where it is not.

    No convex function but a constant is bounded for all predictions. So the paper's conditions are read on the range
    :math:`\hat y \in [-R, R]^k`. Slopes are compared at neighbouring predictions on lines that cross the whole range.
    For several outputs these are the axes through each label, diagonals of the range, and drawn lines through the label
    and through drawn places. Where a loss has no derivative it is not smooth.

    .. math:: \langle \nabla L(u) - \nabla L(v), u - v \rangle \ge 0, \qquad \|\nabla L(u)\| \le 1, \qquad
              \|\nabla L(u) - \nabla L(v)\| \le \|u - v\|, \qquad 0 \le L(u) \le 1

    Arguments:
        loss: L.
        radius: R.
        labels: the labels, a list of numbers, or (n, k) for several outputs.
        outputs: k.

    >>> from beyondkernels.algorithms import Squared
    >>> for condition in loss_conditions(Squared(), 2.0, [0.0]):
    ...     print(condition)
    holds: L(·, y) is convex: least growth of its slope, at ŷ = ..., y = 0 (2)
    misses by a factor 4: L(·, y) is 1-Lipschitz: largest slope, at ŷ = ..., y = 0 (4 against 1)
    misses by a factor 2: L(·, y) is 1-smooth: largest growth of its slope, at ŷ = ..., y = 0 (2 against 1)
    misses by a factor 4: L ≤ 1: largest value, at ŷ = ..., y = 0 (4 against 1)
    holds: L ≥ 0: least value, at ŷ = ..., y = 0 (0)

    Reference: Allen-Zhu, Li & Liang (overparam), §2.
    """
    _require_loss(loss)
    require_between("radius", radius, 1e-30, 1e30)
    require_whole("outputs", outputs)
    compared = [each for label in _labels(labels, outputs) for each in _compared(loss, radius, label)]
    u, labels_of, value, length, growth, change = (torch.cat(column) for column in zip(*compared, strict=True))

    def found(text: str, values: torch.Tensor, bound: float, at_least: bool = False) -> Hypothesis:
        worst = int(values.argmin() if at_least else values.argmax())
        where = f"{text}, at ŷ = {_written(u[worst])}, y = {_written(labels_of[worst])}"
        measured = float(values[worst])
        near = abs(measured - bound) <= _ROUNDING * max(1.0, abs(bound))  # rounding of nearly equal slopes
        return Hypothesis(where, bound if near else measured, bound, at_least)

    return (
        found("L(·, y) is convex: least growth of its slope", growth, 0.0, at_least=True),
        found("L(·, y) is 1-Lipschitz: largest slope", length, 1.0),
        found("L(·, y) is 1-smooth: largest growth of its slope", change, 1.0),
        found("L ≤ 1: largest value", value, 1.0),
        found("L ≥ 0: least value", value, 0.0, at_least=True),
    )


def label_noise(loss: Loss, epsilon0: float, outputs: int = 1) -> float:
    r"""The size c of the noise :math:`y = F^*(x) + c\,s`, s of signs, at which :math:`L(F^*(x), y) = \varepsilon_0`.

    Arguments:
        loss: L, a function of ŷ − y that grows with its length, such as PseudoHuber.
        epsilon0: ε₀.
        outputs: k.

    >>> from beyondkernels.algorithms import Squared
    >>> round(label_noise(Squared(), 0.5, outputs=2), 6)
    0.5
    """
    _require_loss(loss)
    require_whole("outputs", outputs)
    require_between("epsilon0", epsilon0, 0, math.inf, "[)")

    def at(c: float) -> float:
        y = torch.full((1, outputs), c, dtype=torch.float64)
        return float(loss.each(torch.zeros_like(y), y))

    require(at(0.0) == 0, f"loss must be 0 where prediction and label agree, got {at(0.0):g} from {loss}")
    high = 1.0
    while at(high) < epsilon0:
        high *= 2
        require(high < 1e12, f"epsilon0 must be a value of the loss, got {epsilon0:g}, which {loss} does not reach")
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) < epsilon0 else (low, middle)
    return high


def _require_loss(loss: Loss) -> None:
    if not isinstance(loss, Loss):
        raise InputError(f"loss must be a loss, such as PseudoHuber(), got {shown(loss)}")


def _labels(labels: Sequence[float] | torch.Tensor, outputs: int) -> torch.Tensor:
    """The labels as finite numbers, (n, k)."""
    try:
        y = torch.as_tensor(labels, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"labels must be numbers, got {shown(labels)}") from None
    require(y.numel() > 0, "labels must hold at least one label, got none")
    require(
        y.numel() % outputs == 0,
        f"labels must hold outputs = {outputs} numbers for each point, got {y.numel()} numbers",
    )
    require(bool(y.isfinite().all()), "labels must be finite, got inf or NaN")
    return y.reshape(-1, outputs)


def _compared(loss: Loss, radius: float, label: torch.Tensor) -> list[tuple[torch.Tensor, ...]]:
    """For one label what neighbours on lines show; and again inside each line's pair whose slopes differ most.

    There the points lie closer, so that a kink shows also where its jump is small beside the range.
    """
    low, high = _lines(radius, label)
    found = []
    for _ in range(2):
        part = torch.linspace(0, 1, _POINTS, dtype=torch.float64)[:, None]
        points = torch.lerp(low[:, None], high[:, None], part)  # (lines, points, k)
        u, v = points[:, :-1].flatten(0, 1), points[:, 1:].flatten(0, 1)
        y = label.expand_as(u)
        (value, slope), (last, other) = _slopes(loss, u, y), _slopes(loss, v, y)
        apart = (v - u).norm(dim=1)
        growth = (((other - slope) * (v - u)).sum(1) / apart**2).nan_to_num(nan=math.inf)
        change = ((other - slope).norm(dim=1) / apart).nan_to_num(nan=math.inf)  # no slope at u or at v
        found += [
            (u, y, value, slope.norm(dim=1).nan_to_num(nan=0.0), growth, change),
            (v, y, last, other.norm(dim=1).nan_to_num(nan=0.0), growth, change),
        ]
        worst = change.view(len(points), -1).argmax(1)
        low, high = points[range(len(points)), worst], points[range(len(points)), worst + 1]
    return found


def _lines(radius: float, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both ends of lines through the range, (lines, k) each: for one output the range itself."""
    k = len(label)
    stream = Stream(0).child("conditions")
    through = label.clamp(-radius, radius).expand(k, k)
    along = torch.eye(k, dtype=torch.float64)
    if k > 1:
        drawn = stream.child("along").normal(2 * _LINES, k, dtype=torch.float64)
        places = radius * (2 * stream.child("at").uniform(_LINES, k, dtype=torch.float64) - 1)
        corners = 2 * stream.child("corners").bernoulli(0.5, _LINES, k).double() - 1
        corners[0] = torch.where(label > 0, -1.0, 1.0)  # the farthest from the label
        through = torch.cat([through, through[:1].expand(_LINES, k), places, torch.zeros_like(corners)])
        along = torch.cat([along, drawn, corners])
    first, last = (-radius - through) / along, (radius - through) / along  # where each coordinate leaves the range
    low = torch.minimum(first, last).nan_to_num(nan=-math.inf).amax(1, keepdim=True)
    high = torch.maximum(first, last).nan_to_num(nan=math.inf).amin(1, keepdim=True)
    ends = [(through + end * along).clamp(-radius, radius) for end in (low, high)]
    crossing = (ends[1] - ends[0]).norm(dim=1) > _SHORT * radius
    return ends[0][crossing], ends[1][crossing]


def _slopes(loss: Loss, out: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    value = loss.each(out, y)
    (slope,) = torch.autograd.grad(loss.each(at := out.clone().requires_grad_(True), y).sum(), at)
    return value, slope


def _written(numbers: torch.Tensor) -> str:
    shown = ", ".join(f"{number:.4g}" for number in numbers.tolist())
    return shown if len(numbers) == 1 else f"({shown})"
