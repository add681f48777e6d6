"""Both ways to train are the same training; their times are not tested."""

import math

import pytest

from beyondkernels.bench import training


@pytest.mark.parametrize("make", [training.dense, training.convolutional])
def test_our_training_and_the_loop_take_equally_many_steps(make):
    data = training.images(128)
    loop = training.by_hand(make(), data, epochs=2)()
    run = training.by_fit(make(), data, epochs=2)()
    assert run.steps == 4
    shapes = {name: value.shape for name, value in loop.named_parameters()}
    assert {name: value.shape for name, value in run.module.named_parameters()} == shapes


def test_a_row(monkeypatch):
    small = {"training-dense": (training.dense, 128, 1, "small")}
    monkeypatch.setattr(training, "training_cases", lambda: small)
    (row,) = training.rows()
    assert row.name == "training-dense"
    assert row.ratio is not None
    assert math.isfinite(row.ratio)
