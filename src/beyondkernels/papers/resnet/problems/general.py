"""Maps of general complexity (Definition A.1), from which Concept 2 builds F and G, and the conversion of Lemma A.2."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Activation
from beyondkernels.activations.smooth import split
from beyondkernels.core import Stream, require
from beyondkernels.core.constraints import size
from beyondkernels.data.maps import LENGTH, Functions, SmoothMap, TwoLayerMap, drawn_directions

_ROUNDING = 1e-9
_ORDERS = 12  # Taylor orders that are checked when a function must have no even ones


class GeneralMap(SmoothMap):
    r"""A map of general complexity.

    .. math:: F_r(x) = \sum_{i=1}^p a^*_{r,i}\,
        \phi_{r,i}\Bigl(\frac{\langle w^*_{1,r,i}, (x, 1) \rangle}{\|(x, 1)\|}\Bigr) \cdot
        \langle w^*_{2,r,i}, (x, 1) \rangle

    with :math:`|a^*| \le 1`, directions of length one, and functions whose Taylor series have terms of order zero and
    of odd order only. The directions carry the index r as in Concept 1 (Definition A.1 shares them among outputs,
    which is the special case).

    Reference: Allen-Zhu & Li (resnet), Definition A.1.
    """

    @property
    @abstractmethod
    def first(self) -> torch.Tensor:
        """w*₁, (k, p, in_dim + 1) float64."""

    @property
    @abstractmethod
    def second(self) -> torch.Tensor:
        """w*₂, (k, p, in_dim + 1) float64."""

    @property
    def in_dim(self) -> int:
        return self.first.shape[2] - 1

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Its values (n, k) float64 at points (n, in_dim)."""
        x1 = torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64)], 1)
        k, p, d1 = self.first.shape
        inner = (x1 / x1.norm(dim=1, keepdim=True)) @ self.first.view(k * p, d1).T
        outer = (x1 @ self.second.reshape(k * p, d1).T).view(-1, k, p)
        return torch.einsum("nkp,nkp,kp->nk", self.apply_functions(inner.view(-1, k, p)), outer, self.coefficients)


@dataclass(frozen=True)
class GeneralForm(GeneralMap):
    r"""A Concept 1 map as a map of general complexity, with twice as many terms. Both agree at all unit vectors.

    .. math:: F'_r(x) = \sum_i a^*_{r,i} \Bigl(
        \phi^+_{r,i}(u)\, \langle (0, 1), (x, 1) \rangle
        + \tfrac{1}{\sqrt 2}\, \phi^-_{r,i}(u)\, \langle (\hat w, 0), (x, 1) \rangle \Bigr), \qquad
        u = \frac{\langle (\hat w, 0), (x, 1) \rangle}{\|(x, 1)\|}

    where :math:`\hat w = \sqrt 2\, w^*_{r,i}` has length one and :math:`\phi = \phi^+ + z\phi^-` (:func:`split`).

    Arguments:
        source: the map, with directions of length 1/√2 and a* in [−1, 1].

    Reference: Allen-Zhu & Li (resnet), Lemma A.2.
    """

    source: TwoLayerMap

    def __post_init__(self) -> None:
        require_concept1("source", self.source)

    @property
    def first(self) -> torch.Tensor:
        """(ŵ, 0) twice."""
        w = self._padded()
        return torch.cat([w, w], 1)

    @property
    def second(self) -> torch.Tensor:
        """(0, 1), then (ŵ, 0)."""
        w = self._padded()
        constant = torch.zeros_like(w)
        constant[..., -1] = 1
        return torch.cat([constant, w], 1)

    @property
    def coefficients(self) -> torch.Tensor:
        """a*, then a*/√2."""
        a = self.source.coefficients
        return torch.cat([a, a * math.sqrt(0.5)], 1)

    @property
    def functions(self) -> Functions:
        """φ⁺, then φ⁻."""
        parts = [[split(f) for f in row] for row in self.source.functions]
        return tuple(tuple(plus for plus, _ in row) + tuple(minus for _, minus in row) for row in parts)

    def _padded(self) -> torch.Tensor:
        return torch.nn.functional.pad(self.source.directions / LENGTH, (0, 1))


@dataclass(frozen=True)
class DrawnGeneralMap(GeneralMap):
    r"""A map of general complexity with uniform directions of length one and a* uniform on [−1, 1].

    Arguments:
        dim: the dimension of its argument.
        outputs: k.
        count: p, the number of terms.
        function: φ of every term, with Taylor terms of order zero and odd orders only; :func:`split` makes such ones.
        instance: selects the draw. F and G of one target need different ones.

    >>> from beyondkernels.activations import Sine
    >>> DrawnGeneralMap(dim=6, outputs=2, count=3, function=Sine())(torch.zeros(4, 6)).shape
    torch.Size([4, 2])
    """

    dim: Annotated[int, size]
    outputs: Annotated[int, size]
    count: Annotated[int, size]
    function: Activation
    instance: int = 0

    def __post_init__(self) -> None:
        require_odd("function", self.function)

    @property
    def first(self) -> torch.Tensor:
        return drawn_directions("general first", self.instance, self.outputs, self.count, self.dim + 1)

    @property
    def second(self) -> torch.Tensor:
        return drawn_directions("general second", self.instance, self.outputs, self.count, self.dim + 1)

    @property
    def coefficients(self) -> torch.Tensor:
        """a*, (k, p) float64."""
        stream = Stream(self.instance).child("general", "readout")
        return 2 * stream.uniform(self.outputs, self.count, dtype=torch.float64) - 1

    @property
    def functions(self) -> Functions:
        return ((self.function,) * self.count,) * self.outputs


def require_concept1(name: str, given: SmoothMap) -> None:
    """Ask that a map has the form and the norms of Concept 1."""
    require(isinstance(given, TwoLayerMap), f"{name} must be a two-layer map for Concept 1, got {type(given).__name__}")
    assert isinstance(given, TwoLayerMap)
    lengths = given.directions.norm(dim=2)
    worst = float(lengths.flatten()[(lengths - LENGTH).abs().argmax()])
    require(
        abs(worst - LENGTH) <= _ROUNDING,
        f"{name} must have directions of length 1/√2 for Concept 1, got one of length {worst:.6g}; "
        f"absorbed({name}) moves the lengths into the functions",
    )
    require_bounded(name, given)


def require_concept2(name: str, given: SmoothMap) -> None:
    """Ask that a map has the form and the norms of Concept 2."""
    require(
        isinstance(given, GeneralMap),
        f"{name} must be a map of general complexity for Concept 2, got {type(given).__name__}; "
        f"GeneralForm({name}) makes one of a two-layer map, equal to it at unit vectors",
    )
    assert isinstance(given, GeneralMap)
    for which in (given.first, given.second):
        lengths = which.norm(dim=2)
        worst = float(lengths.flatten()[(lengths - 1).abs().argmax()])
        require(abs(worst - 1) <= _ROUNDING, f"{name} must have directions of length 1 for Concept 2, got {worst:.6g}")
    require_bounded(name, given)
    for f in given.distinct:
        require_odd(name, f)


def require_bounded(name: str, given: SmoothMap) -> None:
    """Ask that all a* lie in [−1, 1]."""
    largest = float(given.coefficients.abs().max())
    require(
        largest <= 1 + _ROUNDING,
        f"{name} must have a* in [−1, 1], got {largest:.6g}; absorbed({name}) moves the excess into the functions",
    )


def require_odd(name: str, function: Activation) -> None:
    """Ask that a function's Taylor series has only terms of order zero and odd orders."""
    c = function.taylor(_ORDERS)
    require(
        bool((c[2::2].abs() <= 1e-14 * c.abs().max()).all()),
        f"{name} must have Taylor terms of order 0 and odd orders only, got {type(function).__name__} with an even "
        "one; split(function) gives two parts that do",
    )
