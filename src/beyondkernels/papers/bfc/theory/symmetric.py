"""Symmetric tensors: the product ∗, the operator Sym, and how far a polynomial determines its matrix."""

from __future__ import annotations

import functools
import itertools
import math

import torch

from beyondkernels.core import require


def pairs(n: int) -> list[tuple[int, int]]:
    """The coordinates {i, j} of a symmetric tensor, i ≤ j, in their order.

    >>> pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return list(itertools.combinations_with_replacement(range(n), 2))


def star(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    r"""The symmetric tensor product of vectors, row by row for matrices.

    .. math:: [x * y]_{\{i,j\}} = a_{ij}\,\frac{x_i y_j + x_j y_i}{2}, \qquad a_{ii} = 1,\quad a_{ij} = \sqrt 2

    for i ≤ j. The definition in the paper prints :math:`x_i x_j` for the product, which is the case y = x. Then
    :math:`\langle x, y\rangle^2 = \langle x * x, y * y\rangle`, and for a matrix :math:`(R * R)(z * z) = \sigma(Rz)`
    with σ(z) = z².

    Arguments:
        x: vectors of dimension n, (…, n).
        y: vectors of the same shape; x itself unless given.

    Returns:
        (…, n(n + 1)/2), the coordinates as in :func:`pairs`.

    >>> star(torch.tensor([1.0, 2.0], dtype=torch.float64))
    tensor([1.0000, 2.8284, 4.0000], dtype=torch.float64)

    Reference: Allen-Zhu & Li (bfc), Definition C.2.
    """
    y = x if y is None else y
    require(x.shape == y.shape, f"x and y must have one shape, got {tuple(x.shape)} and {tuple(y.shape)}")
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1])
    return weights(x.shape[-1]).to(x) * (x[..., i] * y[..., j] + x[..., j] * y[..., i]) / 2


def weights(n: int) -> torch.Tensor:
    """a_{ij}, one for each of :func:`pairs`."""
    i, j = torch.triu_indices(n, n)
    return torch.where(i == j, 1.0, math.sqrt(2)).double()


def induced(U: torch.Tensor) -> torch.Tensor:
    r"""The matrix by which symmetric tensors move when vectors are multiplied by U.

    .. math:: Uz * Uz = P(U)\,(z * z), \qquad RU * RU = (R * R)\,Q \quad\text{with}\quad Q = P(U^\top)^\top

    Where U is unitary, so are P and Q. This is Lemma C.5, and it holds for any number of rows of R.

    Arguments:
        U: (m, n).

    Returns:
        P(U), (m(m + 1)/2, n(n + 1)/2).

    >>> induced(2 * torch.eye(1))
    tensor([[4.]])

    Reference: Allen-Zhu & Li (bfc), Lemma C.5.
    """
    m, n = U.shape
    (i, j), (p, q) = torch.triu_indices(m, m), torch.triu_indices(n, n)
    products = U[i][:, p] * U[j][:, q] + U[i][:, q] * U[j][:, p]
    return weights(m).to(U)[:, None] * products * weights(n).to(U) / 2


def sym(M: torch.Tensor) -> torch.Tensor:
    r"""The twice-symmetric version of a matrix: it averages over all ways to divide four indices into two pairs.

    .. math:: \mathrm{Sym}(M)_{\{i,j\},\{k,l\}} = \frac{1}{a_{ij}\,a_{kl}\,|C|}
              \sum_{(\{p,q\},\{r,s\}) \in C} a_{pq}\,a_{rs}\,M_{\{p,q\},\{r,s\}}

    where C holds the ordered pairs of {p, q} and {r, s} with {p, q, r, s} = {i, j, k, l}. Two matrices have one Sym if
    and only if :math:`(z * z)^\top M (z * z)` is one polynomial in z. With :math:`\mathcal C_z`, the sum of its squared
    coefficients,

    .. math:: \|\mathrm{Sym}(M)\|_F^2 \le \mathcal C_z\bigl((z * z)^\top M (z * z)\bigr) \le 24\,\|M\|_F^2 .

    The paper adds that Sym(M) = M for a symmetric M that is zero unless i = j and k = l. That is not so:
    :math:`x_1^2 x_2^2` also stands for the entry {1, 2}, {1, 2}, and Sym gives it a third. What holds is
    :math:`\|M\|_F^2 / 2 \le \|\mathrm{Sym}(M)\|_F^2 \le \|M\|_F^2` for such M, which serves where it is used (F.19).

    Arguments:
        M: (n(n + 1)/2, n(n + 1)/2).

    >>> sym(torch.diag(torch.tensor([1.0, 0.0, 0.0]))).diag()
    tensor([1., 0., 0.], dtype=torch.float64)

    Reference: Allen-Zhu & Li (bfc), Definition C.3 and Fact C.4.
    """
    n = _vectors(M)
    of_class, sizes, a = _classes(n)
    weighted = torch.outer(a, a) * M.double()
    sums = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, of_class.flatten(), weighted.flatten())
    return (sums / sizes)[of_class] / torch.outer(a, a)


def quartic(M: torch.Tensor) -> dict[tuple[int, ...], float]:
    r"""The coefficients of :math:`(z * z)^\top M (z * z)` by the four indices of their monomials, in rising order.

    Arguments:
        M: (n(n + 1)/2, n(n + 1)/2).

    >>> quartic(torch.eye(1))
    {(0, 0, 0, 0): 1.0}
    """
    at, a = pairs(_vectors(M)), weights(_vectors(M))
    found: dict[tuple[int, ...], float] = {}
    for p, q in itertools.product(range(len(at)), repeat=2):
        indices = tuple(sorted((*at[p], *at[q])))
        found[indices] = found.get(indices, 0.0) + float(a[p] * a[q] * M[p, q])
    return found


@functools.cache
def _classes(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each two pairs which four indices they are, how many ways each four can be divided, and the weights."""
    at = torch.tensor(pairs(n))
    P = len(at)
    fours = torch.cat([at[:, None].expand(P, P, 2), at[None].expand(P, P, 2)], 2).sort(2).values
    keys = (fours * n ** torch.arange(4)).sum(2)
    _, of_class, sizes = keys.unique(return_inverse=True, return_counts=True)
    return of_class, sizes.double(), weights(n)


def _vectors(M: torch.Tensor) -> int:
    """The dimension of the vectors whose symmetric tensors a matrix maps."""
    P = M.shape[0]
    n = (math.isqrt(8 * P + 1) - 1) // 2
    square = M.ndim == 2 and M.shape == (P, P) and n * (n + 1) // 2 == P > 0
    require(square, f"M must be square with n(n + 1)/2 rows, got shape {tuple(M.shape)}")
    return n
