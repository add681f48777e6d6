"""Random-feature kernels: every feature by a loop, and their expectation within five standard errors."""

import math

import pytest
import torch

import naive
from beyondkernels.core import Stream
from beyondkernels.kernels import Arcsin, Gaussian
from beyondkernels.kernels.classical.random_features import (
    FourierFeatures,
    FunctionFeatures,
    GaussianFeatures,
    RandomFeatureKernel,
)

F64 = torch.float64


def sample(n, dim, name="x"):
    return Stream(0).child("random features", name).normal(n, dim, dtype=F64)


def gaussians(stream: Stream, count: int, in_dim: int) -> torch.Tensor:
    return stream.normal(count, in_dim, dtype=F64)


def side(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.sign(x @ w.T)


def short(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x @ w[1:].T


def nothing(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x @ w.T / 0


ALL = [
    GaussianFeatures(6),
    GaussianFeatures(6, bias_std=0.3),
    FourierFeatures(6, 2.0),
    FunctionFeatures(6, gaussians, side),
]


@pytest.mark.parametrize(("weight_std", "bias_std"), [(None, 0.0), (0.7, 0.4)])
def test_gaussian_features_by_a_loop(weight_std, bias_std):
    x, stream, count = sample(4, 3), Stream(5), 6
    found = GaussianFeatures(count, "relu", weight_std, bias_std).features(x, stream)
    w = stream.child("weights").normal(count, 3, dtype=F64).tolist()
    b = stream.child("biases").normal(count, dtype=F64).tolist()
    scale = 1 / math.sqrt(3) if weight_std is None else weight_std
    for i in range(4):
        for j in range(count):
            z = scale * sum(p * q for p, q in zip(w[j], x[i].tolist(), strict=True)) + bias_std * b[j]
            assert float(found[i, j]) == pytest.approx(max(z, 0.0) / math.sqrt(count), abs=1e-14)


def test_fourier_features_by_a_loop():
    x, stream, count, h = sample(4, 3), Stream(5), 6, 1.7
    found = FourierFeatures(count, h).features(x, stream)
    w = stream.child("weights").normal(count, 3, dtype=F64).tolist()
    u = stream.child("phases").uniform(count, dtype=F64).tolist()
    for i in range(4):
        for j in range(count):
            z = math.sqrt(2 / h) * sum(p * q for p, q in zip(w[j], x[i].tolist(), strict=True)) + 2 * math.pi * u[j]
            assert float(found[i, j]) == pytest.approx(math.sqrt(2 / count) * math.cos(z), abs=1e-14)


@pytest.mark.parametrize("features", ALL)
def test_the_kernel_is_the_mean_of_products_and_its_error_theirs(features):
    x, y = sample(4, 3), sample(3, 3, "y")
    kernel, m = RandomFeatureKernel(features, seed=3), 6
    rows, columns = (math.sqrt(m) * features.features(z, Stream(3).child("features")) for z in (x, y))
    found, error = kernel(x, y), kernel.standard_error(x, y)
    for i in range(4):
        for j in range(3):
            products = [float(a * b) for a, b in zip(rows[i], columns[j], strict=True)]
            mean = sum(products) / m
            assert float(found[i, j]) == pytest.approx(mean, abs=1e-14)
            variance = sum((p - mean) ** 2 for p in products) / (m - 1)
            assert float(error[i, j]) == pytest.approx(math.sqrt(variance / m), rel=1e-8, abs=1e-8)
    torch.testing.assert_close(kernel(x), kernel(x, x), rtol=1e-13, atol=1e-14)
    assert torch.equal(kernel(x).diagonal(), kernel.diagonal(x))
    torch.testing.assert_close(kernel.standard_error(x), kernel.standard_error(x, x))


def relu_limit(x, y, weight_std, bias_std):
    """E[relu(u) relu(v)] for Gaussian u, v, by Cho and Saul's formula."""
    x, y = [*(weight_std * v for v in x), bias_std], [*(weight_std * v for v in y), bias_std]
    theta = math.acos(max(-1.0, min(1.0, naive.cosine(x, y))))
    return math.hypot(*x) * math.hypot(*y) / (2 * math.pi) * (math.sin(theta) + (math.pi - theta) * math.cos(theta))


def assert_within_five_standard_errors(kernel, x, limit):
    error = kernel.standard_error(x)
    assert float(error.max()) < 0.05  # tight enough to tell something
    assert float(((kernel(x) - limit).abs() / error.clamp(min=1e-9)).max()) < 5


def test_relu_features_tend_to_the_arc_cosine_kernel():
    x = sample(6, 4)
    rows = x.tolist()
    for seed, weight_std, bias_std in ((0, None, 0.0), (1, 0.4, 0.8)):
        limit = torch.tensor([[relu_limit(p, q, weight_std or 0.5, bias_std) for q in rows] for p in rows], dtype=F64)
        kernel = RandomFeatureKernel(GaussianFeatures(40_000, "relu", weight_std, bias_std), seed)
        assert_within_five_standard_errors(kernel, x, limit)


def test_fourier_features_tend_to_the_gaussian_kernel():
    x = sample(6, 3)
    for seed, h in ((0, 0.8), (1, 9.0)):
        assert_within_five_standard_errors(RandomFeatureKernel(FourierFeatures(40_000, h), seed), x, Gaussian(h)(x))


def test_signs_tend_to_the_arcsin_kernel():
    x = torch.cat([sample(6, 3), torch.zeros(1, 3, dtype=F64)])
    kernel = RandomFeatureKernel(FunctionFeatures(40_000, gaussians, side), 0)
    assert_within_five_standard_errors(kernel, x, 2 / math.pi * Arcsin()(x))


def test_seeds_and_batches():
    x = sample(5, 3)
    first, again, other = (RandomFeatureKernel(GaussianFeatures(10), seed) for seed in (0, 0, 1))
    assert torch.equal(first(x), again(x))
    assert float((first(x) - other(x)).abs().max()) > 0.01
    assert not first.rotation_invariant
