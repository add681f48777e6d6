"""The short version's theorem: its conditions, and the exact risk of the optimum of kernel regression."""

import dataclasses
import math

import pytest
import torch

from beyondkernels import kernels
from beyondkernels.certificates import DisagreementError, from_json
from beyondkernels.papers.resnet import HardInstance, certify_correlation, certify_kernel
from beyondkernels.papers.resnet.certificates.correlation import drawn, optimum


@pytest.mark.parametrize(
    "kernel", [kernels.Arcsin(), kernels.InfiniteConjugate(depth=2), kernels.Gaussian(1.0)], ids=str
)
@pytest.mark.parametrize(("d", "k", "n"), [(8, 4, 30), (40, 4, 20)])
def test_risks_by_another_mean(kernel, d, k, n):
    certificate = certify_correlation(kernel, HardInstance(dim=d, outputs=k, alpha=0.5), n=n, draws=3)
    found = certificate.verify()
    assert found.agrees
    assert found.tolerance == 1e-9 or d > 12
    assert from_json(certificate.to_json()) == certificate


def test_conditions_are_reported_one_by_one():
    d, k = 50, 4
    most, least = d**2 / math.log(d) ** 4, 1 / d
    certificate = certify_correlation(kernels.Arcsin(), HardInstance(dim=d, outputs=k, alpha=0.5), n=10, draws=2)
    assert [one.holds for one in certificate.hypotheses] == [True] * 5
    assert certificate.hypotheses[1].bound == pytest.approx(most)
    assert certificate.hypotheses[2].bound == pytest.approx(least)
    assert "All conditions that can be checked hold" in certificate.verdict
    failing = certify_correlation(kernels.Arcsin(), HardInstance(dim=d, outputs=3, alpha=0.001), n=30, draws=2)
    assert [one.holds for one in failing.hypotheses] == [False, False, False, True, True]
    assert "These conditions fail: k ≥ 4; N ≤" in failing.verdict
    more = dataclasses.replace(failing, sample_constant=10.0, alpha_constant=1e-3)
    assert [one.holds for one in more.hypotheses] == [False, True, True, True, True]


def test_the_optimum_is_one():
    # no small change of the weights lowers the objective (3.2)
    problem, ridge = HardInstance(dim=9, outputs=4, alpha=0.5), 1e-2
    S, a = drawn(problem, 12, 0, 0)
    kernel = kernels.Gaussian(1.0)
    w = optimum(kernel, problem, a, S, ridge)
    K, y = kernel(a / 3), a[:, S] + 0.5 * a[:, S].prod(1, keepdim=True)

    def objective(v: torch.Tensor) -> float:
        return float(((K @ v - y) ** 2).sum() / 12 + ridge / 12 * (v * (K @ v)).sum())

    for direction in torch.eye(12, dtype=torch.float64)[:, :, None] * 1e-3:
        assert min(objective(w + direction), objective(w - direction)) >= objective(w)


def test_the_optimum_is_never_better_than_the_best():
    problem = HardInstance(dim=10, outputs=4, alpha=0.5)
    certificate = certify_correlation(kernels.Gaussian(1.0), problem, n=40, draws=3)
    for draw, risk in enumerate(certificate.risks):
        S, a = drawn(problem, 40, 0, draw)
        own = dataclasses.replace(problem, indices=tuple(S))
        assert risk >= certify_kernel(kernels.Gaussian(1.0), own, a / 10**0.5, targets=1).own - 1e-9


def test_a_false_certificate_is_found():
    certificate = certify_correlation(kernels.Arcsin(), HardInstance(dim=8, outputs=4, alpha=0.5), n=5, draws=2)
    with pytest.raises(DisagreementError):
        dataclasses.replace(certificate, risks=(1.0, 1.0)).verify()
