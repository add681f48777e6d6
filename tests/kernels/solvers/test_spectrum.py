"""The checked eigendecomposition."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.solvers.spectrum import spectrum
from refusals import refused

F64 = torch.float64


def gram_with(values: list[float], seed: int = 0) -> torch.Tensor:
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    Q = torch.linalg.qr(Stream(seed).normal(n, n, dtype=F64))[0]
    gram = Q @ torch.diag(torch.tensor(values, dtype=F64)) @ Q.T
    return (gram + gram.T) / 2


def test_the_parts_give_the_matrix_back():
    gram = gram_with([5.0, 0.5, 3.0, 1e-3, 0.0])
    before = gram.clone()
    found = spectrum(gram)
    torch.testing.assert_close(found.values, torch.tensor([0, 1e-3, 0.5, 3, 5], dtype=F64), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.vectors @ torch.diag(found.values) @ found.vectors.T, gram, rtol=0, atol=1e-14)
    torch.testing.assert_close(found.vectors.T @ found.vectors, torch.eye(5, dtype=F64), rtol=0, atol=1e-14)
    assert torch.equal(gram, before)
    assert found.largest == pytest.approx(5)
    assert found.rounding == pytest.approx(5 * 5 * 2.0**-52)


def test_small_negative_eigenvalues_are_clipped_and_counted():
    found = spectrum(gram_with([-1e-12, -2e-12, 1.0, 2.0]))
    assert found.clipped == 2
    assert found.values[:2].tolist() == [0, 0]
    refused("indefinite", spectrum, gram_with([-1e-12, -2e-12, 1.0, 2.0]), tolerance=1e-13)


def test_a_zero_matrix_is_no_mistake():
    found = spectrum(torch.zeros(3, 3))
    assert found.values.tolist() == [0, 0, 0]
    assert found.clipped == 0


def test_the_largest_asymmetry_is_named():
    gram = torch.eye(700, dtype=F64)
    gram[3, 650] = 0.02
    gram[600, 4] = -0.5
    sentence = (
        r"gram must be symmetric, got entries that differ by 0\.5 at \((4, 600|600, 4)\) and .*, 0\.5 of the largest"
    )
    refused(sentence, spectrum, gram)
    gram[3, 650] = gram[600, 4] = 1e-11
    spectrum(gram)
