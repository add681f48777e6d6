"""Scores by scikit-learn and by hand: two outputs, uneven labels, three classes."""

import math

import pytest
import torch
from sklearn.metrics import log_loss as sklearn_log_loss, r2_score

from beyondkernels.measure.scores import log_loss, r2, squared_error

Y = torch.tensor([[1.0, 4.0], [2.0, -1.0], [6.0, 0.5], [0.0, 3.0]])
OUT = torch.tensor([[1.5, 3.0], [2.0, 0.0], [5.0, 0.5], [-1.0, 2.0]])


def test_squared_errors_are_summed_over_outputs_and_averaged_over_points():
    by_hand = (0.25 + 1 + 0 + 1 + 1 + 0 + 1 + 1) / 4
    assert squared_error(OUT, Y) == pytest.approx(by_hand)


def test_r2_weighs_outputs_by_their_variance():
    assert r2(OUT, Y) == pytest.approx(r2_score(Y, OUT, multioutput="variance_weighted"))
    assert r2(OUT / 100, Y / 100) == pytest.approx(r2(OUT, Y))
    assert r2(Y.mean(0).expand_as(Y), Y) == pytest.approx(0, abs=1e-12)
    assert math.isnan(r2(OUT, torch.ones_like(OUT)))


def test_log_loss_is_that_of_scikit_learn_and_finite_at_zero():
    p = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]], dtype=torch.float64)
    right = torch.tensor([0, 2, 0])
    rows = torch.nn.functional.one_hot(right, 3).double()
    assert log_loss(p, rows) == pytest.approx(sklearn_log_loss(right, p, labels=[0, 1, 2]))
    assert math.isfinite(log_loss(torch.eye(3), torch.eye(3).roll(1, 0)))
