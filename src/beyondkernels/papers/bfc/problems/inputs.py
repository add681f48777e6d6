"""Distributions of inputs for quadratic targets: Gaussians, mixtures of Gaussians, bounded inputs, given ones."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Component, Stream, require, require_whole
from beyondkernels.core.constraints import not_empty, positive
from beyondkernels.papers.bfc.problems.coordinates import Law
from beyondkernels.papers.bfc.problems.matrices import (
    Matrix,
    conditioned,
    matrix,
    nested,
    require_root,
    require_size,
    root_of,
)

_DRAWS = 2**18  # for second moments that nobody has stated


@dataclass(frozen=True)
class Part:
    """One part of a mixture: x = Σu, where the coordinates of u are independent and have one law.

    Arguments:
        weight: the probability of the part.
        root: Σ, (d, d) float64.
        law: of each coordinate of u.
    """

    weight: float
    root: torch.Tensor
    law: Law


class QuadraticInputs(Component, ABC):
    """A distribution of x for any dimension d that it accepts."""

    def require_dim(self, dim: int) -> None:
        """Ask that there is such a distribution in this dimension."""
        return

    @abstractmethod
    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        """Draw n points (n, d), float64."""

    @abstractmethod
    def second_moments(self, dim: int) -> tuple[float, ...]:
        """E[x_j²] for each coordinate, the centring of G₁."""

    def parts(self, dim: int) -> tuple[Part, ...] | None:
        """The distribution as a mixture of linear images of independent coordinates, if it is one."""
        return None

    @property
    def hypercontractivity(self) -> float | None:
        r"""A number ρ such that the norms of all polynomials f, of any degree q, are comparable; None if none is known.

        .. math:: \|f\|_r \le (r - 1)^{q/2} \rho^{1/2 - 1/r} \|f\|_2 \quad \text{for all } r \ge 2
        """
        return None


@dataclass(frozen=True)
class GaussianInputs(QuadraticInputs):
    r"""Gaussian inputs with mean zero.

    .. math:: x \sim N(0, \Sigma\Sigma^\top)

    Arguments:
        root: Σ, one number for all coordinates or a d × d matrix.

    >>> GaussianInputs(2.0).second_moments(3)
    (4.0, 4.0, 4.0)
    >>> GaussianInputs([[1.0, 0.0], [0.6, 0.8]]).draw(5, 2, Stream(0)).shape
    torch.Size([5, 2])

    Reference: Allen-Zhu & Li (bfc), Proposition 5.1.
    """

    root: Annotated[float, positive] | Matrix = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.root, tuple):
            require_root("root", self.root)

    def require_dim(self, dim: int) -> None:
        """Ask that Σ is d × d."""
        require_size("root", self.root, dim)

    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        self.require_dim(dim)
        g = stream.normal(n, dim, dtype=torch.float64)
        return g @ matrix(self.root).T if isinstance(self.root, tuple) else g * float(self.root)

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """The squared norms of the rows of Σ."""
        return _row_norms(self._root(dim))

    def parts(self, dim: int) -> tuple[Part, ...]:
        return (Part(1.0, self._root(dim), "normal"),)

    @property
    def hypercontractivity(self) -> float:
        """ρ = 1, Nelson's theorem."""
        return 1.0

    def _root(self, dim: int) -> torch.Tensor:
        self.require_dim(dim)
        return root_of(self.root, dim)


@dataclass(frozen=True)
class MixtureOfGaussians(QuadraticInputs):
    r"""A mixture of Gaussians with mean zero, whose coordinates have the same variance in every part.

    .. math:: x \sim N(0, \Sigma_i\Sigma_i^\top) \text{ with probability } p_i, \qquad
              \|[\Sigma_i]_j\|_2 \text{ equal for all } i

    Arguments:
        roots: the matrices Σᵢ, each d × d; :func:`drawn_mixture` draws some.
        shares: the probabilities pᵢ, equal ones by default.

    >>> mixture = MixtureOfGaussians([[[1.0, 0.0], [0.0, 2.0]], [[0.6, 0.8], [2.0, 0.0]]])
    >>> mixture.second_moments(2)
    (1.0, 4.0)

    Reference: Allen-Zhu & Li (bfc), Proposition 5.1.
    """

    roots: Annotated[tuple[Matrix, ...], not_empty]
    shares: Annotated[tuple[float, ...], positive] | None = None

    def __post_init__(self) -> None:
        for root in self.roots:
            require_root("each of roots", root)
        sizes = {len(root) for root in self.roots}
        require(len(sizes) == 1, f"roots must have one size, got sizes {sorted(sizes)}")
        norms = torch.stack([matrix(root).norm(dim=1) for root in self.roots])
        j = int((norms - norms[0]).abs().amax(0).argmax())
        low, high = float(norms[:, j].min()), float(norms[:, j].max())
        require(
            high - low <= 1e-9 * high,
            f"roots must have rows of equal norms in every part (Proposition 5.1), got norms from {low:.6g} to "
            f"{high:.6g} in row {j}",
        )
        if self.shares is not None:
            require(
                len(self.shares) == len(self.roots) and abs(sum(self.shares) - 1) <= 1e-9,
                f"shares must be {len(self.roots)} probabilities with sum 1, one for each root, got "
                f"{len(self.shares)} with sum {sum(self.shares):.6g}",
            )

    def require_dim(self, dim: int) -> None:
        """Ask that every Σᵢ is d × d."""
        require_size("roots", self.roots[0], dim)

    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        parts = self.parts(dim)
        ends = torch.tensor([part.weight for part in parts], dtype=torch.float64).cumsum(0)
        u = stream.child("part").uniform(n, dtype=torch.float64)
        which = torch.searchsorted(ends, u, right=True).clamp(max=len(parts) - 1)
        g = stream.child("normal").normal(n, dim, dtype=torch.float64)
        x = torch.empty_like(g)
        for i, part in enumerate(parts):
            x[which == i] = g[which == i] @ part.root.T
        return x

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """The squared norms of the rows of any Σᵢ."""
        return _row_norms(self.parts(dim)[0].root)

    def parts(self, dim: int) -> tuple[Part, ...]:
        """The Gaussians."""
        self.require_dim(dim)
        shares = self.shares or (1 / len(self.roots),) * len(self.roots)
        return tuple(Part(p, matrix(root), "normal") for p, root in zip(shares, self.roots, strict=True))

    @property
    def hypercontractivity(self) -> float:
        """ρ = 1 / min pᵢ, because E f² is at least pᵢ times its mean in part i."""
        return 1 / min(self.shares or (1 / len(self.roots),))


@dataclass(frozen=True)
class UniformInputs(QuadraticInputs):
    r"""Bounded isotropic inputs: independent coordinates, uniform on :math:`[-\sqrt 3 s, \sqrt 3 s]`.

    Arguments:
        std: s, the standard deviation of each coordinate.

    >>> float(UniformInputs().draw(1000, 8, Stream(0)).abs().max()) <= 3**0.5
    True
    """

    std: Annotated[float, positive] = 1.0

    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        return (2 * stream.uniform(n, dim, dtype=torch.float64) - 1) * (math.sqrt(3) * self.std)

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """All are s²."""
        return (float(self.std) * float(self.std),) * dim

    def parts(self, dim: int) -> tuple[Part, ...]:
        return (Part(1.0, root_of(self.std, dim), "uniform"),)

    @property
    def hypercontractivity(self) -> float:
        """ρ = 1, Bonami's theorem: a uniform number is a sum of independent signs, √3 Σ 2⁻ⁿ εₙ."""
        return 1.0


@dataclass(frozen=True)
class SphereInputs(QuadraticInputs):
    r"""Bounded isotropic inputs with dependent coordinates: uniform on the sphere of radius :math:`\sqrt d`.

    They are not degree-preserving, because ‖x‖² − d is zero everywhere.
    """

    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        g = stream.normal(n, dim, dtype=torch.float64)
        return g * (math.sqrt(dim) / g.norm(dim=1, keepdim=True))

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """All are 1."""
        return (1.0,) * dim

    @property
    def hypercontractivity(self) -> float:
        """ρ = 1, Beckner's theorem."""
        return 1.0


@dataclass(frozen=True)
class GivenInputs(QuadraticInputs):
    """Inputs that the user defines.

    Arguments:
        function: takes n, d and a stream, and gives points of shape (n, d); a named, importable function, so that runs
            can be stored.
        moments: E[x_j²] for each coordinate. If they are not given, the mean over 2¹⁸ draws of a fixed stream takes
            their place.
    """

    function: Callable[[int, int, Stream], torch.Tensor]
    moments: Annotated[tuple[float, ...], positive] | None = None

    def require_dim(self, dim: int) -> None:
        """Ask for one moment for each coordinate."""
        require(
            self.moments is None or len(self.moments) == dim,
            f"moments must hold one number for each of dim = {dim} coordinates, got {len(self.moments or ())}",
        )

    def draw(self, n: int, dim: int, stream: Stream) -> torch.Tensor:
        """The result of the function, after checking its shape and that its numbers are finite."""
        x = torch.as_tensor(self.function(n, dim, stream), dtype=torch.float64)
        require(
            x.shape == (n, dim) and bool(x.isfinite().all()),
            f"function must give finite numbers of shape ({n}, {dim}), got shape {tuple(x.shape)}"
            f"{' with other numbers' if x.shape == (n, dim) else ''}",
        )
        return x

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """The given moments, or estimates of them."""
        self.require_dim(dim)
        return self.moments if self.moments is not None else _drawn_moments(self, dim)


def drawn_mixture(dim: int, parts: int = 2, spread: float = 2.0, instance: int = 0) -> MixtureOfGaussians:
    r"""Matrices :math:`\Sigma_i` with unit rows, otherwise random: UΛV with random rotations, then scaled row by row.

    The singular values Λ are spaced evenly on a logarithmic scale between 1/s and s, before rows are scaled.

    Arguments:
        dim: d.
        parts: how many Gaussians.
        spread: s.
        instance: selects the draw.

    >>> [round(moment, 9) for moment in drawn_mixture(3).second_moments(3)]
    [1.0, 1.0, 1.0]
    """
    require_whole("parts", parts)
    require(spread >= 1, f"spread must be at least 1, got {spread}")
    roots = []
    for i in range(parts):
        root = conditioned(dim, dim, spread, Stream(instance).child("mixture", str(i)))
        roots.append(nested(root / root.norm(dim=1, keepdim=True)))
    return MixtureOfGaussians(tuple(roots))


def _row_norms(root: torch.Tensor) -> tuple[float, ...]:
    return tuple(root.square().sum(1).tolist())


@functools.lru_cache(maxsize=16)
def _drawn_moments(inputs: GivenInputs, dim: int) -> tuple[float, ...]:
    x = inputs.draw(_DRAWS, dim, Stream(0).child("second moments"))
    return tuple(x.square().mean(0).tolist())
