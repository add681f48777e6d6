"""Curves of the front door: recorded by default, cheap, without any influence, and drawn in notebooks."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, r2_score
from torch import nn

import beyondkernels as bk
from beyondkernels.algorithms import Descent, PseudoHuber
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.learning.curves import comparison_pictures, recording, run_pictures

X = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
WORDS = np.array(["a", "b", "c"])[X[:, :3].argmax(1)]
NUMBERS = X @ np.arange(6, dtype=np.float32)


def arrays_of(run: bk.learning.Run) -> Mapping[str, np.ndarray]:
    assert isinstance(run.problem, bk.data.GivenData)
    return run.problem.arrays


def module(outputs: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, outputs))


def test_the_record_changes_no_number_of_the_run():
    recorded = bk.fit(module(), (X, WORDS), epochs=8, learning_rate=0.01)
    silent = bk.fit(module(), (X, WORDS), epochs=8, learning_rate=0.01, record_at=())
    assert len(recorded.outcome.series["test_loss"]) >= 3
    assert not silent.outcome.series
    assert recorded.outcome.scalars == silent.outcome.scalars
    assert torch.equal(recorded.outputs(X), silent.outputs(X))
    chosen = bk.fit(module(), (X, WORDS), epochs=8, record_at=(0, 5))
    assert chosen.outcome.series["step"].tolist() == [0, 5]


def test_pictures_of_a_run_and_of_a_comparison():
    run = bk.fit(module(), (X, WORDS), epochs=8, learning_rate=0.01, validation=0.2)
    loss, accuracy = run_pictures(run.outcome)
    assert [label for label, _, _ in loss.lines] == ["train", "validation", "test"]
    assert accuracy.y_label == "accuracy, %"
    series = run.outcome.series
    assert list(accuracy.lines[2][2][0]) == pytest.approx((100 * series["test_accuracy"]).tolist())
    html = run._repr_html_()
    assert html.count("data:image/svg+xml") == 2
    assert len(html) < 120_000
    comparison = bk.compare(
        (X, WORDS), learners={"net": module(), "kernel": bk.kernels.Gaussian(2.0)}, seeds=2, epochs=2
    )
    outcomes = {name: [each.outcome for each in runs] for name, runs in comparison.runs.items()}
    (picture,) = comparison_pictures(outcomes, "accuracy")
    assert [label for label, _, _ in picture.lines] == ["net"]
    assert np.shape(picture.lines[0][2])[0] == 2
    assert picture.levels[0] == ("kernel", pytest.approx(100 * comparison.rows[1]["test_accuracy"]))
    assert "svg" in comparison._repr_html_()
    assert "svg" not in bk.compare((X, WORDS), learners={"kernel": bk.kernels.Gaussian(2.0)}, seeds=1)._repr_html_()


def test_all_learners_have_one_common_number_for_classes():
    two = np.where(X[:, 0] > 0, "up", "down")
    learners = {
        "two outputs": module(2),
        "one output": module(1),
        "kernel": bk.kernels.Gaussian(2.0),
        "estimator": LogisticRegression(),
    }
    comparison = bk.compare((X, two), learners=learners, seeds=1, epochs=10, learning_rate=0.01)
    truth = arrays_of(comparison.runs["kernel"][0])
    for name, (run,) in comparison.runs.items():
        if name == "kernel":
            above = (1 + run.outputs(truth["test_x"])[:, 0].numpy()) / 2
            expected = float((2 * (above - truth["test_y"]) ** 2).mean())
        else:
            above = run.predict_proba(truth["test_x"])[:, 1]
            expected = 2 * brier_score_loss(truth["test_y"], above)
            assert run.test_log_loss == pytest.approx(log_loss(truth["test_y"], above), rel=1e-4)
        assert run.test_squared_error == pytest.approx(expected, rel=1e-4), name
    assert "test squared error" in comparison._repr_html_()
    hinge = bk.fit(module(3), (X, WORDS), loss="hinge", steps=2)
    assert not hasattr(hinge, "test_squared_error")


def test_numbers_are_compared_by_their_squared_error():
    learners = {"mine": nn.Linear(6, 1), "kernel": bk.kernels.PolynomialKernel(2)}
    comparison = bk.compare((X, NUMBERS), learners=learners, seeds=1, epochs=40, learning_rate=0.05)
    for (run,) in comparison.runs.values():
        arrays = arrays_of(run)
        assert run.test_squared_error == pytest.approx(run.test_loss, rel=1e-4, abs=1e-8)
        assert run.test_r2 == pytest.approx(r2_score(arrays["test_y"], run.predict(arrays["test_x"])), abs=1e-4)
    other = bk.compare((X, NUMBERS), learners=learners, seeds=1, epochs=2, loss=PseudoHuber())
    row = other.rows[0]
    assert f"{row['test_squared_error']:.3g}" in str(other)  # its own loss cannot be compared with the kernel's


@pytest.mark.parametrize(("steps", "batch", "n"), [(1, 10, 10), (2, 64, 500), (300, 64, 3200), (20_000, 64, 60_000)])
def test_the_record_looks_at_few_points(steps, batch, n):
    found = recording(Descent(steps, adam(1e-3), batch), n, samples=2)
    times, points = found["record_at"], found["record_points"]
    assert times[0] == 0
    assert times[-1] == steps
    assert len(times) <= 21
    assert len(set(times)) == len(times)
    if steps * batch > 2 * 3 * 64 / 0.04:  # with less than that, three times 64 points are looked at
        assert 2 * len(times) * points <= 0.041 * steps * batch
