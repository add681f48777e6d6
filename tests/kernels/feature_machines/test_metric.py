"""Kernels under a metric: entries by loops, gradients by autograd, and their outer products one by one."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import Gaussian, Laplace
from beyondkernels.kernels.feature_machines.metric import MetricKernel, gradient_outer_product, kernel_gradients

F64 = torch.float64
KERNELS = {"gaussian": Gaussian(3.0), "laplace": Laplace(1.5)}
every_kernel = pytest.mark.parametrize("radial", KERNELS.values(), ids=KERNELS.keys())
every_metric = pytest.mark.parametrize("kind", ["identity", "diagonal", "full", "singular"])


def metric(kind: str, d: int) -> torch.Tensor:
    if kind == "identity":
        return torch.eye(d, dtype=F64)
    if kind == "diagonal":
        return Stream(5).uniform(d, dtype=F64) * 2
    factor = Stream(5).normal(d, d if kind == "full" else 1, dtype=F64)
    return factor @ factor.T / factor.shape[1]


def matrix(kernel: MetricKernel) -> torch.Tensor:
    return torch.diag(kernel.metric) if kernel.metric.ndim == 1 else kernel.metric


def entry(radial: Gaussian | Laplace, M: torch.Tensor, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """K_M(x, z) as it is written."""
    square = (x - z) @ M @ (x - z)
    return torch.exp(-square / radial.bandwidth if isinstance(radial, Gaussian) else -square.sqrt() / radial.bandwidth)


def literal_gradient(kernel: MetricKernel, centres: torch.Tensor, alpha: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """By autograd, a term after the other; a Laplace term at a point that coincides is left out."""
    out = torch.zeros(len(x), alpha.shape[1], x.shape[1], dtype=F64)
    for i, point in enumerate(x):
        for j, centre in enumerate(centres):
            if torch.equal(point, centre):
                continue  # a Gaussian's gradient is zero there
            leaf = point.clone().requires_grad_()
            (slope,) = torch.autograd.grad(entry(kernel.kernel, matrix(kernel), leaf, centre), leaf)
            out[i] += alpha[j][:, None] * slope
    return out


def setting(radial, kind, d=4, m=9, k=2):
    kernel = MetricKernel(radial, metric(kind, d))
    return kernel, Stream(1).normal(m, d, dtype=F64), Stream(2).normal(m, k, dtype=F64)


@every_kernel
@every_metric
def test_entries_by_loops(radial, kind):
    kernel, x, _ = setting(radial, kind)
    z = Stream(3).normal(5, 4, dtype=F64)
    exact = torch.tensor([[entry(radial, matrix(kernel), p, q) for q in z] for p in x], dtype=F64)
    assert torch.allclose(kernel(x, z), exact, rtol=1e-12, atol=0)
    gram = kernel(x)
    assert torch.allclose(gram, kernel(x, x), rtol=1e-12, atol=1e-7 if kind == "singular" else 1e-14)
    assert torch.equal(gram, gram.T)
    assert torch.equal(gram.diagonal(), torch.ones(9, dtype=F64))


@every_kernel
@every_metric
def test_gradients_by_autograd(radial, kind):
    """Between the centres and at the centres themselves."""
    kernel, centres, alpha = setting(radial, kind)
    x = torch.cat([Stream(3).normal(5, 4, dtype=F64), centres[:4]])
    found = kernel_gradients(kernel, centres, alpha, x)
    assert found.shape == (9, 2, 4)
    assert torch.allclose(found, literal_gradient(kernel, centres, alpha, x), rtol=0, atol=1e-12)
    assert found.abs().max() > 0.1


@every_kernel
def test_gradients_of_points_far_from_the_origin(radial):
    """Only differences count; the points themselves are rounded at 1e6 to 1e-10."""
    kernel, centres, alpha = setting(radial, "full")
    x = Stream(3).normal(5, 4, dtype=F64)
    far = kernel_gradients(kernel, centres + 1e6, alpha, x + 1e6)
    assert torch.allclose(far, kernel_gradients(kernel, centres, alpha, x), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_a_laplace_kernel_leaves_out_what_coincides(kind):
    """Equal points at many places, which a matrix product may round differently, and points a hair apart."""
    kernel, centres, _ = setting(KERNELS["laplace"], kind, m=40)
    alpha = Stream(2).normal(44, 1, dtype=F64)
    both = torch.cat([centres, centres[:3], centres[3:4] + 1e-13])
    found = kernel_gradients(kernel, both, alpha, centres)
    expected = literal_gradient(kernel, both, alpha, centres)
    hair = 43  # the centre a hair from point 3: no direction to speak of, so its term is left out like point 3's own
    one = torch.zeros_like(alpha)
    one[hair] = alpha[hair]
    expected[3] -= literal_gradient(kernel, both, one, centres[3:4])[0]
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)


@every_kernel
@every_metric
@pytest.mark.parametrize(("d", "k"), [(4, 3), (1, 1), (300, 4)])
def test_outer_product_by_loops(radial, kind, d, k):
    """Also with more outputs than one product takes."""
    kernel, centres, alpha = setting(radial, kind, d=d, k=k, m=7)
    if d > 10:
        kernel = MetricKernel(radial, kernel.metric / d)
    exact = torch.zeros(d, d, dtype=F64)
    for rows in literal_gradient(kernel, centres, alpha, centres):
        for gradient in rows:
            exact += gradient[:, None] * gradient[None, :] / 7
    found = gradient_outer_product(kernel, centres, alpha, centres)
    if kernel.metric.ndim == 1:
        assert found.shape == (d,)
        exact = exact.diagonal()
    else:
        assert torch.equal(found, found.T)
    assert torch.allclose(found, exact, rtol=0, atol=1e-12 * float(exact.abs().max()))
    assert exact.abs().max() > 1e-5


@every_kernel
def test_gradients_by_finite_differences(radial):
    kernel, centres, alpha = setting(radial, "full")
    x, h = Stream(3).normal(5, 4, dtype=F64), 1e-5
    found = kernel_gradients(kernel, centres, alpha, x)
    for j in range(4):
        step = h * torch.eye(4, dtype=F64)[j]
        slope = (kernel(x + step, centres) - kernel(x - step, centres)) @ alpha / (2 * h)
        assert torch.allclose(found[:, :, j], slope, rtol=0, atol=1e-8)
