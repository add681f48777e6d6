"""Two-layer networks with smooth activations, from which Concept 1 builds F and G."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from beyondkernels.activations import Activation, Cosine, Sine
from beyondkernels.activations.smooth import rescaled
from beyondkernels.core import Component, InputError, Stream, require
from beyondkernels.core.constraints import even, positive, size

Functions = tuple[tuple[Activation, ...], ...]
"""One function for each output and term: k rows of p."""

LENGTH = math.sqrt(0.5)
"""The length of every direction in Concept 1."""


class SmoothMap(Component, ABC):
    """A function from vectors to vectors, each output a sum of p smooth terms."""

    @property
    @abstractmethod
    def in_dim(self) -> int:
        """The dimension of what it takes."""

    @property
    @abstractmethod
    def coefficients(self) -> torch.Tensor:
        """a*, (k, p) float64."""

    @property
    @abstractmethod
    def functions(self) -> Functions:
        """The smooth function of each output and term."""

    @property
    def out_dim(self) -> int:
        """The number of outputs k."""
        return self.coefficients.shape[0]

    @property
    def terms(self) -> int:
        """The number of terms p of each output."""
        return self.coefficients.shape[1]

    @property
    def distinct(self) -> tuple[Activation, ...]:
        """The functions, each once."""
        return tuple(dict.fromkeys(f for row in self.functions for f in row))

    @abstractmethod
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Its values (n, k) float64 at points (n, in_dim)."""

    def apply_functions(self, z: torch.Tensor) -> torch.Tensor:
        """Each function at its argument, (n, k, p)."""
        out = torch.empty_like(z)
        for f in self.distinct:
            where = torch.tensor([[g == f for g in row] for row in self.functions])
            out[:, where] = f.value(z[:, where])
        return out


class TwoLayerMap(SmoothMap):
    r"""A two-layer network with smooth activations.

    .. math:: F_r(x) = \sum_{i \in [p]} a^*_{r,i}\, \phi_{r,i}(\langle w^*_{r,i}, x \rangle), \qquad r = 1, \dots, k

    Concept 1 asks for :math:`\|w^*_{r,i}\| = 1/\sqrt 2` and :math:`|a^*_{r,i}| \le 1`; :func:`absorbed` brings any
    such map into that form.

    Reference: Allen-Zhu & Li (resnet), Concept 1, eq. (5.2).
    """

    @property
    @abstractmethod
    def directions(self) -> torch.Tensor:
        """w*, (k, p, in_dim) float64."""

    @property
    def in_dim(self) -> int:
        return self.directions.shape[2]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        k, p, d = self.directions.shape
        z = (x.double() @ self.directions.view(k * p, d).T).view(-1, k, p)
        return torch.einsum("nkp,kp->nk", self.apply_functions(z), self.coefficients)

    def scaled(self, factor: float, inside: float = 1.0) -> GivenMap:
        """The map x ↦ factor · F(inside · x); both numbers go into the functions, directions and a* stay."""
        return GivenMap(
            nested(self.directions),
            nested(self.coefficients),
            tuple(tuple(rescaled(f, inside, factor) for f in row) for row in self.functions),
        )


@dataclass(frozen=True)
class GivenMap(TwoLayerMap):
    """A two-layer map with given numbers.

    Arguments:
        weights: w*, k lists of p directions.
        readout: a*, k lists of p numbers.
        function: φ, one for all terms or k lists of p.

    >>> from beyondkernels.activations import quadratic
    >>> square = GivenMap(weights=[[[0.5, 0.5]]], readout=[[1.0]], function=rescaled(quadratic, outside=4.0))
    >>> square(torch.tensor([[1.0, 2.0]])).tolist()
    [[9.0]]
    """

    weights: tuple[tuple[tuple[float, ...], ...], ...]
    readout: tuple[tuple[float, ...], ...]
    function: Activation | Functions

    def __post_init__(self) -> None:
        given = {name: _tensor(name, getattr(self, name), axes) for name, axes in (("weights", 3), ("readout", 2))}
        weights, readout = given["weights"], given["readout"]
        require(
            weights.shape[:2] == readout.shape,
            f"readout must hold a number for each direction, got {tuple(readout.shape)} numbers "
            f"for {tuple(weights.shape[:2])} directions",
        )
        for name, values in given.items():
            object.__setattr__(self, name, nested(values))
        if not isinstance(self.function, Activation):
            rows = tuple(tuple(row) for row in self.function)
            shape = tuple(readout.shape)
            require(
                len(rows) == shape[0] and all(len(row) == shape[1] for row in rows),
                f"function must be one function or one for each of the {shape} terms",
            )
            object.__setattr__(self, "function", rows)

    @property
    def directions(self) -> torch.Tensor:
        return tensor_of(self.weights)

    @property
    def coefficients(self) -> torch.Tensor:
        return tensor_of(self.readout)

    @property
    def functions(self) -> Functions:
        if isinstance(self.function, Activation):
            return tuple((self.function,) * len(row) for row in self.readout)
        return self.function


@dataclass(frozen=True)
class DrawnMap(TwoLayerMap):
    r"""A two-layer map with directions uniform on the sphere of radius :math:`1/\sqrt 2` and a* uniform on [−1, 1].

    Its values have no fixed length. So it serves as base of a Concept 2 target, after :class:`GeneralForm`, but not of
    a Concept 1 target.

    Arguments:
        dim: the dimension of what it takes.
        outputs: k.
        count: p, the number of terms.
        function: φ of every term.
        instance: selects the draw. F and G of one target need different ones.
    """

    dim: Annotated[int, size]
    outputs: Annotated[int, size]
    count: Annotated[int, size]
    function: Activation
    instance: int = 0

    @property
    def directions(self) -> torch.Tensor:
        """w*, (k, p, in_dim) float64. It is shared, so do not write to it."""
        return drawn_directions("map", self.instance, self.outputs, self.count, self.dim) * LENGTH

    @property
    def coefficients(self) -> torch.Tensor:
        stream = Stream(self.instance).child("map", "readout")
        return 2 * stream.uniform(self.outputs, self.count, dtype=torch.float64) - 1

    @property
    def functions(self) -> Functions:
        return ((self.function,) * self.count,) * self.outputs


@dataclass(frozen=True)
class CircleMap(TwoLayerMap):
    r"""Points on k/2 circles, at angles that are linear in x. This is a drawn map with :math:`\|F(x)\| = 1` everywhere.

    .. math:: F_{2j-1}(x) = \sqrt{2/k}\,\sin(\omega \langle w_j, x \rangle), \quad
              F_{2j}(x) = \sqrt{2/k}\,\cos(\omega \langle w_j, x \rangle), \qquad \|w_j\| = 1/\sqrt 2

    Arguments:
        dim: the dimension of what it takes.
        outputs: k, even.
        frequency: ω.
        instance: selects the draw of the directions, which are uniform on the sphere.

    >>> x = Stream(0).normal(5, 8)
    >>> CircleMap(dim=8, outputs=4)(x).norm(dim=1)
    tensor([1., 1., 1., 1., 1.], dtype=torch.float64)
    """

    dim: Annotated[int, size]
    outputs: Annotated[int, size, even]
    frequency: Annotated[float, positive] = 1.0
    instance: int = 0

    @property
    def directions(self) -> torch.Tensor:
        """w*, (k, 1, in_dim) float64, the same for both coordinates of a circle."""
        unit = drawn_directions("circles", self.instance, self.outputs // 2, 1, self.dim)
        return unit.repeat_interleave(2, 0) * LENGTH

    @property
    def coefficients(self) -> torch.Tensor:
        return torch.ones(self.outputs, 1, dtype=torch.float64)

    @property
    def functions(self) -> Functions:
        radius = math.sqrt(2 / self.outputs)
        waves = Sine(self.frequency, radius), Cosine(self.frequency, radius)
        return tuple((waves[r % 2],) for r in range(self.outputs))


def absorbed(source: TwoLayerMap) -> GivenMap:
    r"""The same map with :math:`\|w^*\| = 1/\sqrt 2` and :math:`|a^*| \le 1`: the rest goes into the functions.

    .. math:: a\,\phi(\langle w, x \rangle) = \frac{a}{A}\,\phi'(\langle w / (\sqrt 2 \|w\|), x \rangle), \qquad
              \phi'(z) = A\,\phi(\sqrt 2 \|w\| z), \quad A = \max(1, |a|)

    >>> from beyondkernels.activations import identity
    >>> linear = GivenMap([[[3.0, 4.0]]], [[2.0]], identity)
    >>> absorbed(linear).functions
    ((Polynomial(coefficients=(0.0, 14.1421356237...)),),)

    Reference: Allen-Zhu & Li (resnet), footnote 10.
    """
    w, a = source.directions, source.coefficients
    lengths = w.norm(dim=2)
    if not bool((lengths > 0).all()):
        raise InputError("every direction must have a positive length, got one of length 0; put it into a constant")
    inside, outside = lengths / LENGTH, a.abs().clamp(min=1)
    rows = tuple(
        tuple(rescaled(f, float(inside[r, i]), float(outside[r, i])) for i, f in enumerate(row))
        for r, row in enumerate(source.functions)
    )
    return GivenMap(nested(w / inside[:, :, None]), nested(a / outside), rows)


def nested(values: torch.Tensor) -> Any:
    """Nested tuples of numbers, the form in which a component holds them."""
    return tuple(nested(part) for part in values) if values.dim() > 1 else tuple(values.tolist())


@functools.lru_cache(maxsize=64)
def tensor_of(values: tuple[Any, ...]) -> torch.Tensor:
    """The inverse of :func:`nested`, float64. It is shared, so do not write to it."""
    return torch.tensor(values, dtype=torch.float64)


@functools.lru_cache(maxsize=64)
def drawn_directions(name: str, instance: int, *shape: int) -> torch.Tensor:
    """Uniform directions of length one along the last axis, float64. They are shared, so do not write to them."""
    w = Stream(instance).child(name, "directions").normal(*shape, dtype=torch.float64)
    return w / w.norm(dim=-1, keepdim=True)


def _tensor(name: str, values: Sequence[Any] | torch.Tensor, axes: int) -> torch.Tensor:
    try:
        found = torch.as_tensor(values, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must hold numbers in {axes} axes of equal lengths, got {error}") from error
    require(
        found.dim() == axes and found.numel() > 0 and bool(torch.isfinite(found).all()),
        f"{name} must hold finite numbers in {axes} axes, got shape {tuple(found.shape)}",
    )
    return found
