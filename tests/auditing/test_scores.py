"""Scores of the ladder: every learner is measured by the same number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import Descent, PseudoHuber, Scaled, Squared
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.auditing import Audit, ladder
from beyondkernels.auditing.scores import Scores, error_of_test_points
from beyondkernels.lab import Dots, Quantities
from beyondkernels.lab.declaration.rows import OUTCOME

STREAM = torch.Generator().manual_seed(0)
X = torch.randn(60, 4, generator=STREAM)
Y = torch.stack([X[:, 0] * X[:, 1], 5 + 3 * X[:, 2]], 1)
TEST = (X[:20], Y[:20])
TRAIN = (X[20:], 2 * Y[20:])  # another variance than that of the test labels


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def audit(train: Any = TRAIN, test: Any = TEST, **options: Any) -> bk.AuditResult:
    few = (
        "Laplace kernel",
        "Gaussian kernel",
        "feature machine",
        "layer by layer",
        "early features",
        "trained tangent kernel",
    )
    small = {"seeds": 1, "parts": "ladder", "without": few, "progress": False, "probes": False}
    return bk.audit(model(), train, test, **small | options)


def explained(out: torch.Tensor, y: torch.Tensor) -> float:
    """The share of variance explained, summed over outputs, in points."""
    return 100 * (1 - ((out - y) ** 2).sum().item() / ((y - y.mean(0)) ** 2).sum().item())


def test_numbers_are_measured_in_the_variance_of_their_own_labels() -> None:
    rows = audit(steps=3).to_frame().set_index("rung")
    mean = TRAIN[1].mean(0).expand(40, 2)
    assert rows.loc["constant", "score"] == pytest.approx(explained(mean[:20], TEST[1]), abs=1e-3)
    assert rows.loc["constant", "train_score"] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("loss", [Scaled(Squared(), 0.01), PseudoHuber()])
def test_a_model_with_another_loss_is_measured_by_its_squared_error(loss: Any) -> None:
    """A hundredth of the squared error is a hundredth of the loss, and the same score."""
    rule = Descent(steps=5, optimiser=adam(0.01), loss=loss)
    found = audit(algorithm=rule)
    rows = found.to_frame().set_index("rung")
    run = bk.fit(model(), TRAIN, test=TEST, algorithm=rule, progress=False)
    trained = torch.as_tensor(run.predict(TEST[0]))
    assert rows.loc["model", "score"] == pytest.approx(explained(trained, TEST[1]), abs=1e-2)
    for name in ("last layer", "linearised network"):
        assert rows.loc[name, "score"] < 0  # five steps explain nothing: the labels are far from zero


def test_exact_kernels_may_take_the_memory_that_their_points_need() -> None:
    """20,000 points need 16 GB, which is more than a learner takes unless it is told."""
    experiment = Audit(model(), TRAIN, TEST, steps=3)
    settings = experiment.settings("laptop")
    made = {rung.name: rung.make() for rung in ladder(experiment.subject, settings) if rung.make}
    for name in ("linear", "Laplace kernel", "conjugate kernel", "tangent kernel", "trained tangent kernel"):
        assert made[name].memory >= 5 * 8 * settings.exact_points**2  # pyright: ignore[reportAttributeAccessIssue]


def test_a_score_that_all_but_diverged_does_not_spoil_the_picture() -> None:
    experiment = Audit(model(), TRAIN, TEST, steps=3, settings={"parts": ("ladder",), "seeds": 1})
    names = ["constant", "linear", "model"]
    rows = pd.DataFrame(
        [
            {
                "part": "ladder",
                "rung": name,
                "kind": "",
                "seed": 0,
                "score": score,
                "status": "finished",
                "seconds": 1.0,
            }
            for name, score in zip(names, [0.0, 50.0, -1e24], strict=True)
        ]
    )
    (picture, *_) = experiment.figures(experiment.settings("laptop"))
    (figure,) = picture.draw(rows, Quantities())
    assert isinstance(figure, Dots)
    shown = [dot.measured for dot in figure.quantities[0].dots]
    assert shown[:2] == [0.0, 50.0] and shown[2] is None
    assert "below −100 %" in figure.caption


class Shared:
    """What a subject says of test points that all seeds share."""

    shares_test = True

    def __init__(self, y: np.ndarray | None = None) -> None:
        self.classes, self._y = y is None, y

    def label_distances(self) -> np.ndarray:
        assert self._y is not None
        return ((self._y - self._y.mean(0)) ** 2).sum(1)


def resampled(draw: Any, n: int = 400) -> tuple[float, float]:
    """The spread of a difference over 2,000 draws of n test points, and the mean of its standard errors."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        subject, first, second, difference = draw(rng, n)
        found.append(
            (difference, error_of_test_points(subject, Scores({0: 0.0}, {0: first}), Scores({0: 0.0}, {0: second})))
        )
    differences, errors = np.array(found).T
    return differences.std(), errors.mean()


@pytest.mark.parametrize("states", [(0.05, 0.05, 0.15, 0.75), (0.3, 0.2, 0.1, 0.4), (0.4, 0.0, 0.05, 0.55)])
def test_the_error_of_test_points_is_that_of_drawing_others(states: tuple[float, ...]) -> None:
    """Both err, the first, the second, none: with these probabilities at each point."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        state = rng.choice(4, n, p=states)
        first, second = (state == 0) | (state == 1), (state == 0) | (state == 2)
        return Shared(), first.astype(float), second.astype(float), 100 * (second.mean() - first.mean())

    spread, error = resampled(draw)
    assert error == pytest.approx(spread, rel=0.06)  # two points are added to 400


def test_the_error_of_test_points_for_numbers_is_that_of_drawing_others() -> None:
    """The variance of the labels is drawn, too: without it the error would be three quarters of what it is."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        y = rng.normal(size=(n, 2)) * (1 + 2 * rng.random((n, 1)))
        first, second = ((y * share + 0.3 * rng.normal(size=(n, 2))) for share in (0.1, 0.8))
        e1, e2 = (first**2).sum(1), (second**2).sum(1)
        subject = Shared(y)
        return subject, e1, e2, 100 * (e2.mean() - e1.mean()) / subject.label_distances().mean()

    spread, error = resampled(draw)
    assert error == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize("numbers", [True, False])
def test_errors_at_points_belong_to_the_scores_of_an_audit(numbers: bool) -> None:
    """Every run of an audit says its error at each test point, and their mean is its score."""
    test = TEST if numbers else (TEST[0], TEST[1][:, 0] > 0)
    train = TRAIN if numbers else (TRAIN[0], TRAIN[1][:, 0] > 0)
    found = audit(steps=3, train=train, test=test)
    rows = found.result.reading.rows
    assert len(rows) == len(found.ladder)
    variance = found.experiment.subject.label_distances().mean()
    for run, score in zip(rows[OUTCOME], rows["score"], strict=True):
        errors = run.arrays["test_errors"]
        assert errors.shape == (20,)
        assert score == pytest.approx(100 * (1 - errors.mean() / (variance if numbers else 1)), abs=1e-3)


def test_seeds_of_a_distribution_are_measured_in_the_variance_of_their_own_labels() -> None:
    """The labels of another seed may vary ten times as much: the mean explains nothing of either."""
    problem = bk.bfc.QuadraticTarget(10)
    network = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    subject = Audit(network, problem, test=50, n=30, steps=2).subject
    variances = [float(problem.take("test", 50, seed).y.var(unbiased=False)) for seed in range(5)]
    assert max(variances) > 1.5 * min(variances)
    for seed, variance in enumerate(variances):
        scalars = {"test_loss": variance, "train_loss": 1.0}
        assert subject.score(scalars, seed)["score"] == pytest.approx(0, abs=1e-3)


def test_a_single_learner_has_an_error_too() -> None:
    errors = (np.arange(400) < 40).astype(float)
    found = error_of_test_points(Shared(), Scores({0: 90.0, 1: 90.0}, {0: errors, 1: errors}))  # pyright: ignore
    assert found == pytest.approx(100 * math.sqrt(0.1 * 0.9 / 400), rel=0.03)
    assert error_of_test_points(Shared(), Scores({0: 90.0})) == 0  # pyright: ignore


@pytest.mark.parametrize("n", [4, 30])
def test_learners_that_differ_nowhere_differ_at_two_added_points(n: int) -> None:
    """The sum of squares is twice 100² over n + 2 points with mean zero, of which n + 1 are free."""
    same = Scores({0: 50.0}, {0: np.arange(n) % 2.0})
    error = error_of_test_points(Shared(), same, same)  # pyright: ignore[reportArgumentType]
    assert error == pytest.approx(math.sqrt(2 * 100**2 / (n + 1) / (n + 2)), rel=1e-12)
