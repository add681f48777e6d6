"""Training sets whose directions float64 eigenvalues cannot tell from zero, and the parities that decide them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels import kernels
from beyondkernels.certificates import (
    DegreeSpan,
    EnumeratedSpan,
    certify,
    degree_coefficients,
    krawtchouk,
    restricted as restricted_module,
)
from beyondkernels.certificates.graded import GradedLevels
from beyondkernels.certificates.restricted import RestrictedParities
from beyondkernels.core import InputError, Stream
from beyondkernels.data.inputs import corners
from beyondkernels.papers.resnet.problems import HardInstance
from refusals import refused

KERNELS = (
    kernels.Gaussian(1.0),
    kernels.Gaussian(0.03),
    kernels.Gaussian(1e6),
    kernels.Laplace(1.0),
    kernels.PolynomialKernel(degree=3),
    kernels.Arcsin(),
    kernels.InfiniteTangent(depth=3),
    kernels.PolynomialKernel(1, offset=0.0) + kernels.PolynomialKernel(4, offset=0.0),
)

UNDECIDED = [
    (kernels.Laplace(1.0), 9, 46, 2),
    (kernels.Laplace(1.0), 8, 93, 454),
    (kernels.Laplace(1.0), 8, 163, 210),
    (kernels.Gaussian(1.0), 10, 386, 53),
    (kernels.PolynomialKernel(4), 11, 562, 23),
    (kernels.Gaussian(1.0), 10, 177, 189),
]
"""As many points as parities up to some degree, or one more: a square matrix of signs can be nearly singular."""


class Graded(DegreeSpan):
    """A span that uses singular values, whatever the eigenvalues show."""

    def _find_levels(self):
        return None


def distinct(d: int, n: int, seed: int) -> torch.Tensor:
    return corners(d)[Stream(seed).permutation(2**d)[:n]]


def products(span, d: int) -> torch.Tensor:
    B = span.coordinates([(0,), (1,), (0, 1), (0, 1, 2), tuple(range(min(d, 4)))])
    return B.T @ B


@pytest.mark.parametrize(("kernel", "d", "n", "seed"), UNDECIDED)
def test_sets_that_eigenvalues_do_not_decide(kernel, d, n, seed):
    a = distinct(d, n, seed)
    span = DegreeSpan(a, degree_coefficients(kernel, d))
    assert span._find_levels() is None
    listed = EnumeratedSpan(corners(d), kernel(corners(d) / d**0.5, a / d**0.5))
    assert span.dimension == listed.dimension == n
    assert span.error < 1e-9
    unit = span._factor / torch.linalg.vector_norm(span._factor, dim=1, keepdim=True)  # its norm is at most √n
    assert span.condition == pytest.approx(n * float(torch.linalg.matrix_norm(torch.linalg.inv(unit), 2)) ** 2)
    assert torch.allclose(products(span, d), products(listed, d), rtol=0, atol=1e-11)


def test_a_subcube_of_a_large_cube():
    # in degree 5 of 56 coordinates, products of five of the 8 that vary are a millionth of all parities
    d, r, n = 56, 8, 163
    signs = torch.cat([distinct(r, n, 19), torch.ones(n, d - r, dtype=torch.float64)], 1)
    span = DegreeSpan(signs, degree_coefficients(kernels.Laplace(1.0), d))
    assert span._find_levels() is None
    assert span.dimension == n
    problem = HardInstance(dim=d, outputs=3, alpha=0.3)
    certificate = certify(kernels.Laplace(1.0), problem, signs / d**0.5, targets=3)
    verified = certificate.verify()
    assert "whole numbers" in verified.route
    assert verified.difference < 1e-12


@settings(max_examples=40)
@given(st.data())
def test_no_training_set_of_the_cube_is_refused(data):
    d = data.draw(st.integers(3, 12), label="d")
    kernel = data.draw(st.sampled_from(KERNELS), label="kernel")
    sums = [sum(math.comb(d, i) for i in range(j + 1)) for j in range(d + 1)]
    n = data.draw(st.integers(1, min(2**d, 300)) | st.sampled_from([s for s in sums if s <= 800]), label="n")
    kind = data.draw(st.sampled_from(["distinct", "drawn", "subcube", "near", "opposite", "repeated"]), label="kind")
    stream = Stream(data.draw(st.integers(0, 2**20), label="seed"))
    if kind == "distinct":
        a = corners(d)[stream.permutation(2**d)[:n]]
    else:
        positive = 0.9 if kind == "near" else 0.5
        a = torch.where(stream.uniform(n, d, dtype=torch.float64) < positive, 1.0, -1.0).double()
    if kind == "subcube":
        a[:, d // 2 :] = 1
    if kind == "repeated":
        a[:, 0] = -a[:, 1]
    if kind == "opposite":
        a = torch.cat([a, -a, a[:3]])
    found = degree_coefficients(kernel, d)
    span, graded = DegreeSpan(a, found), Graded(a, found)
    assert span.ranks == graded.ranks
    assert torch.allclose(products(span, d), products(graded, d), rtol=0, atol=1e-9)
    if 2**d * len(span.signs) > 2**20:
        return
    try:
        listed = EnumeratedSpan(corners(d), kernel(corners(d) / d**0.5, span.signs / d**0.5))
    except InputError:
        return  # values in float64 do not show all directions of smooth kernels
    if listed.left_out == len(span.signs) - span.dimension:
        assert torch.allclose(products(graded, d), products(listed, d), rtol=0, atol=max(1e-9, 10 * listed.error))


@pytest.mark.parametrize("d", [20, 30])
def test_degrees_beyond_the_levels_enter_as_a_gram_matrix(d):
    # more than 16 coordinates: the products of all of them are too many
    found = degree_coefficients(kernels.Laplace(1.0), d)
    a = torch.where(Stream(d).uniform(120, d) < 0.5, 1.0, -1.0).double()
    span, graded = DegreeSpan(a, found), Graded(a, found)
    assert not GradedLevels(a, found).complete
    assert torch.allclose(products(span, d), products(graded, d), rtol=0, atol=1e-12)


def test_restricted_parities_are_all_parities():
    d = 7
    a = distinct(4, 9, 3)
    a = torch.cat([a, a[:, :1], -a[:, :1], torch.ones(9, 1, dtype=torch.float64)], 1)  # classes of 3, 1, 1, 1 and 1
    parities = RestrictedParities(a)
    assert parities.classes == 4
    distances = ((d - a @ a.T) / 2).round().long()
    for degree in range(d + 1):
        rebuilt = torch.zeros(9, 9, dtype=torch.float64)
        for key in parities.every_key():
            values = parities.products(key)
            assert values.shape[1] == parities.count(key)
            rebuilt += parities.multiplicities(key)[degree] * values @ values.T
        columns = [a[:, list(T)].prod(1) for T in itertools.combinations(range(d), degree)]
        literal = torch.stack([torch.outer(chi, chi) for chi in columns]).sum(0)
        assert torch.equal(rebuilt, literal)
        assert torch.equal(rebuilt, torch.tensor(krawtchouk(d)[degree], dtype=torch.float64)[distances])


def test_directions_left_are_zero_for_every_parity_so_far():
    d, n = 9, 60
    graded = GradedLevels(distinct(d, n, 2), degree_coefficients(kernels.PolynomialKernel(2), d))
    a = distinct(d, n, 2)
    assert graded.left.shape[1] == n - sum(level.weights.shape[1] for level in graded.levels) == 14
    P = torch.stack([a[:, list(T)].prod(1) for j in range(3) for T in itertools.combinations(range(d), j)], 1)
    assert float((P.T @ graded.left).abs().max()) < 5e-15


def test_what_memory_does_not_hold_is_refused(monkeypatch):
    monkeypatch.setattr(restricted_module, "MOST_VALUES", 1000)
    kernel, d, n, seed = UNDECIDED[0]
    with pytest.raises(InputError, match=r"46 training points are too short for float64, and \d+ parities"):
        DegreeSpan(distinct(d, n, seed), degree_coefficients(kernel, d))
    monkeypatch.setattr(restricted_module, "_MOST_KINDS", 3)
    refused("repeat coordinates in at most 3 ways", DegreeSpan, distinct(d, n, seed), degree_coefficients(kernel, d))
