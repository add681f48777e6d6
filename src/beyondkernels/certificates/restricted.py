"""The parities of a cube on a training set, each once: coordinates that are equal there give equal parities."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import torch

from beyondkernels.certificates.span import MOST_VALUES, said_bytes
from beyondkernels.core import InputError, require

Key = tuple[int, ...]
"""For each size of classes, how many classes of that size a product takes."""

_MOST_KINDS = 4096
"""The most keys: of classes that all have one size there are at most d + 1."""


class RestrictedParities:
    r"""All parities at some training points, sorted by what they are there.

    Coordinates that are equal or opposite at all training points form a class. A class of size s gives a parity
    :math:`\chi_T` the factor :math:`\pm 1`, or the sign of the class if T holds an odd number of its members. So on
    the training set :math:`\chi_T = \pm\chi_U` with the set U of the classes that T meets an odd number of times, and

    .. math:: \mathcal K_j(h) = \sum_U m_j(U)\,\chi_U\,\chi_U^\top, \qquad
              m_j(U) = [z^j]\;(1 + z)^{s_0} \prod_{c \in U} \text{odd}\,(1 + z)^{s_c}
                       \prod_{c \notin U} \text{even}\,(1 + z)^{s_c}

    where :math:`s_0` coordinates are constant. If no two coordinates agree, U is T and :math:`m_j(U)` is 1 for
    :math:`j = |U|`. In a subcube of few dimensions there are few U, however large d is.

    Arguments:
        signs: the training points, shape (n, d), entries ±1.

    >>> parities = RestrictedParities(torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0]]))
    >>> parities.classes, parities.multiplicities((0,)), parities.multiplicities((1,))
    (1, [1, 1, 1, 1], [0, 2, 2, 0])
    """

    def __init__(self, signs: torch.Tensor):
        alike = signs * signs[:1]  # equal and opposite coordinates become equal
        found, counts = torch.unique(alike, dim=1, return_counts=True)
        constant = (found == 1).all(0)
        self.points, self._dim = signs.shape
        self._constant = int(counts[constant].sum())
        sizes = counts[~constant].tolist()
        self._sizes = sorted(set(sizes))
        columns = found[:, ~constant]
        self._groups = [columns[:, [i for i, size in enumerate(sizes) if size == s]] for s in self._sizes]
        self.classes = len(sizes)
        kinds = math.prod(group.shape[1] + 1 for group in self._groups)
        require(
            kinds <= _MOST_KINDS,
            f"the training points must repeat coordinates in at most {_MOST_KINDS} ways to be resolved beyond float64, "
            f"got {kinds} ways; another number of points would do",
        )

    def every_key(self) -> Iterator[Key]:
        """All keys, those with few classes first."""
        ranges = [range(group.shape[1] + 1) for group in self._groups]
        return iter(sorted(itertools.product(*ranges), key=lambda key: (sum(key), key)))

    def count(self, key: Key) -> int:
        return math.prod(math.comb(group.shape[1], taken) for group, taken in zip(self._groups, key, strict=True))

    def multiplicities(self, key: Key) -> list[int]:
        """m_0(U), …, m_d(U) for every U of a key."""
        odd = [_power(_half(size, 1), taken) for size, taken in zip(self._sizes, key, strict=True)]
        even = [
            _power(_half(size, 0), group.shape[1] - taken)
            for size, group, taken in zip(self._sizes, self._groups, key, strict=True)
        ]
        constant = [math.comb(self._constant, i) for i in range(self._constant + 1)]
        found = functools.reduce(_times, (*odd, *even), constant)
        return found + [0] * (self._dim + 1 - len(found))

    def products(self, key: Key) -> torch.Tensor:
        """The values of all products of a key at the training points, shape (n, products)."""
        values = self._groups[0].new_ones(self.points, 1) if self._groups else torch.ones(self.points, 1).double()
        for group, taken in zip(self._groups, key, strict=True):
            chosen = list(itertools.combinations(range(group.shape[1]), taken))
            more = torch.stack([group[:, list(places)].prod(1) for places in chosen], 1)
            values = (values[:, :, None] * more[:, None, :]).reshape(self.points, -1)
        return values

    def require_few(self, products: int) -> None:
        """Ask that so many products can be held at once."""
        size = self.points * products
        if size > MOST_VALUES:
            raise InputError(
                f"directions of the {self.points} training points are too short for float64, and {products} parities "
                f"at these points would have to be held to resolve them: {said_bytes(8.0 * size)}; another number of "
                "points would do"
            )


def _half(size: int, odd: int) -> tuple[int, ...]:
    """The odd or the even part of (1 + z)^size."""
    return tuple(math.comb(size, i) if i % 2 == odd else 0 for i in range(size + 1))


def _times(one: Sequence[int], other: Sequence[int]) -> list[int]:
    out = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        if a:
            for j, b in enumerate(other):
                out[i + j] += a * b
    return out


@functools.lru_cache(maxsize=4096)
def _power(polynomial: tuple[int, ...], exponent: int) -> list[int]:
    return functools.reduce(_times, [polynomial] * exponent, [1])
