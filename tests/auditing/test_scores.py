"""Scores of the ladder: every learner is measured by the same number."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import Descent, PseudoHuber, Scaled, Squared
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.auditing import Audit, ladder
from beyondkernels.reports import Dots

STREAM = torch.Generator().manual_seed(0)
X = torch.randn(60, 4, generator=STREAM)
Y = torch.stack([X[:, 0] * X[:, 1], 5 + 3 * X[:, 2]], 1)
TEST = (X[:20], Y[:20])
TRAIN = (X[20:], 2 * Y[20:])  # another variance than that of the test labels


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def audit(**options: Any) -> bk.AuditResult:
    few = ("Laplace kernel", "feature machine", "layer by layer", "early features", "trained tangent kernel")
    small = {"seeds": 1, "parts": "ladder", "without": few, "progress": False}
    return bk.audit(model(), TRAIN, TEST, **small | options)


def explained(out: torch.Tensor, y: torch.Tensor) -> float:
    """The share of variance explained, summed over outputs, in points."""
    return 100 * (1 - ((out - y) ** 2).sum().item() / ((y - y.mean(0)) ** 2).sum().item())


def test_numbers_are_measured_in_the_variance_of_their_own_labels() -> None:
    rows = audit(steps=3).to_frame().set_index("rung")
    mean = TRAIN[1].mean(0).expand(40, 2)
    assert rows.loc["constant", "score"] == pytest.approx(explained(mean[:20], TEST[1]), abs=1e-3)
    assert rows.loc["constant", "train_score"] == pytest.approx(0, abs=1e-3)


def test_seeds_of_a_distribution_are_measured_in_the_variance_of_their_own_labels() -> None:
    """The labels of another seed may vary ten times as much: the mean explains nothing of either."""
    problem = bk.problems.QuadraticTarget(10)
    network = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    subject = Audit(network, problem, test=50, n=30, steps=2).subject
    variances = [float(problem.take("test", 50, seed).y.var(unbiased=False)) for seed in range(5)]
    assert max(variances) > 1.5 * min(variances)
    for seed, variance in enumerate(variances):
        scalars = {"test_loss": variance, "train_loss": 1.0}
        assert subject.score(scalars, seed)["score"] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("loss", [Scaled(Squared(), 0.01), PseudoHuber()])
def test_a_model_with_another_loss_is_measured_by_its_squared_error(loss: Any) -> None:
    """A hundredth of the squared error is a hundredth of the loss, and the same score."""
    rule = Descent(steps=5, optimiser=adam(0.01), objective=loss)
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
    (figure,) = picture.draw(rows)
    assert isinstance(figure, Dots)
    shown = [dot.measured for dot in figure.quantities[0].dots]
    assert shown[:2] == [0.0, 50.0] and shown[2] is None
    assert "below −100 %" in figure.caption
