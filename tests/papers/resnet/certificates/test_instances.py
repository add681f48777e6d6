"""Certificates of kernels and feature maps: exact risks by several routes, and never below the bound for all."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import beyondkernels as bk
from beyondkernels import kernels
from beyondkernels.certificates import DisagreementError, EnumeratedSpan, from_json
from beyondkernels.core import Stream
from beyondkernels.data.inputs import Alike, Biased, corners
from beyondkernels.papers.resnet import HardClass, HardInstance, certify_features, certify_kernel
from refusals import refused

certify: Any = bk.certify
"""Without its types: what comes back depends on what is certified."""

PROBLEMS = {
    "uniform": HardInstance(dim=8, outputs=3, alpha=0.3),
    "two": HardInstance(dim=7, outputs=2, alpha=0.5, beta=0.0),
    "background": HardInstance(dim=8, outputs=2, alpha=0.3, uniform=5),
    "constant": HardInstance(dim=9, outputs=3, alpha=0.3, uniform=6, background=Biased(1.0), beta=2.0),
    "negative": HardInstance(dim=9, outputs=3, alpha=0.3, uniform=6, background=Biased(0.0)),
}


def literal_risk(kernel, problem: HardInstance, x: torch.Tensor, S: tuple[int, ...]) -> float:
    """Least squares over all points of the cube, for all outputs of one target."""
    points: Any = problem.inputs.points(2**12)
    own = dataclasses.replace(problem, indices=S)
    H = own.beta * own.base_signal(points) + own.alpha * own.composite_signal(own.base_signal(points))
    F = kernel(points, x).numpy()
    w, *_ = np.linalg.lstsq(F, H.numpy(), rcond=1e-12)
    return float(((F @ w - H.numpy()) ** 2).sum(1).mean())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kernel", [kernels.Gaussian(1.0), kernels.InfiniteTangent(depth=2)], ids=["gauss", "ntk"])
def test_risks_are_those_of_least_squares(name, kernel):
    problem = PROBLEMS[name]
    x = (problem.sample(30, Stream(5)).x.double() * problem.dim**0.5).round() / problem.dim**0.5
    closed = certify_kernel(kernel, problem, x, route="closed form")
    listed = certify_kernel(kernel, problem, x, route="enumeration")
    assert closed.targets == listed.targets
    assert closed.risks == pytest.approx(listed.risks, abs=1e-9)
    assert len(closed.risks) == math.comb(problem.inputs.uniform, problem.outputs)
    for place in (0, len(closed.risks) // 2, -1):
        assert closed.risks[place] == pytest.approx(literal_risk(kernel, problem, x, closed.targets[place]), abs=1e-9)
    assert closed.own == pytest.approx(literal_risk(kernel, problem, x, tuple(sorted(problem.relevant))), abs=1e-9)
    assert closed.mean == pytest.approx(sum(closed.risks) / len(closed.risks), abs=1e-12)
    assert listed.mean == pytest.approx(closed.mean, abs=1e-9)
    assert closed.verify().agrees
    assert listed.verify().agrees


@settings(max_examples=30)
@given(
    d=st.integers(4, 9),
    k=st.integers(2, 4),
    n=st.integers(1, 40),
    alpha=st.floats(0.05, 2.0),
    kernel=st.sampled_from(["gaussian", "laplace", "arcsin", "inverse-polynomial", "cubic", "conjugate2", "tangent3"]),
    seed=st.integers(0, 10_000),
)
def test_the_exact_risk_never_falls_below_the_bound(d, k, n, alpha, kernel, seed):
    problem = HardInstance(dim=d, outputs=k, alpha=alpha)
    certificate = certify(bk.certificates.named_kernel(kernel), problem, n=n, seed=seed)
    assert certificate.mean >= certificate.universal.mean_risk - 1e-9
    assert certificate.learnt_share <= certificate.universal.learnable_share + 1e-12
    assert all(-1e-9 <= risk <= k * (1 + alpha**2) + 1e-9 for risk in certificate.risks)


def test_a_kernel_with_the_whole_cube_learns_everything():
    problem = HardInstance(dim=6, outputs=3, alpha=0.3)
    certificate = certify_kernel(kernels.Gaussian(1.0), problem, corners(6) / 6**0.5)
    assert max(certificate.risks) < 1e-9
    assert not certificate.holds
    assert certificate.learnt_share == 1
    assert "is not true here" in certificate.verdict


def test_a_false_certificate_is_found():
    problem = HardInstance(dim=10, outputs=2, alpha=0.3)
    certificate = certify(kernels.Gaussian(1.0), problem, n=20)
    false = dataclasses.replace(certificate, risks=tuple(risk + 1e-6 for risk in certificate.risks))
    with pytest.raises(DisagreementError, match="disagrees by 1e-06 with enumeration of the cube"):
        false.verify()


def test_json_brings_back_everything():
    problem = HardInstance(dim=10, outputs=2, alpha=0.3)
    certificate = certify(kernels.Gaussian(1.0), problem, n=20)
    again = from_json(certificate.to_json())
    assert again == certificate
    assert str(again) == str(certificate)
    assert again.verify().agrees
    random = certify(kernels.FourierFeatures(count=10, bandwidth=1.0), problem)
    assert from_json(random.to_json()) == random


def squares(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[:, 0] * x[:, 1], x[:, 0] * x[:, 2] + x[:, 3]], 1)


def test_a_feature_map_by_hand():
    problem = HardInstance(dim=5, outputs=2, alpha=0.5)
    certificate = certify(squares, problem)
    by_target = dict(zip(certificate.targets, certificate.risks, strict=True))
    # φ₁ is the parity (0, 1): it takes α² from each of both outputs
    assert by_target[0, 1] == pytest.approx(2 * 1.25 - 2 * 0.25)
    # φ₂ = χ₀₂/5 + x₃/√5, so χ₀₂ has the share (1/25)/(1/25 + 1/5) = 1/6 in it
    assert by_target[0, 2] == pytest.approx(2 * 1.25 - 2 * 0.25 / 6)
    # x₃ + αχ₀₃ has only x₃ in common with φ₂
    assert by_target[0, 3] == pytest.approx(2 * 1.25 - 5 / 6)
    assert certificate.verify().agrees


@pytest.mark.parametrize("count", [1, 30, 100])
def test_random_features(count):
    problem = HardInstance(dim=8, outputs=3, alpha=0.3)
    certificate = certify_features(kernels.GaussianFeatures(count=count, bias_std=0.5), problem)
    assert certificate.mean >= certificate.universal.mean_risk - 1e-9
    assert certificate.verify().agrees
    assert "Theorem 3" in str(certificate)


def test_a_kernel_of_random_features_is_enumerated():
    problem = HardInstance(dim=8, outputs=2, alpha=0.3)
    kernel = kernels.RandomFeatureKernel(kernels.GaussianFeatures(count=20))
    certificate = certify(kernel, problem, n=50)
    assert certificate.route == "enumeration"
    assert certificate.dimension == 20
    assert certificate.verify().route == "least squares over the cube"


def test_points_off_the_cube_are_enumerated():
    problem = HardInstance(dim=8, outputs=2, alpha=0.3)
    x = Stream(1).normal(10, 8, dtype=torch.float64)
    certificate = certify(kernels.Gaussian(1.0), problem, x)
    assert certificate.route == "enumeration"
    assert certificate.risks[0] == pytest.approx(literal_risk(kernels.Gaussian(1.0), problem, x, (0, 1)), abs=1e-9)
    assert from_json(certificate.to_json()) == certificate


HARD = HardInstance(dim=20, outputs=3, alpha=0.3)
GAUSS = kernels.Gaussian(1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((GAUSS, HARD), "x or n must be given"),
        ((GAUSS, HARD, torch.ones(2, 20) / 20**0.5, 3), "x and n must not both be given"),
        ((GAUSS, HARD, torch.ones(3, 19)), "x must hold at least one training point of dimension 20"),
        ((GAUSS, HARD, torch.ones(3, 20)), "the closed form does not apply: some training points are off the cube"),
        ((None, HARD), "n must be given for the bound over all kernels"),
        ((GAUSS, bk.resnet.CompositeParity(), None, 3), "problem must be one that a lower bound is known for"),
        ((kernels.GaussianFeatures(count=3), HARD, None, 3), "x and n must be left out for a feature map"),
        ((kernels.GaussianFeatures(count=3), HARD), "at most 16 varying coordinates"),
        (
            (GAUSS, HardInstance(dim=9, outputs=2, alpha=1.0, uniform=5, background=Alike()), None, 3),
            "background must be",
        ),
    ],
)
def test_bad_input(arguments, sentence):
    what, problem, *rest = arguments
    x, n = (*rest, None, None)[:2]
    refused(sentence, certify, what, problem, x, n=n)


def test_directions_that_float64_cannot_see_are_told():
    problem = HardInstance(dim=8, outputs=3, alpha=0.3)
    narrow = kernels.RandomFeatureKernel(kernels.GaussianFeatures(count=12))
    certificate = certify(narrow, problem, corners(8)[::13] / 8**0.5)
    assert (certificate.dimension, certificate.left_out) == (12, 8)
    assert certificate.mean_at_least == certificate.universal.mean_risk  # eight directions could do much
    assert "8" in str(certificate).split("directions left out as rounding")[1].splitlines()[0]
    assert "unless some of the 8 directions left out" in certificate.verdict
    seen = certify(kernels.Gaussian(1.0), problem, n=20)
    assert seen.left_out == 0 and seen.mean_at_least == seen.mean
    assert "left out" not in str(seen)


@pytest.mark.parametrize("direction", ["worst", "random"])
def test_what_a_direction_left_out_can_change(direction):
    """One more function lowers the mean risk by at most k(β²/d₁ + α²/C), and there is a function that does."""
    problem = HardInstance(dim=6, outputs=3, alpha=0.3, beta=2.0)
    signs = corners(6)
    S = list(itertools.combinations(range(6), 3))
    parities = torch.stack([signs[:, list(T)].prod(1) for T in S], 1)
    # the top eigenvector of Σ vvᵀ: all coordinates alike, all parities alike, as β√D to α√k
    worst = 2.0 * 10**0.5 * signs.sum(1) / 6**0.5 + 0.3 * 3**0.5 * parities.sum(1) / 20**0.5
    more = worst if direction == "worst" else Stream(3).normal(64, dtype=torch.float64)
    seen = parities[:, :1] * signs[:, :1]  # of degree 2: no target has a part in it
    spans = [EnumeratedSpan(signs, torch.cat(values, 1)) for values in ([seen], [seen, more[:, None]])]
    one, two = (HardClass(problem).mean_risk(span) for span in spans)
    most = 3 * (4 / 6 + 0.09 / 20)
    assert 0 < one - two <= most + 1e-12
    assert (one - two > 0.999 * most) == (direction == "worst")
    certificate = dataclasses.replace(certify_features(squares, problem), mean=one, left_out=1)
    assert certificate.mean_at_least == pytest.approx(one - most)


def test_a_quadratic_kernel_never_sees_a_cubic_parity():
    problem = HardInstance(dim=12, outputs=3, alpha=0.3)
    certificate = certify_kernel(kernels.PolynomialKernel(degree=2), problem, problem.sample(300, Stream(1)).x)
    assert certificate.dimension == 1 + 12 + 66
    assert certificate.risks == pytest.approx([0.27] * 220, abs=1e-12)


@pytest.mark.parametrize(("d", "n"), [(30, 12), (60, 200)])
def test_large_d_is_verified(d, n):
    problem = HardInstance(dim=d, outputs=4, alpha=0.2)
    certificate = certify(kernels.InfiniteTangent(depth=3), problem, n=n, targets=20)
    assert certificate.verify().difference < 1e-9
    assert certificate.universal.mean_risk <= certificate.mean


def test_more_points_never_raise_the_risk():
    problem = HardInstance(dim=25, outputs=3, alpha=0.3)
    x = problem.sample(200, Stream(0)).x
    means = [certify_kernel(kernels.Laplace(1.0), problem, x[:n], targets=5).mean for n in (10, 50, 200)]
    assert means[0] > means[1] > means[2]
