"""Inputs of norm 1 with last coordinate 1/2, and the padding that makes any data such inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import InputError, Stream, require, require_between
from beyondkernels.core.constraints import between, positive, size
from beyondkernels.core.errors import shown
from beyondkernels.data.inputs import Inputs, Sphere, UnitVectors

LAST = 0.5
"""The last coordinate of every input."""

REST = math.sqrt(1 - LAST**2)
"""The norm of the other coordinates."""

_ROUNDING = 1e-5


@dataclass(frozen=True)
class UnitInputs(UnitVectors):
    r"""Uniform on the unit vectors whose last coordinate is 1/2.

    .. math:: x = \Bigl(\frac{\sqrt 3}{2}\,u, \frac12\Bigr), \qquad u \sim U(S^{d-2})

    The uniform distribution is ours; the paper allows any.

    Arguments:
        dim: d, at least 2.

    >>> x = UnitInputs(5).draw(3, Stream(0))
    >>> x.norm(dim=1).round(decimals=9), x[:, -1]
    (tensor([1., 1., 1.], dtype=torch.float64), tensor([0.5000, 0.5000, 0.5000], dtype=torch.float64))

    Reference: Allen-Zhu, Li & Liang (overparam), §2.
    """

    def __post_init__(self) -> None:
        _require_room(self.dim, 2)

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        return _with_last(REST * Sphere(self.dim - 1).draw(n, stream))


@dataclass(frozen=True)
class SignalInputs(UnitVectors):
    r"""Some coordinates whose distribution does not depend on d, beside a background that fills all others.

    .. math:: x = \Bigl(\sqrt s\,u, \sqrt{3/4 - s}\,v, \frac12\Bigr), \qquad
              u \sim U(S^{r-1}), \quad v \sim U(S^{d-r-2}) \text{ independent}

    A target of the first r coordinates has the same values for every d, so that experiments can vary d alone. This
    distribution is ours.

    Arguments:
        dim: d, at least r + 2.
        relevant: r.
        share: s, the squared norm of the first r coordinates; the last coordinate has 1/4.
    """

    relevant: Annotated[int, size] = 4
    share: Annotated[float, between(0, 0.75, "()")] = 0.5

    def __post_init__(self) -> None:
        _require_room(self.dim, self.relevant + 2)

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        """Draw n unit vectors. The first r coordinates are the same for every d."""
        u = Sphere(self.relevant).draw(n, stream.child("signal"))
        v = Sphere(self.dim - self.relevant - 1).draw(n, stream.child("background"))
        return _with_last(torch.cat([math.sqrt(self.share) * u, math.sqrt(REST**2 - self.share) * v], 1))


@dataclass(frozen=True)
class Padded(UnitVectors):
    """Inputs of any distribution, padded to norm 1 and last coordinate 1/2. Use :meth:`of` to make one.

    Arguments:
        dim: the dimension after padding, two more than that of the source.
        source: the distribution of the inputs.
        radius: a bound on their norms.

    >>> from beyondkernels.data import Cube
    >>> Padded.of(Cube(3)).points(100).shape
    torch.Size([8, 5])

    Reference: Allen-Zhu, Li & Liang (overparam), footnote 1.
    """

    source: Inputs
    radius: Annotated[float, positive] = 1.0

    def __post_init__(self) -> None:
        require(
            self.dim == self.source.dim + 2,
            f"dim must be {self.source.dim + 2}, two more than the source's {self.source.dim}, got {self.dim}; "
            "Padded.of(source, radius) needs no dim",
        )

    @classmethod
    def of(cls, source: Inputs, radius: float = 1.0) -> Padded:
        """The padded inputs of a source.

        Arguments:
            source: the distribution of the inputs.
            radius: a bound on their norms.
        """
        if not isinstance(source, Inputs):
            raise InputError(f"source must be a distribution of inputs, such as Cube(3), got {shown(source)}")
        return cls(source.dim + 2, source, radius)

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        return padded(self.source.draw(n, stream), self.radius)

    def points(self, most: int) -> torch.Tensor | None:
        """Every input of the source, padded."""
        listed = self.source.points(most)
        return None if listed is None else padded(listed, self.radius)


def padded(x: torch.Tensor, radius: float = 1.0) -> torch.Tensor:
    r"""Any data as inputs of norm 1 with last coordinate 1/2.

    .. math:: x \mapsto \Bigl(\frac{\sqrt 3}{2}\,\frac{x}{R}, \frac{\sqrt 3}{2} \sqrt{1 - \|x\|^2/R^2}, \frac12\Bigr)

    Inner products of such inputs are those of x, up to a factor and what the padding adds.

    Arguments:
        x: points, (n, d).
        radius: R, a bound on their norms.

    >>> padded(torch.tensor([[0.6, 0.0]])).tolist()
    [[0.519..., 0.0, 0.692..., 0.5]]

    Reference: Allen-Zhu, Li & Liang (overparam), footnote 1.
    """
    x = points("x", x)
    require_between("radius", radius, 0, math.inf, "()")
    lengths = x.norm(dim=1, keepdim=True)
    longest = float(x.double().norm(dim=1).max()) if len(x) else 0.0
    require(
        longest <= radius * (1 + _ROUNDING),
        f"radius must bound the norm of every point, got {radius:g} and a point of norm {longest:.6g}; "
        f"radius={math.ceil(100 * longest) / 100:g} would do",
    )
    rest = (1 - (lengths / radius) ** 2).clamp(min=0).sqrt()
    return _with_last(REST * torch.cat([x / radius, rest], 1))


def points(name: str, x: object) -> torch.Tensor:
    """Data as a matrix of finite numbers, a row for each point.

    Arguments:
        name: what they are called.
        x: a tensor, an array or lists.
    """
    try:
        found = torch.as_tensor(x)
        found = found if found.is_floating_point() else found.double()
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{name} must be a matrix of numbers, a row for each point, got {shown(x)}") from None
    require(
        found.dim() == 2 and found.shape[1] > 0,
        f"{name} must be a matrix, a row for each point, got the shape {tuple(found.shape)}",
    )
    require(bool(found.isfinite().all()), f"{name} must hold finite numbers, got inf or NaN")
    return found


def require_unit_inputs(name: str, x: torch.Tensor) -> None:
    """Ask that points have norm 1 and last coordinate 1/2.

    Arguments:
        name: what they are called.
        x: points, (n, d).
    """
    x = points(name, x)
    for what, found, asked in (("norm", x.norm(dim=1), 1.0), ("last coordinate", x[:, -1], LAST)):
        bad = (found - asked).abs() > _ROUNDING
        if bool(bad.any()):
            row = int(bad.nonzero()[0])
            require(
                False,
                f"{name} must have norm 1 and last coordinate 1/2, got {what} {float(found[row]):.6g} in row {row}; "
                "bk.overparam.padded(x, radius) makes such points of any data, Padded.of(source, radius) such "
                "inputs of any distribution",
            )


def _with_last(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x.new_full((len(x), 1), LAST)], 1)


def _require_room(dim: int, needed: int) -> None:
    require(dim >= needed, f"dim must be at least {needed}, got {dim}")
