"""Risks of explicit predictors in whole numbers: against sums over the cube, and against spans that are wrong."""

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels import kernels
from beyondkernels.certificates import DegreeSpan, DisagreementError, degree_coefficients
from beyondkernels.certificates.coefficients import profile_of
from beyondkernels.core import Stream
from beyondkernels.data.inputs import Biased, corners, signs
from beyondkernels.papers.resnet import HardClass, HardInstance
from beyondkernels.papers.resnet.certificates.explicit import WholeGram, explicit_risks
from refusals import refused

certify: Any = bk.certify
KERNELS = {
    "gauss": kernels.Gaussian(1.0),
    "cubic": kernels.PolynomialKernel(degree=3),
    "ntk": kernels.InfiniteTangent(depth=3),
    "arcsin": kernels.Arcsin(),
    "float": kernels.Correlation(torch.exp),
}


@pytest.mark.parametrize("name", ["gauss", "arcsin"])
def test_inner_products_are_means_over_the_cube(name):
    d, kernel = 6, KERNELS[name]
    a, x = torch.unique(signs(7, d, Stream(1)), dim=0), corners(d)
    gram = WholeGram(profile_of(kernel, d, d).values, a, 100)
    K = kernel(x / d**0.5, a / d**0.5)
    K /= kernel(x[:1] / d**0.5)[0, 0]  # the largest value of these kernels
    whole = gram.times(np.eye(len(a), dtype=int).astype(object))
    assert np.allclose((whole / 2**gram.gram_bits).astype(float), (K.T @ K / 64).numpy(), atol=1e-14)
    for T in ((2,), (0, 1, 4)):
        mean = (K * x[:, list(T)].prod(1, keepdim=True)).mean(0)
        assert np.allclose((gram.target(T) / 2**gram.target_bits).astype(float), mean.numpy(), atol=1e-14)


def test_products_are_exact():
    a = torch.unique(signs(9, 5, Stream(2)), dim=0)
    gram = WholeGram(profile_of(KERNELS["gauss"], 5, 5).values, a, 150)
    matrix = gram.times(np.eye(len(a), dtype=int).astype(object))
    weights = np.array([[(-1) ** i * 3 ** (40 + i), 7 - i] for i in range(len(a))], dtype=object)
    assert (gram.times(weights) == matrix.dot(weights)).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("case", ["uniform", "constant"])
def test_risks_are_those_of_least_squares_over_the_cube(name, case):
    uniform = HardInstance(dim=8, outputs=3, alpha=0.3)
    constant = HardInstance(dim=9, outputs=2, alpha=0.7, uniform=6, background=Biased(1.0), beta=2.0)
    problem = {"uniform": uniform, "constant": constant}[case]
    certificate = certify(KERNELS[name], problem, n=25, seed=3, route="enumeration")
    among = HardClass(problem)
    points: Any = among.varying_signs(certificate.points)
    span = DegreeSpan(points, degree_coefficients(KERNELS[name], problem.dim, among.varying))
    found = explicit_risks(KERNELS[name], problem, span, certificate.targets[:5])
    assert found.risks == pytest.approx(certificate.risks[:5], abs=1e-9)
    assert found.gain < 1e-12


@pytest.mark.parametrize("name", ["ntk", "float"])
def test_large_d(name):
    problem = HardInstance(dim=40, outputs=4, alpha=0.3)
    certificate = certify(KERNELS[name], problem, n=50, targets=20)
    found = certificate.verify()
    assert found.route == "explicit predictors, evaluated in whole numbers"
    assert found.difference < 1e-12
    false = dataclasses.replace(certificate, risks=tuple(risk - 1e-6 for risk in certificate.risks))
    with pytest.raises(DisagreementError, match="disagrees by 1e-06 with explicit predictors"):
        false.verify()


class WithoutOne:
    """A span of all training points that never uses the last one."""

    def __init__(self, points: torch.Tensor, kernel: kernels.Kernel):
        self.signs = torch.unique(points, dim=0)
        self._rest = DegreeSpan(self.signs[:-1], degree_coefficients(kernel, points.shape[1]))
        self.least_coefficient = self._rest.least_coefficient

    def weights(self, products: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        w, norms = self._rest.weights(products[:-1])
        return torch.cat([w, torch.zeros(1, w.shape[1], dtype=w.dtype)]), norms


@pytest.mark.parametrize("name", ["gauss", "ntk"])
def test_a_direction_that_a_span_has_missed_is_noticed(name):
    problem = HardInstance(dim=40, outputs=3, alpha=0.3)
    wrong = cast(DegreeSpan, WithoutOne(signs(60, 40, Stream(4)), KERNELS[name]))
    refused("whose residual is orthogonal to all functions", explicit_risks, KERNELS[name], problem, wrong, [(0, 1, 2)])


def test_coefficients_of_another_kernel_are_noticed():
    problem = HardInstance(dim=40, outputs=3, alpha=0.3)
    points = signs(60, 40, Stream(4))
    other = DegreeSpan(points, degree_coefficients(kernels.Gaussian(1.1), 40))
    right = DegreeSpan(points, degree_coefficients(kernels.Gaussian(1.0), 40))
    stated = HardClass(problem).risks(other, [(0, 1, 2)]).item()
    assert explicit_risks(kernels.Gaussian(1.0), problem, right, [(0, 1, 2)]).risks[0] != pytest.approx(
        stated, abs=1e-6
    )
    refused("no weights were found", explicit_risks, kernels.Gaussian(1.0), problem, other, [(0, 1, 2)])
