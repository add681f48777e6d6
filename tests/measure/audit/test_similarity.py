"""Alignments of kernels and of features, against sums over explicit matrices."""

import math

import numpy as np
import pytest
import torch

from beyondkernels.measure.audit import centred_alignment, linear_similarity, relative_change
from beyondkernels.measure.audit.similarity import centred, feature_gram

RNG = np.random.default_rng(0)


def random(*shape: int) -> torch.Tensor:
    return torch.from_numpy(RNG.normal(size=shape))


def hsic(K: np.ndarray, L: np.ndarray) -> float:
    """Kornblith et al. (2019), eq. (3): tr(K H L H) / (n − 1)²."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return float(np.trace(K @ H @ L @ H)) / (n - 1) ** 2


def naive_alignment(K: torch.Tensor, L: torch.Tensor) -> float:
    k, m = K.numpy(), L.numpy()
    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_alignment_against_explicit_centring(shift):
    X, Y = random(12, 5) + shift, random(12, 3)
    K, L = X @ X.T, Y @ Y.T + shift
    assert centred_alignment(K, L) == pytest.approx(naive_alignment(K, L), abs=1e-12)
    assert centred_alignment(7 * K + 2, L) == pytest.approx(naive_alignment(K, L), abs=1e-12)
    assert centred_alignment(K, K) == pytest.approx(1, abs=1e-14)
    n = len(K)
    H = torch.eye(n, dtype=torch.float64) - torch.ones(n, n, dtype=torch.float64) / n
    assert torch.allclose(centred(K), H @ K @ H, atol=1e-12)


def test_a_constant_kernel_is_aligned_with_nothing():
    constant = torch.full((6, 6), 0.1, dtype=torch.float64)
    X = random(6, 2)
    assert centred_alignment(constant, X @ X.T) == centred_alignment(torch.zeros(6, 6), X @ X.T) == 0


@pytest.mark.parametrize(("p", "q"), [(3, 4), (30, 40), (3, 40)])
def test_similarity_in_the_form_of_features(p, q):
    """Kornblith et al. (2019), eq. (8): ‖YᵀX‖² / (‖XᵀX‖ ‖YᵀY‖) with centred columns."""
    X, Y = random(10, p) + 5, random(10, q)
    x, y = (values.numpy() - values.numpy().mean(0) for values in (X, Y))
    expected = np.linalg.norm(y.T @ x) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    assert linear_similarity(X, Y) == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(naive_alignment(X @ X.T, Y @ Y.T), abs=1e-10)


def test_features_of_any_shape_and_with_a_large_mean():
    X = random(8, 2, 3, 3)
    assert torch.allclose(feature_gram(X.float() + 1e4), feature_gram(X), atol=0.1)
    assert linear_similarity(X, X.flatten(1)) == pytest.approx(1)


def test_relative_change():
    K, L = random(5, 5), random(5, 5)
    moved = math.sqrt(sum((a - b) ** 2 for a, b in zip(L.flatten().tolist(), K.flatten().tolist(), strict=True)))
    size = math.sqrt(sum(a * a for a in K.flatten().tolist()))
    assert relative_change(L, K) == pytest.approx(moved / size)
    zero = torch.zeros(2, 2)
    assert (relative_change(zero, zero), relative_change(zero + 1, zero)) == (0, math.inf)


def test_similarity_knows_no_rotation_and_no_scale():
    X, Y = random(9, 4), random(9, 4)
    Q = torch.linalg.qr(random(4, 4)).Q
    assert linear_similarity(X, 3 * X @ Q + 1) == pytest.approx(1)
    assert linear_similarity(X @ Q, Y) == pytest.approx(linear_similarity(X, Y))
    assert linear_similarity(X, X * torch.tensor([1, 1, 1, 9.0])) < 0.95
