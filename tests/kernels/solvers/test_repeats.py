"""Points that come more than once, left out together."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import Gaussian, KernelRidge, ridge_path
from beyondkernels.kernels.solvers.repeats import groups_of_copies

X = Stream(0).child("points").normal(12, 3, dtype=torch.float64)[torch.tensor([0, 1, 2, 0, 3, 4, 1, 0, 5, 6, 7, 8])]
Y = Stream(0).child("labels").normal(12, 2, dtype=torch.float64)


@pytest.mark.parametrize("ridge", [3.0, 0.1, 1e-5])
def test_residuals_are_those_of_fits_without_all_copies(ridge):
    """A literal fit for each group of copies, without its points."""
    gram, groups = Gaussian(1.5)(X), groups_of_copies(X)
    assert groups is not None and groups.bincount().tolist() == [3, 2, 1, 1, 1, 1, 1, 1, 1]
    truth = torch.empty_like(Y)
    for group in range(9):
        out = groups == group
        kept = gram[~out][:, ~out]
        alpha = torch.linalg.solve(kept + ridge * torch.eye(len(kept), dtype=kept.dtype), Y[~out])
        truth[out] = Y[out] - gram[out][:, ~out] @ alpha
    path = ridge_path(gram, Y, [ridge], groups=groups)
    torch.testing.assert_close(path.loo_residuals(ridge), truth, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(path.loo_errors[0], truth.square().mean(0), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(path.at([2 * ridge, ridge]).loo_errors[1], truth.square().mean(0), rtol=1e-7, atol=1e-9)


def test_groups_of_single_points_are_left_out_alone():
    gram = Gaussian(1.5)(X[8:])
    alone, grouped = (ridge_path(gram, Y[8:], [0.5, 0.1], groups=g).loo_errors for g in (None, torch.arange(4)))
    torch.testing.assert_close(alone, grouped)


def test_copies_are_held_out_together():
    from beyondkernels.core import Case, Sample
    from beyondkernels.papers.resnet.problems import Monomial

    x = Stream(1).normal(50, 6).repeat(2, 1)
    sample = Sample(x, x[:, :1])
    case = Case(Monomial(6), sample, sample, Stream(3))
    inside, outside = KernelRidge(Gaussian(1.0), choose="validation", grouped=True)._split(case)
    assert sorted([*inside.tolist(), *outside.tolist()]) == list(range(100))
    assert len(outside) == 20 and not {i % 50 for i in inside.tolist()} & {i % 50 for i in outside.tolist()}
    inside, outside = KernelRidge(Gaussian(1.0), choose="validation")._split(case)
    assert {i % 50 for i in inside.tolist()} & {i % 50 for i in outside.tolist()}
