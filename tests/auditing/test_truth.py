"""Cases in which an audit once said what is not true."""

from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.algorithms.losses import PseudoHuber
from beyondkernels.algorithms.optimisers import adam

torch.set_num_threads(1)
STREAM = bk.core.Stream(0).child("truth")

HEALTHY = "The model is trained well enough to compare."


def test_a_linear_model_is_not_clearly_better_than_the_same_model_as_a_fixed_one() -> None:
    """With a robust loss and outliers it beats kernels, but not its own last layer, which is the whole model."""
    x, w = STREAM.child("x").normal(260, 5), STREAM.child("w").normal(5)
    y = x @ w
    y[:200:7] += 60
    data = ((x[:200], y[:200]), (x[200:], y[200:]))
    rule = bk.algorithms.Descent(steps=300, optimiser=adam(2e-2), loss=PseudoHuber())
    few = (
        "Laplace kernel",
        "Gaussian kernel",
        "tangent kernel",
        "trained tangent kernel",
        "feature machine",
        "linearised network",
    )
    found = bk.audit(nn.Linear(5, 1), *data, algorithm=rule, seeds=2, parts="ladder", without=few, progress=False)
    (claim,) = (claim for claim in found.claims if claim.id == "features")
    assert found.sentence.startswith(f"{HEALTHY} No gain from learning features shows")
    assert (claim.measured, claim.holds) == (pytest.approx(0, abs=1e-6), False)


def test_further_steps_are_no_backward_feature_correction() -> None:
    """The block above is a linear head, so the first stage is the model, and nothing corrects it but more steps."""
    x, fresh = STREAM.child("a").normal(500, 10), STREAM.child("b").normal(500, 10)
    data: Any = [(points, (points[:, 0] * points[:, 1] > 0).long()) for points in (x, fresh)]
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
    options: dict[str, Any] = {
        "epochs": 10,
        "batch": 50,
        "learning_rate": 3e-3,
        "parts": "where",
        "snapshots": 3,
        "points": 20,
    }
    found = bk.audit(model, *data, seeds=2, progress=False, **options)
    scores: Any = found.correction.set_index("below")["score"]
    assert scores["released"] > scores["fixed"] + 5  # what used to be called a correction
    assert scores["longer"] > scores["fixed"] + 5
    assert "Backward feature correction matters" not in found.sentence


def test_copies_of_training_points_do_not_make_kernels_weak() -> None:
    """Copies add nothing, and a kernel that fits noise because copies give each other away would lose many points."""
    x, fresh = STREAM.child("a").normal(200, 5), STREAM.child("b").normal(1000, 5)
    inside, truth = ((points.square().sum(1) > 4.35) for points in (x, fresh))
    noisy = inside ^ (STREAM.child("flips").uniform(200) < 0.2)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
    options: dict[str, Any] = {"seeds": 1, "steps": 3, "parts": "ladder", "progress": False}
    found = [bk.audit(model, (x.repeat(k, 1), noisy.repeat(k)), (fresh, truth), **options) for k in (1, 3)]
    once, thrice = (dict(zip(each.ladder["rung"], each.ladder["score"], strict=True)) for each in found)
    for rung in ("linear", "Laplace kernel", "conjugate kernel", "tangent kernel"):
        assert abs(once[rung] - thrice[rung]) < 1.5
