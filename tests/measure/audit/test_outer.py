"""Cosines and directions of RᵀR, against the matrices themselves."""

import numpy as np
import pytest
import torch

from beyondkernels.measure.audit import outer_cosine, root_cosine, top_directions
from beyondkernels.measure.audit.outer import factor_of


def cosine(A: np.ndarray, B: np.ndarray) -> float:
    return float((A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum()))


def root(A: np.ndarray) -> np.ndarray:
    """The square root of a symmetric matrix, which may be singular, with rounded eigenvalues below zero cut off."""
    values, vectors = np.linalg.eigh(A)
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T


@pytest.mark.parametrize(("r", "m", "d"), [(3, 5, 8), (9, 4, 6), (7, 9, 2)])
@pytest.mark.parametrize("scale", [1.0, 1e-60])
def test_against_the_matrices(r, m, d, scale):
    rng = np.random.default_rng(0)
    R, W = rng.normal(size=(r, d)), rng.normal(size=(m, d))
    first, second = torch.from_numpy(scale * R), torch.from_numpy(W)
    assert outer_cosine(first, second) == pytest.approx(cosine(R.T @ R, W.T @ W))
    assert root_cosine(first, second) == pytest.approx(cosine(root(R.T @ R), W.T @ W), abs=1e-6)
    vectors, shares = (found.numpy() for found in top_directions(first, 2))
    values, expected = np.linalg.eigh(R.T @ R)
    assert shares == pytest.approx(values[::-1][:2] / values.sum())
    for vector, wanted in zip(vectors, expected.T[::-1], strict=False):
        assert abs(vector @ wanted) == pytest.approx(1)
        assert vector[np.abs(vector).argmax()] > 0


def test_zero_matrices():
    zero, W = torch.zeros(2, 3), torch.ones(2, 3)
    assert outer_cosine(zero, W) == root_cosine(zero, W) == root_cosine(W, zero) == 0
    assert top_directions(zero, 8)[1].tolist() == [0, 0]


def test_factor_of_a_matrix():
    A = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 5)))
    R = factor_of(A.T @ A)  # of rank 3: rounding makes some eigenvalues negative
    assert torch.allclose(R.T @ R, A.T @ A, atol=1e-12)
