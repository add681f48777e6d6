"""Corollary 3 with explicit constants, against kernels on a small cube."""

import math

import pytest
import torch

from beyondkernels.certificates import DisagreementError, from_json
from beyondkernels.data.inputs import corners
from beyondkernels.kernels import Gaussian, PolynomialKernel
from beyondkernels.papers.features.theory import KernelBallCertificate, corollary3 as module, least_hinge_loss
from refusals import refused


def loss_in_ball(kernel: Gaussian, D: int, k: int, norm: float, points: int | None) -> float:
    """The least hinge loss on the uniform cube, by convex optimisation."""
    z = corners(D)
    gram = kernel(z / math.sqrt(D))
    if points is not None:
        features = gram[:, :points]  # f = Σ α_i K(z_i, ·)
    else:
        values, vectors = torch.linalg.eigh(gram)
        features = vectors * values.clamp(min=0).sqrt()  # ‖f‖ is the norm of the weights
    return least_hinge_loss(features, z[:, :k].prod(1), norm, tolerance=1e-7).upper


@pytest.mark.parametrize("points", [None, 5])
def test_the_bound_of_a_kernel_is_attained_in_a_small_ball(points):
    kernel, D, k, norm = Gaussian(1.0), 5, 3, 0.5
    certificate = KernelBallCertificate(D, k, 0.5, norm, points=points, kernel=kernel)
    found = loss_in_ball(kernel, D, k, norm, points)
    assert certificate.exact is not None
    assert certificate.exact == pytest.approx(0.5 * found, abs=1e-6)
    assert certificate.exact >= certificate.bound


@pytest.mark.parametrize("points", [None, 20])
def test_no_function_of_a_large_ball_is_below(points):
    kernel, D, k, norm = Gaussian(0.5), 5, 3, 4.0
    certificate = KernelBallCertificate(D, k, 0.5, norm, points=points, kernel=kernel)
    assert certificate.exact is not None
    assert 0.5 * loss_in_ball(kernel, D, k, norm, points) >= certificate.exact - 1e-7


def test_numbers_by_hand():
    certificate = KernelBallCertificate(10, 3, 0.4, 2.0, diagonal=9.0)
    assert certificate.bound == pytest.approx(0.4 * (1 - 2 * 3 / math.sqrt(120)))
    with_points = KernelBallCertificate(10, 3, 0.4, 0.1, diagonal=9.0, points=4)
    assert with_points.bound == pytest.approx(0.4 * (1 - 0.1 * 9 * 2 / math.sqrt(120)))
    assert certificate.exact is None


@pytest.mark.parametrize(
    "certificate",
    [
        KernelBallCertificate(176, 11, 0.5, 1000.0),
        KernelBallCertificate(8, 3, 0.5, 1.0, diagonal=2.0),
        KernelBallCertificate(8, 3, 0.5, 1.0, points=7),
        KernelBallCertificate(10, 3, 0.5, 1.0, kernel=Gaussian(2.0)),
        KernelBallCertificate(9, 5, 0.5, 1.0, points=6, kernel=Gaussian(2.0)),
        KernelBallCertificate(30, 5, 0.5, 1.0, kernel=PolynomialKernel(degree=2, offset=0.0)),
    ],
)
def test_verifies_and_serialises(certificate):
    assert certificate.verify().agrees
    assert from_json(certificate.to_json()) == certificate
    assert "which leaves the polynomials open" in str(certificate).replace("\n", " ")


def test_a_kernel_without_degree_k_leaves_everything():
    # up to the digits of the coefficient, a polynomial of degree 2 knows nothing of a parity of 5 signs
    certificate = KernelBallCertificate(30, 5, 0.5, 1.0, kernel=PolynomialKernel(degree=2, offset=0.0))
    assert certificate.exact == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("kernel", [None, Gaussian(2.0)])
def test_a_wrong_bound_is_found(kernel, monkeypatch):
    right = module.counting_share
    monkeypatch.setattr(module, "counting_share", lambda size, *rest: right(size / 2, *rest))
    with pytest.raises(DisagreementError):
        KernelBallCertificate(8, 3, 0.5, 1.0, kernel=kernel).verify()


@pytest.mark.parametrize("kernel", [None, Gaussian(2.0)])
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_count_that_is_wrong_on_both_routes_is_found(kernel, factor, monkeypatch):
    # the kernel with all parities as features attains the bound
    bound, log = module.counting_share, module.telescoped_log
    monkeypatch.setattr(module, "counting_share", lambda size, *rest: bound(size / math.sqrt(factor), *rest))
    monkeypatch.setattr(module, "telescoped_log", lambda *sizes: log(*sizes) + math.log(factor))
    with pytest.raises(DisagreementError):
        KernelBallCertificate(7, 3, 0.5, 1.0, diagonal=3.0, kernel=kernel).verify()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel": Gaussian(1.0), "diagonal": 0.5}, "diagonal must be at least 1"),
        ({"kernel": Gaussian(1.0), "patterns": 500}, "patterns must be at most 400"),
        ({"kernel": "gaussian"}, "kernel must be rotation-invariant"),
        ({"relevant": 11}, "relevant must not exceed"),
    ],
)
def test_nonsense_is_refused(change, words):
    given = {"patterns": 10, "relevant": 3, "background": 0.5, "norm": 1.0}
    refused(words, KernelBallCertificate, **(given | change))
