r"""Powers of a squared length as sums of powers of linear forms: how far few summands stay away.

A polynomial of degree 2q is written as :math:`\sum_J \frac{(2q)!}{J!} t_J u^J`. Its catalecticant is the matrix with
the entry :math:`t_{K+K'}` for multi-indices K and K' of degree q. That of :math:`\langle w, u\rangle^{2q}` has the
entries :math:`w^K w^{K'}` and rank one. So a sum of r such powers has rank at most r.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import torch

Index: TypeAlias = tuple[int, ...]
"""A multi-index: the exponents of a monomial."""

LARGEST_MATRIX = 300
"""The most rows of a catalecticant whose singular values are computed; beyond, a closed form serves."""

_TILTS = tuple(i / 4 for i in range(13))
"""What is tried for s in :func:`weighted_tails`."""


def indices(dim: int, degree: int) -> list[Index]:
    """All multi-indices of a degree.

    >>> indices(2, 2)
    [(2, 0), (1, 1), (0, 2)]
    """
    places = itertools.combinations_with_replacement(range(dim), degree)
    return [tuple(chosen.count(i) for i in range(dim)) for chosen in places]


def factorial(index: Index) -> int:
    """The product of the factorials of the exponents."""
    return math.prod(map(math.factorial, index))


def sphere_entry(index: Index) -> Fraction:
    r"""The entry :math:`t_J` of :math:`(u_1^2 + u_2^2 + \dots)^q`, where J has degree 2q.

    >>> sphere_entry((4, 0)), sphere_entry((2, 2)), sphere_entry((3, 1))
    (Fraction(1, 1), Fraction(1, 3), Fraction(0, 1))
    """
    if any(j % 2 for j in index):
        return Fraction(0)
    half = sum(index) // 2
    coefficient = math.factorial(half) // factorial(tuple(j // 2 for j in index))
    return Fraction(coefficient * factorial(index), math.factorial(2 * half))


def sphere_spectrum(dim: int, half: int) -> list[tuple[Fraction, int]]:
    r"""The eigenvalues of the catalecticant of :math:`\|u\|^{2q}` as a map of symmetric tensors, largest first.

    It commutes with rotations, so its eigenspaces are :math:`\|u\|^{2j}` times the harmonic polynomials of degree
    :math:`m = q - 2j`, with the eigenvalue

    .. math:: \mu_j = \frac{d(d+2)\cdots(d+2q-2)}{(2q-1)!!} \cdot
              \frac{q!}{\prod_{i=1}^{j} 2i(d+2m+2i-2)\,\prod_{i=0}^{m-1} (d+2i)}

    Arguments:
        dim: d.
        half: q.

    Returns:
        Each eigenvalue with its multiplicity.

    >>> sphere_spectrum(4, 2)
    [(Fraction(2, 1), 1), (Fraction(2, 3), 9)]
    """
    scale = Fraction(math.prod(range(dim, dim + 2 * half, 2)), math.prod(range(1, 2 * half, 2)))
    found = []
    for j in range(half // 2 + 1):
        m = half - 2 * j
        below = math.prod(2 * i * (dim + 2 * m + 2 * i - 2) for i in range(1, j + 1))
        below *= math.prod(dim + 2 * i for i in range(m))
        many = math.comb(dim + m - 1, m) - (math.comb(dim + m - 3, m - 2) if m >= 2 else 0)
        if many:
            found.append((scale * math.factorial(half) / below, many))
    return sorted(found, reverse=True)


def sphere_norm(dim: int, half: int) -> Fraction:
    r"""The squared norm of the tensor of :math:`\|u\|^{2q}`, from :math:`\Delta^q \|u\|^{2q}` alone.

    .. math:: \|T\|^2 = \frac{1}{(2q)!} \prod_{i=1}^q 2i(d+2i-2)

    >>> sphere_norm(4, 2), sum(many * value**2 for value, many in sphere_spectrum(4, 2))
    (Fraction(8, 1), Fraction(8, 1))
    """
    return Fraction(math.prod(2 * i * (dim + 2 * i - 2) for i in range(1, half + 1)), math.factorial(2 * half))


def monomial_weight(index: Index, squares: bool) -> int:
    r"""What :math:`t_J^2` counts in the mean square of the part of the highest degree, for Gaussian x.

    .. math:: \omega_J = \Bigl(\frac{(2q)!}{J!}\Bigr)^2 \cdot (2J)! \text{ for } u = x^2, \qquad
              \omega_J = \Bigl(\frac{(2q)!}{J!}\Bigr)^2 \cdot J! \text{ for } u = x

    since the part of highest degree is in Hermite polynomials what it is in monomials, and :math:`E\,He_I^2 = I!`.
    """
    size = factorial(tuple(2 * j for j in index)) if squares else factorial(index)
    return (math.factorial(sum(index)) // factorial(index)) ** 2 * size


def uniform_factor(dim: int, half: int, squares: bool) -> int:
    r"""The largest number θ with :math:`\sum_J \omega_J t_J^2 \ge \theta \|T\|^2` for every symmetric tensor.

    .. math:: \theta = (2q)! \min_J \frac{(2J)!}{J!} \text{ for } u = x^2, \qquad \theta = (2q)! \text{ for } u = x

    The minimum is at the J whose entries differ by at most one: 2^{2q} if d ≥ 2q.

    >>> uniform_factor(4, 2, squares=True), uniform_factor(4, 2, squares=False)
    (384, 24)
    """
    least, more = divmod(2 * half, dim)
    even = (least + 1,) * more + (least,) * (dim - more)
    return math.factorial(2 * half) * (factorial(tuple(2 * j for j in even)) // factorial(even) if squares else 1)


def uniform_tail(dim: int, half: int, squares: bool, rank: int) -> Fraction:
    """θ times the sum of all squared eigenvalues but the largest few (Eckart and Young).

    Arguments:
        dim: d.
        half: q.
        squares: whether u = x².
        rank: how many are left out.
    """
    left, total = rank, Fraction(0)
    for value, many in sphere_spectrum(dim, half):
        taken = min(left, many)
        left -= taken
        total += (many - taken) * value**2
    return uniform_factor(dim, half, squares) * total


@functools.lru_cache(maxsize=32)
def weighted_tails(dim: int, half: int, squares: bool) -> torch.Tensor:
    r"""What r powers of linear forms leave of a power of a squared length at least, for r from 0 to the rank.

    .. math:: \sum_J \omega_J \bigl(t_J - \tilde t_J\bigr)^2, \qquad
              t \text{ of } \|u\|^{2q}, \quad \tilde t \text{ of } \sum_{i \le r} a_i \langle w_i, u\rangle^{2q}

    is the mean square of the highest part of their difference. For any positive numbers :math:`D_K` with
    :math:`\sum_{K+K'=J} D_K D_{K'} \le \omega_J` for every J, it is at least the squared norm of
    :math:`D^{1/2} (C - M) D^{1/2}`, where M has rank at most r. So it is at least the sum of the squared singular
    values of :math:`D^{1/2} C D^{1/2}` beyond the first r. Here

    .. math:: D_K = \theta \frac{q!}{K!} \Bigl(\frac{(2K)!}{K!\,2^q}\Bigr)^s

    with the largest θ that is allowed, and the best of several s ≥ 0 for each r. At s = 0 this is
    :func:`uniform_tail`.

    Arguments:
        dim: d.
        half: q.
        squares: whether u = x².
    """
    rows = indices(dim, half)
    place = {J: i for i, J in enumerate(indices(dim, 2 * half))}
    pairs = torch.tensor([[place[added(a, b)] for b in rows] for a in rows])
    entries = torch.tensor([float(sphere_entry(J)) for J in place], dtype=torch.float64)[pairs]
    allowed = torch.tensor([float(monomial_weight(J, squares)) for J in place], dtype=torch.float64)
    found = [torch.zeros(len(rows) + 1, dtype=torch.float64)]
    for tilt in _TILTS:
        D = torch.tensor([_weight(K, tilt) for K in rows], dtype=torch.float64)
        used = torch.zeros_like(allowed).index_add_(0, pairs.flatten(), torch.outer(D, D).flatten())
        # The largest multiple that the condition on D allows: it holds with equality at one J.
        D = D * (allowed / used).min().sqrt()
        values = torch.linalg.svdvals(D.sqrt()[:, None] * entries * D.sqrt()).square()
        # Summed from the smallest on, so that the small tails keep their digits.
        found.append(torch.cat([values.flip(0).cumsum(0).flip(0), values.new_zeros(1)]))
    # Each tilt gives a bound that holds, so the best may differ from r to r.
    return torch.stack(found).amax(0)


def added(a: Index, b: Index) -> Index:
    """The sum of two multi-indices."""
    return tuple(i + j for i, j in zip(a, b, strict=True))


def nearest(dim: int, half: int, squares: bool, neurons: torch.Tensor) -> float:
    r"""What given directions leave of a power of a squared length with the best a: the sum in :func:`weighted_tails`.

    Arguments:
        dim: d.
        half: q.
        squares: whether u = x².
        neurons: the w, (r, d).
    """
    every = indices(dim, 2 * half)
    root = torch.tensor([math.sqrt(monomial_weight(J, squares)) for J in every], dtype=torch.float64)
    powers = torch.stack([(neurons ** torch.tensor(J)).prod(1) for J in every]) * root[:, None]
    wanted = torch.tensor([float(sphere_entry(J)) for J in every], dtype=torch.float64) * root
    # Equal or opposite directions give equal powers; gelsd takes matrices without full rank.
    found = torch.linalg.lstsq(powers, wanted[:, None], driver="gelsd").solution
    return float((powers @ found - wanted[:, None]).square().sum())


def spread(dim: int, count: int) -> Iterator[Index]:
    """The first few of all ways to choose one coordinate, or two with a sign: directions that summands may have."""
    ones = (tuple(int(i == k) for i in range(dim)) for k in range(dim))
    # These are where powers of few coordinates begin: ⟨u, e_a ± e_b⟩ has the mixed terms that single coordinates lack.
    twos = (
        tuple(int(i == a) + sign * int(i == b) for i in range(dim))
        for a, b in itertools.combinations(range(dim), 2)
        for sign in (1, -1)
    )
    return itertools.islice(itertools.chain(ones, twos), count)


def _weight(K: Index, tilt: float) -> float:
    """D_K up to a factor: what has the exponent s is divided by its largest value, so that it cannot overflow."""
    half, doubled = sum(K), factorial(tuple(2 * k for k in K))
    largest = math.factorial(2 * half) // math.factorial(half)
    return math.factorial(half) / factorial(K) * (doubled / (factorial(K) * largest)) ** tilt
