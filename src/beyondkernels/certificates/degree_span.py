"""The span of a kernel's functions K(·, x⁽ⁿ⁾) on the cube in closed form, degree by degree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import torch

from beyondkernels.certificates.coefficients import DegreeCoefficients
from beyondkernels.certificates.graded import GradedLevels, Level
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.profiles import Real
from beyondkernels.certificates.span import LARGEST_ERROR, Parity, Span, said_bytes
from beyondkernels.core import InputError, require

_ZERO, _NOT_ZERO = 1e-14, 1e-9
"""Eigenvalues of the matrices of one degree, relative to their trace: zero below the first, not zero above the second.

Rounding leaves up to 1e-15. In between, eigenvalues have too few digits, and singular values of parities are used.
"""

_ROUNDING = 1e-15
"""The error of sums in float64, relative to their largest terms."""

_DIGITS = 60
"""Of sums over degrees."""

_ITERATIONS = 60

MOST_POINTS = 8000
"""The most training points: several matrices of that size are held and decomposed."""


class DegreeSpan(Span):
    r"""The span of K(·, a) for signs a in a training set, for a kernel of the Hamming distance.

    The function K(·, a) has the coefficient :math:`\lambda_{|T|} \chi_T(a)` at the parity :math:`\chi_T`. So the Gram
    matrix in :math:`L^2` is :math:`G = \sum_j \lambda_j^2 \mathcal K_j(h)`, and :math:`\lambda_j` falls so fast with
    the degree that G has no inverse in float64. But a direction of tiny length still belongs to the span. Directions
    are therefore sorted by degree. With the degrees ordered by :math:`|\lambda_j|`, the directions of level j are
    those weights that the matrices :math:`\mathcal K_i(h)` of all degrees i before j map to zero, and that
    :math:`\mathcal K_j(h)` does not. These matrices hold whole numbers, so zero is far from what is not zero. In the
    basis of levels, each direction divided by its length in its own degree, the Gram matrix is of order one:

    .. math:: \tilde G_{ab} = \frac{1}{\lambda_a \lambda_b} \sum_{j \succeq a, b} \lambda_j^2\,
              \frac{W_a^\top \mathcal K_j(h)\,W_b}{s_a s_b}

    The terms of degrees before a or b are zero and are left out. A parity of degree j has no part in the levels after
    j. So no large number is ever multiplied by a rounding error of another degree.

    Arguments:
        signs: the training points, shape (n, d), entries ±1. Equal points count once.
        coefficients: of the kernel on this cube.

    >>> from beyondkernels.kernels import Gaussian
    >>> from beyondkernels.certificates.coefficients import degree_coefficients
    >>> span = DegreeSpan(torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]), degree_coefficients(Gaussian(1.0), 3))
    >>> span.dimension, span.coordinates([(0,), (1,), (0, 1)]).square().sum(0).round(decimals=4).tolist()
    (2, [0.1893, 0.5572, 0.1893])
    """

    def __init__(self, signs: torch.Tensor, coefficients: DegreeCoefficients):
        require(
            signs.ndim == 2 and signs.shape[1] == coefficients.dim and bool((signs.abs() == 1).all()),
            f"signs must be ±1 of shape (n, {coefficients.dim}), got shape {tuple(signs.shape)}",
        )
        require(len(signs) > 0, "signs must hold at least one point, got none")
        signs = torch.unique(signs.double(), dim=0)
        require(
            len(signs) <= MOST_POINTS,
            f"the training set must have at most {MOST_POINTS} different points for the closed form, got {len(signs)}: "
            f"one matrix of that size would take {said_bytes(8.0 * len(signs) ** 2)}",
        )
        self.signs = signs
        self._coefficients = coefficients
        self._distances = ((signs.shape[1] - signs @ signs.T) / 2).round().long()
        self._order = coefficients.ordered()
        levels = self._find_levels()
        if levels is not None:
            self._use(levels)
        if levels is None or not _ROUNDING * self.condition <= LARGEST_ERROR:
            self._use_graded()
        if not self.error <= LARGEST_ERROR:
            raise InputError(
                f"the functions of the {len(signs)} training points are too close to dependent for float64 (condition "
                f"{self.condition:.2g} after scaling by degree, coefficients known to {self._relative_error:.2g}); "
                "fewer points would do"
            )

    def _use(self, levels: list[Level]) -> None:
        """Take levels, and the Cholesky decomposition of their Gram matrix."""
        self._levels = levels
        self.dimension = sum(level.weights.shape[1] for level in levels)
        gram = self._scaled_gram()
        self._factor, failure = torch.linalg.cholesky_ex(gram)
        self.condition = math.inf if bool(failure) else _condition(gram, self._factor)
        self.error = _ROUNDING * self.condition + 2 * self._relative_error * self.condition**0.5

    def _use_graded(self) -> None:
        """Find the levels by singular values, and factor their functions without a Gram matrix."""
        graded = GradedLevels(self.signs, self._coefficients)
        self._require_reached(graded.left.shape[1])
        self._levels = graded.levels
        self.dimension = sum(level.weights.shape[1] for level in self._levels)
        tail = None if graded.complete else self._scaled_gram(without=graded.used)
        self._factor = graded.factor(tail)
        norms = torch.linalg.vector_norm(self._factor, dim=1)  # of the functions: their lengths lose no digits
        least = float(torch.linalg.svdvals(self._factor / norms[:, None]).min()) if self.dimension else 1.0
        largest = 0.0 if tail is None else float((tail / norms / norms[:, None]).diagonal().sum())
        root = math.inf if least == 0 else self.dimension**0.5 / least
        self.condition = root**2
        self.error = _ROUNDING * (root + graded.spread + largest * root**2) + 2 * self._relative_error * root

    @property
    def ranks(self) -> dict[int, int]:
        """How many directions each degree adds, in the order of the levels."""
        return {level.degree: level.weights.shape[1] for level in self._levels}

    @property
    def least_coefficient(self) -> Real:
        """The smallest |λ| of a degree that has a level; 1 if there is none."""
        return min((abs(self._coefficients.values[level.degree]) for level in self._levels), default=1)

    def weights(self, products: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights w of the projection Σ w_n K(·, a_n) of functions, and the squared norms of these projections.

        In float64. If λ falls by more than its digits between two levels, weights in the later one are rounding.

        Arguments:
            products: inner products of the functions with the K(·, a_n), shape (n, functions).
        """
        blocks = [
            level.weights / (level.sizes * float(self._coefficients.values[level.degree])) for level in self._levels
        ]
        basis = torch.cat([products.new_zeros(len(products), 0), *blocks], 1)
        if not self.dimension:
            return torch.zeros_like(products), products.new_zeros(products.shape[1])
        half = torch.linalg.solve_triangular(self._factor, basis.T @ products, upper=False)
        return basis @ torch.linalg.solve_triangular(self._factor.T, half, upper=True), half.square().sum(0)

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        columns = self.signs.new_zeros(self.dimension, len(parities))
        for degree in {len(T) for T in parities}:
            places = [place for place, T in enumerate(parities) if len(T) == degree]
            values = torch.stack([self.signs[:, list(parities[place])].prod(1) for place in places], 1)
            columns[:, places] = self._projected(degree, values)
        return columns

    def pairing(self, one: int, other: int, matrix: torch.Tensor) -> float:
        r"""A sum of inner products of projected parities, over pairs of parities that are given by a matrix.

        .. math:: \sum_{(T, T')} \langle P\chi_T, P\chi_{T'}\rangle, \qquad
                  M_{nm} = \sum_{(T, T')} \chi_T(a_n)\,\chi_{T'}(a_m)

        Arguments:
            one: the degree of every T.
            other: the degree of every T′.
            matrix: M, shape (n, n), for the points in :attr:`signs`.
        """
        half = self._projected(one, matrix)
        return float(self._projected(other, half.T.contiguous()).trace())

    def _projected(self, degree: int, values: torch.Tensor) -> torch.Tensor:
        """The coordinates for functions of one degree with these values at the training points, shape (n, count)."""
        blocks = [
            self._ratio(degree, level.degree) * (level.weights.T @ values) / level.sizes[:, None]
            if self._reaches(degree, level.degree)
            else values.new_zeros(level.weights.shape[1], values.shape[1])
            for level in self._levels
        ]
        stacked = torch.cat(blocks) if blocks else values.new_zeros(0, values.shape[1])
        return torch.linalg.solve_triangular(self._factor, stacked, upper=False) if self.dimension else stacked

    def _reaches(self, degree: int, level: int) -> bool:
        """Whether functions of a degree have a part in a level: not in those that come after their own."""
        if degree not in self._order:
            return True
        return self._order.index(level) <= self._order.index(degree)

    def _ratio(self, degree: int, level: int) -> float:
        values = self._coefficients.values
        if self._coefficients.exact and degree not in self._order:
            return 0.0
        return float(values[degree] / values[level])

    def _find_levels(self) -> list[Level] | None:
        """The levels from eigenvalues; None if some of these are neither clearly zero nor clearly not zero."""
        n, d = self.signs.shape
        table = krawtchouk(d)
        left = torch.eye(n, dtype=torch.float64)
        levels = []
        for degree in self._order:
            if left.shape[1] == 0:
                break
            share, vectors = self._directions(degree, left)
            if bool(((share > _ZERO) & (share < _NOT_ZERO)).any()):
                return None
            found = share >= _NOT_ZERO
            if not bool(found.any()):
                continue
            sizes = (share[found] * n * float(table[degree][0])).sqrt()
            levels.append(Level(degree, left @ vectors[:, found], sizes))
            left = _beyond(left, vectors[:, found])
        self._require_reached(left.shape[1])
        return levels

    def _require_reached(self, left: int) -> None:
        """Ask that the known coefficients decide all directions: those beyond them are zero in exact kernels only."""
        n, d = self.signs.shape
        if left and not self._coefficients.exact:
            raise InputError(
                f"the kernel's values in float64 decide only {n - left} of {n} directions, because its "
                f"coefficients of {d + 1 - len(self._order)} degrees drown in rounding; at most {n - left} "
                "points would do, or a kernel that is known in extended precision"
            )

    def _directions(self, degree: int, left: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Eigenvalues and eigenvectors of the matrix of one degree among the directions left, relative to its trace.

        All of them, or those that belong to the parities of the degree if these are few.
        """
        n, d = self.signs.shape
        table = krawtchouk(d)
        count = table[degree][0]
        if 2 * count <= left.shape[1]:
            parities = torch.stack(
                [self.signs[:, list(T)].prod(1) for T in itertools.combinations(range(d), degree)], 1
            )
            vectors, singular, _ = torch.linalg.svd(left.T @ parities, full_matrices=False)
            return singular.square() / (n * count), vectors
        matrix = self._looked_up([value / count for value in table[degree]])
        eigenvalues, vectors = torch.linalg.eigh(left.T @ matrix @ left)
        return eigenvalues / n, vectors

    def _scaled_gram(self, without: Sequence[int] = ()) -> torch.Tensor:
        """The Gram matrix of the functions in the basis of levels, without the parts of some degrees."""
        rows = []
        for i, level in enumerate(self._levels):
            tail = self._looked_up(self._tail(level.degree, without))
            product = (level.weights.T @ tail) / level.sizes[:, None]
            row = [
                self._ratio(level.degree, other.degree) * (product @ other.weights) / other.sizes
                for other in self._levels[: i + 1]
            ]
            rows.append(torch.cat(row, 1))
        gram = self.signs.new_zeros(self.dimension, self.dimension)
        start = 0
        for row in rows:
            end = start + len(row)
            gram[start:end, :end] = row
            gram[:end, start:end] = row.T
            start = end
        return gram

    def _tail(self, degree: int, without: Sequence[int] = ()) -> list[float]:
        r"""Σ (λ_j/λ_a)² 𝒦_j(h) over a degree a and all that come after it, those that are not known included."""
        values, table = self._coefficients.values, krawtchouk(self.signs.shape[1])
        before = {*self._order[: self._order.index(degree)], *without}
        with mpmath.workdps(_DIGITS):
            weights = {j: (values[j] / values[degree]) ** 2 for j in range(len(values)) if j not in before}
            return [
                float(mpmath.fsum(weight * table[j][h] for j, weight in weights.items())) for h in range(len(values))
            ]

    def _looked_up(self, by_distance: Sequence[float]) -> torch.Tensor:
        return torch.tensor(by_distance, dtype=torch.float64)[self._distances]

    @property
    def _relative_error(self) -> float:
        """The error of the coefficients, relative to the smallest one that a level has."""
        return float(self._coefficients.error / self.least_coefficient) if self._levels else 0.0


def _beyond(left: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """An orthonormal basis of the span of ``left`` without its directions ``found``, by Householder reflections."""
    if found.shape[1] == left.shape[1]:
        return left[:, :0]
    return torch.ormqr(*torch.geqrf(found), left, left=False)[:, found.shape[1] :]


def _condition(gram: torch.Tensor, factor: torch.Tensor) -> float:
    """The condition number by power iterations with the matrix and with its inverse: right to a few per cent."""
    if len(gram) == 0:
        return 1.0
    largest, smallest = (torch.ones(len(gram), 1, dtype=torch.float64) for _ in range(2))
    largest[::2], smallest[::3] = 0.5, -1.0  # no vector that symmetry could make an eigenvector of something else
    for _ in range(_ITERATIONS):
        largest = gram @ (largest / largest.norm())
        smallest = torch.cholesky_solve(smallest / smallest.norm(), factor)
    return float(largest.norm() * smallest.norm())
