"""The floor of every comparison."""

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.kernels import Constant


def test_numbers_get_their_mean():
    y = np.array([1.0, 2.0, 6.0, 3.0])
    run = bk.fit(
        Constant(), ((np.arange(8.0).reshape(4, 2), y), (np.ones((2, 2)), np.array([3.0, 5.0]))), progress=False
    )
    assert run.predict(np.zeros((1, 2))).item() == 3.0
    assert run.train_loss == pytest.approx(np.var(y))
    assert run.test_loss == pytest.approx((0 + 4) / 2)


def test_classes_get_the_largest():
    labels = ["a", "b", "b", "c", "b"]
    data = (np.arange(10.0).reshape(5, 2), labels), (np.ones((4, 2)), ["b", "c", "a", "b"])
    run = bk.fit(Constant(), data, progress=False)
    assert run.train_accuracy == pytest.approx(3 / 5)
    assert run.test_accuracy == pytest.approx(2 / 4)
    assert run.predict(torch.zeros(2, 2)).tolist() == ["b", "b"]
