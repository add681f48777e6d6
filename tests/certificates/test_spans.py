"""How much of a parity lies in a span: closed form, enumeration, extended precision and literal least squares."""

import numpy as np
import pytest
import torch

from beyondkernels import kernels
from beyondkernels.certificates import DegreeSpan, EnumeratedSpan, degree_coefficients, krawtchouk
from beyondkernels.certificates.extended_span import ExtendedSpan
from beyondkernels.certificates.least_squares import LeastSquaresSpan
from beyondkernels.certificates.span import require_enumerable
from beyondkernels.core import Stream
from beyondkernels.data.inputs import corners
from refusals import refused

PARITIES = [(0,), (3,), (0, 1), (1, 2, 3), (0, 2, 4, 5)]
KERNELS = (
    kernels.Gaussian(1.0),
    kernels.Laplace(1.0),
    kernels.PolynomialKernel(degree=3),
    kernels.InversePolynomial(),
    kernels.Arcsin(),
    kernels.InfiniteConjugate(depth=3),
    kernels.InfiniteTangent(depth=2),
    kernels.Correlation(torch.exp),
)


def distinct(d: int, n: int, seed: int = 0) -> torch.Tensor:
    return corners(d)[Stream(seed).permutation(2**d)[:n]]


def products(span) -> torch.Tensor:
    """All inner products of the projected parities: the same in every basis."""
    B = span.coordinates(PARITIES)
    assert B.shape == (span.dimension, len(PARITIES))
    return B.T @ B


def literal(values: torch.Tensor, d: int) -> torch.Tensor:
    """The same from least squares, one parity after the other."""
    F = values.numpy()
    fits = []
    for T in PARITIES:
        chi = corners(d)[:, list(T)].prod(1).numpy()
        w, *_ = np.linalg.lstsq(F, chi, rcond=1e-12)
        fits.append(F @ w)
    return torch.tensor([[np.mean(one * other) for other in fits] for one in fits])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize(("d", "n"), [(6, 1), (6, 12), (8, 60), (7, 90)])
def test_closed_form_and_enumeration_agree(kernel, d, n):
    a = distinct(d, n)
    values = kernel(corners(d) / d**0.5, a / d**0.5)
    closed, listed = DegreeSpan(a, degree_coefficients(kernel, d)), EnumeratedSpan(corners(d), values)
    assert closed.dimension == listed.dimension
    assert sum(closed.ranks.values()) == closed.dimension
    assert torch.allclose(products(closed), products(listed), rtol=0, atol=1e-9)
    assert torch.allclose(products(closed), literal(values, d), rtol=0, atol=1e-9)


@pytest.mark.parametrize("bandwidth", [1.0, 1e3, 1e9])
def test_directions_far_below_rounding_still_count(bandwidth):
    d, n = 8, 24
    a = distinct(d, n)
    found = degree_coefficients(kernels.Gaussian(bandwidth), d)
    closed, extended = DegreeSpan(a, found), ExtendedSpan(a, found)
    assert closed.dimension == extended.dimension == n
    assert torch.allclose(products(closed), products(extended), rtol=0, atol=1e-12)


def test_a_product_of_points_and_kernel_factorises():
    # points that differ in the second sign alone: the functions are g(x₁)·(any function of x₂)·g(x₃)
    d = 3
    a = torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    span = DegreeSpan(a, degree_coefficients(kernels.Gaussian(1.0), d))
    e = np.exp(-4 / d)
    p = (1 + e) ** 2 / ((1 + e) ** 2 + (1 - e) ** 2)
    found = span.coordinates([(), (0,), (1,), (0, 1), (0, 2)]).square().sum(0)
    assert found.tolist() == pytest.approx([p * p, (1 - p) * p, p * p, (1 - p) * p, (1 - p) ** 2])


def test_equal_and_opposite_points():
    d, n = 6, 8
    a = distinct(d, n)
    found = degree_coefficients(kernels.Arcsin(), d)
    once = products(DegreeSpan(a, found))
    twice = DegreeSpan(torch.cat([a, a, -a]), found)  # the arcsin kernel is odd: opposite points add nothing
    assert twice.dimension == DegreeSpan(a, found).dimension
    assert torch.allclose(products(twice), once, atol=1e-12)


def rank_modulo_a_prime(matrix: list[list[int]], prime: int = 2**31 - 1) -> int:
    """The rank of a matrix of whole numbers by elimination without rounding."""
    rows, rank = [[entry % prime for entry in row] for row in matrix], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, prime)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] * inverse % prime
            if factor:
                rows[i] = [(a - factor * b) % prime for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("kernel", [KERNELS[1], KERNELS[4]], ids=["laplace", "arcsin"])
def test_the_ranks_of_degrees_are_exact(kernel, structured):
    d = 9
    a = torch.cat([corners(5), torch.ones(32, 4)], 1) if structured else distinct(d, 50)
    span = DegreeSpan(a, degree_coefficients(kernel, d))
    distances = ((d - span.signs @ span.signs.T) / 2).round().long().tolist()
    seen, total = [0] * (d + 1), 0
    for degree, rank in span.ranks.items():
        seen = [value + more for value, more in zip(seen, krawtchouk(d)[degree], strict=True)]
        total += rank  # a sum of positive matrices is zero only where all of them are
        assert total == rank_modulo_a_prime([[seen[h] for h in row] for row in distances])
    assert total == span.dimension


def test_the_condition_number_is_estimated():
    a = distinct(8, 60)
    span = DegreeSpan(a, degree_coefficients(kernels.Laplace(1.0), 8))
    assert span.condition == pytest.approx(float(torch.linalg.cond(span._factor)) ** 2, rel=0.1)
    assert DegreeSpan(a[:1], degree_coefficients(kernels.Laplace(1.0), 8)).condition == pytest.approx(1)


def test_sums_over_parities_by_a_matrix():
    d, n = 6, 20
    a = distinct(d, n)
    span = DegreeSpan(a, degree_coefficients(kernels.InfiniteTangent(depth=3), d))
    pairs = [((0,), (0, 1, 2)), ((3,), (0, 1, 2)), ((1,), (2, 3, 5))]
    values = [(span.signs[:, list(T)].prod(1), span.signs[:, list(U)].prod(1)) for T, U in pairs]
    matrix = torch.stack([torch.outer(*pair) for pair in values]).sum(0)
    expected = sum(float(span.coordinates([T])[:, 0] @ span.coordinates([U])[:, 0]) for T, U in pairs)
    assert span.pairing(1, 3, matrix) == pytest.approx(expected, abs=1e-12)


def flat(rho: torch.Tensor) -> torch.Tensor:
    return (rho / 100).exp()


def test_a_kernel_of_floats_is_refused_beyond_its_digits():
    refused(r"only \d+ of 64 directions", DegreeSpan, corners(6), degree_coefficients(kernels.Correlation(flat), 6))
    refused("coefficients known to", DegreeSpan, corners(9), degree_coefficients(kernels.Correlation(torch.exp), 9))


def test_functions_that_are_almost_dependent_are_refused():
    x = corners(4)
    values = torch.stack([x[:, 0], x[:, 0] + 1e-11 * x[:, 1]], 1)
    refused("too close to dependent", EnumeratedSpan, x, values)


def test_functions_that_are_zero_or_equal():
    x = corners(4)
    span = EnumeratedSpan(x, torch.stack([x[:, 0], 0 * x[:, 0], x[:, 0]], 1))
    assert (span.dimension, span.left_out) == (1, 1)
    assert EnumeratedSpan(x, torch.zeros(16, 2, dtype=torch.float64)).coordinates([(0,)]).shape == (0, 1)


def test_pivoted_least_squares():
    d = 6
    values = kernels.Laplace(1.0)(corners(d), distinct(d, 15))
    one, other = EnumeratedSpan(corners(d), values), LeastSquaresSpan(corners(d), values)
    assert torch.allclose(products(one), products(other), atol=1e-12)


def test_a_large_cube_says_what_it_would_take():
    refused(r"40 coordinates and 10 functions: this would take 8.*GiB and about \d+ hours", require_enumerable, 40, 10)
    refused("16384 functions", require_enumerable, 16, 2**14)


def test_the_whole_cube_spans_everything():
    d = 7
    span = DegreeSpan(corners(d), degree_coefficients(kernels.Gaussian(1.0), d))
    assert span.dimension == 2**d
    assert torch.allclose(products(span), torch.eye(len(PARITIES), dtype=torch.float64), atol=1e-9)


def test_points_must_be_signs():
    found = degree_coefficients(kernels.Gaussian(1.0), 3)
    refused(r"signs must be ±1 of shape \(n, 3\)", DegreeSpan, torch.ones(2, 4), found)
    refused("at least one point", DegreeSpan, torch.ones(0, 3), found)
