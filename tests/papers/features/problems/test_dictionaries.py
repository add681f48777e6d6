import math

import pytest
import torch

import beyondkernels.papers.features as bp
from beyondkernels.core import InputError, Stream
from refusals import refused


def literal_coherence(M):
    worst = 0.0
    for i in range(M.shape[1]):
        for j in range(i):
            worst = max(worst, abs(sum(float(a) * float(b) for a, b in zip(M[:, i], M[:, j], strict=True))))
    return worst * math.sqrt(M.shape[0])


def test_orthonormal_is_gram_schmidt_with_positive_diagonal():
    """Gram–Schmidt on the same Gaussian columns: the one definite answer, whatever signs a library prefers."""
    gaussian = Stream(5).normal(6, 4, dtype=torch.float64)
    columns: list[torch.Tensor] = []
    for j in range(4):
        v = gaussian[:, j].clone()
        for q in columns:
            v -= (q @ v) * q
        columns.append(v / v.norm())
    torch.testing.assert_close(bp.Orthonormal().draw(6, 4, Stream(5)), torch.stack(columns, 1), rtol=0, atol=1e-13)


def test_orthonormal_is_uniform():
    """First and second moments of the Haar law: E M = 0, E M_ij² = 1/d, E of a 1×1 matrix's sign 0."""
    n, d = 2000, 3
    entries = torch.stack([bp.Orthonormal().draw(d, 2, Stream(s)) for s in range(n)])
    assert float(entries.mean(0).abs().max()) < 5 * math.sqrt(1 / d / n)
    fourth = 3 / (d * (d + 2)) - 1 / d**2  # variance of the square of a coordinate of a uniform direction
    assert float((entries.square().mean(0) - 1 / d).abs().max()) < 5 * math.sqrt(fourth / n)


@pytest.mark.parametrize(("dim", "patterns", "mu"), [(60, 20, 10.0), (60, 20, 0.4), (20, 30, 0.9), (7, 1, 0.1)])
def test_incoherent_keeps_its_bound(dim, patterns, mu):
    M = bp.Incoherent(mu).draw(dim, patterns, Stream(1))
    assert M.shape == (dim, patterns)
    torch.testing.assert_close(M.norm(dim=0), torch.ones(patterns, dtype=torch.float64), rtol=0, atol=1e-13)
    assert literal_coherence(M) <= mu
    assert bp.coherence(M) == pytest.approx(literal_coherence(M), abs=1e-12)


def test_incoherent_turns_with_its_start():
    """Rotating the random directions rotates the result, so its law has no preferred direction."""
    from beyondkernels.papers.features.problems import dictionaries

    M = dictionaries._unit(Stream(0).normal(5, 8, dtype=torch.float64))
    R = bp.Orthonormal().draw(5, 5, Stream(1))
    one, other = dictionaries._push_apart(M, 0.4), dictionaries._push_apart(R @ M, 0.4)
    torch.testing.assert_close(R @ one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("dim", "patterns", "mu"), [(12, 7, 0.9), (12, 12, 3.0), (9, 5, 0.0), (4, 1, 1.0)])
def test_equiangular_has_one_inner_product(dim, patterns, mu):
    M = bp.Equiangular(mu).draw(dim, patterns, Stream(1))
    gram = M.T @ M
    expected = [[1.0 if i == j else mu / math.sqrt(dim) for j in range(patterns)] for i in range(patterns)]
    torch.testing.assert_close(gram, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-13)
    assert patterns == 1 or bp.coherence(M) == pytest.approx(mu, abs=1e-12)
    if mu == 0:
        assert torch.equal(M, bp.Orthonormal().draw(dim, patterns, Stream(1)))


def test_equiangular_out_of_reach():
    with pytest.raises(InputError, match=r"^mu must be below 3 \(√d\) for patterns in dimension 9, got 3.0$"):
        bp.Equiangular(3.0).check(9, 5)
    with pytest.raises(
        InputError, match=r"^patterns must not exceed dim for an equiangular dictionary, got 10 patterns"
    ):
        bp.Equiangular(0.5).check(9, 10)


def test_out_of_reach():
    with pytest.raises(InputError, match=r"mu must be larger for 16 patterns in dimension 10: .* reached 0\.7\d*, got"):
        bp.Incoherent(0.635).draw(10, 16, Stream(0))
    refused(r"at least 0.6325 .*for 16 patterns in dimension 10, got 0.5", lambda: bp.Incoherent(0.5).check(10, 16))
    with pytest.raises(InputError, match=r"patterns must not exceed dim .*got 5 patterns in dimension 4"):
        bp.Orthonormal().draw(4, 5, Stream(0))
