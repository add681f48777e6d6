"""The best function in a kernel's ball, against the same problem over all patterns, without symmetry."""

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError
from beyondkernels.kernels import Arcsin, Gaussian, Laplace, PolynomialKernel
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.papers.features.theory import KernelBall, KernelBallCertificate, every_pattern, least_hinge_loss
from beyondkernels.papers.features.theory.kernel_ball import every_count, symmetric_features

NORMS = (0.5, 2.0, 8.0)
PROBLEM = DictionaryParity(7, 7, relevant=3, background=0.4, instance=5)


def arrays(kernel, problem=PROBLEM, tolerance: float = 1e-4) -> dict[str, np.ndarray]:
    return bk.fit(KernelBall(kernel, NORMS, tolerance), problem, n=1, test=0, progress=False).outcome.arrays


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplace(0.5), PolynomialKernel(3), Arcsin()])
def test_the_loss_is_that_of_all_functions_of_the_kernel(kernel):
    found = arrays(kernel)
    z, y, p = every_pattern(PROBLEM)
    eigenvalues, vectors = torch.linalg.eigh(kernel(z / 7**0.5, z / 7**0.5))
    roots = vectors * eigenvalues.clamp(min=0).sqrt()  # ‖f‖ ≤ L is ‖w‖ ≤ L for f = roots · w
    for i, norm in enumerate(NORMS):
        plain = least_hinge_loss(roots, y, norm, probabilities=p, tolerance=1e-4)
        assert found["lower"][i] <= plain.upper + 1e-9
        assert plain.lower <= found["upper"][i] + 1e-9
    assert (found["upper"] - found["lower"] <= 1e-4 + 1e-12).all()
    assert found["upper"][0] > found["upper"][2] + 0.01


def test_symmetric_features_are_the_kernels():
    # the mean of K over changes of places within A and outside is the sum of products of features
    kernel = Laplace(1.0)
    values, tail = symmetric_features(kernel, PROBLEM, tail=0.0)
    assert tail == 0
    z, _, p = every_pattern(PROBLEM)
    A = list(PROBLEM.relevant_set)
    inside = (z[:, A] > 0).sum(1)
    cell = inside * 5 + (z > 0).sum(1) - inside
    K = kernel(z / 7**0.5, z / 7**0.5)
    member = torch.nn.functional.one_hot(cell, 20).double()
    means = member.T @ K @ member / torch.outer(member.sum(0), member.sum(0))
    torch.testing.assert_close(values @ values.T, means, rtol=0, atol=1e-12)
    torch.testing.assert_close(every_count(PROBLEM)[1], member.T @ p)


def test_labels_of_counts():
    z, y, _ = every_pattern(PROBLEM)
    A = list(PROBLEM.relevant_set)
    inside = (z[:, A] > 0).sum(1)
    cell = inside * 5 + (z > 0).sum(1) - inside
    assert torch.equal(every_count(PROBLEM)[0][cell], y)


def test_degrees_that_are_left_out_lower_the_dual_value():
    problem = DictionaryParity(40, 40, relevant=3)
    _, tail = symmetric_features(Gaussian(1.0), problem, tail=1e-3)
    values, less = symmetric_features(Gaussian(1.0), problem, tail=1e-6)
    assert 0 < less <= 1e-6 < tail <= 1e-3
    whole = symmetric_features(Gaussian(1.0), problem, tail=0.0)[0]
    lost = whole.square().sum(1) - values.square().sum(1)
    assert 0 < float(lost.max()) <= less**2 + 1e-15


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplace(1.0)])
def test_no_loss_is_below_the_bounds(kernel):
    problem = DictionaryParity(48, 48, relevant=3)
    found = arrays(kernel, problem, 1e-3)
    for i, norm in enumerate(NORMS):
        bounds = KernelBallCertificate(48, 3, 0.5, norm, kernel=kernel)
        assert bounds.exact is not None
        assert found["upper"][i] >= bounds.exact >= bounds.bound


def test_what_is_refused():
    with pytest.raises(InputError, match="patterns must be at most 400"):
        KernelBall(Gaussian(1.0), NORMS).check(DictionaryParity(401, 401, relevant=3), 1, 0)
