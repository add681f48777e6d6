"""The errors of a run at each test point."""

import numpy as np
import torch

import beyondkernels as bk
from beyondkernels.execution import perform
from beyondkernels.measure import OutputSpread, PointErrors
from beyondkernels.store import RunSpec

X = bk.core.Stream(0).child("points").normal(60, 3)
KERNEL = bk.kernels.Gaussian(1.0)


def test_errors_are_those_of_the_predictions_and_kernels_are_not_asked_again():
    y = (X[:, :1] * X[:, 1:2]).sign()
    for labels in (y, X[:, :2] ** 2):
        problem = bk.data.given((X[:40], labels[:40]), test=(X[40:], labels[40:]))
        (outcome,) = perform(
            [RunSpec(problem, bk.kernels.KernelRidge(KERNEL), 40, 20, 0, measurements=(PointErrors(), OutputSpread()))]
        )
        assert outcome.predictor is not None
        out = outcome.predictor(problem.take("test", 20, 0).x)
        target = problem.take("test", 20, 0).y.reshape(out.shape)
        truth = (out.sign() != target).double()[:, 0] if labels is y else ((out - target) ** 2).sum(1)
        np.testing.assert_allclose(outcome.arrays["test_errors"], truth, rtol=1e-6)
        assert torch.equal(outcome.predicted["test"], out)
        spread = ((out - out.mean(0)) ** 2).sum(1).mean() ** 0.5
        assert abs(outcome.scalars["output_spread"] - float(spread)) <= 1e-9 * float(spread) > 0
