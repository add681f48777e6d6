from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import InputError, Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.conv import DENSE, SHARED, Conv, problem_of, spec
from beyondkernels.papers.overparam.experiments.two_layers import constant_loss
from papers.judging import check_figures, failing, finish, undecided

EXPERIMENT = Conv()
SETTINGS = replace(EXPERIMENT.settings("smoke"), channels=(4, 16, 64), seeds=3)
SEEDS = (0, 1, 2)


def reading(by_channels: float = 0.8, dense: float = 3.0, size: float = 0.05, few: float = 1.0) -> Reading:
    def outcome(at: At, _: Any) -> Outcome:
        factor = dense if at.method == DENSE else {4: few, 64: by_channels}.get(at.width, 1.0)
        jitter = 1 + 0.01 * at.seed * (1 if at.width == 4 else -1)
        loss = size * factor * jitter * constant_loss(problem_of(SETTINGS, at.seed))
        return Outcome("finished", {"test_loss": loss, "train_loss": 0.1})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_what_is_expected():
    found = reading()
    claims = {each.id: each for each in found.claims}
    assert failing(claims) == undecided(claims) == []
    check_figures(found, ["samples", "channels"])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"by_channels": 1.5}, ["flat", "flat-beyond"]),
        ({"by_channels": 1.5, "few": 15.0}, ["flat-beyond"]),
        ({"dense": 0.9}, ["ahead"]),
        ({"size": 0.5}, ["learnt"]),
    ],
    ids=["rises", "rises from where it is learnt", "behind", "not learnt"],
)
def test_claims_can_fail(numbers, expected):
    assert failing({each.id: each for each in reading(**numbers).claims}) == expected


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_channels_grow_at_least_64_fold(scale):
    assert EXPERIMENT.settings(scale).growth >= 64


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_channels_that_are_overparameterised(scale):
    s = EXPERIMENT.settings(scale)
    assert s.beyond == tuple(m for m in s.channels if m >= 125)  # 1000 samples, patches of 8 numbers
    assert 1 < len(s.beyond) < len(s.channels)


def test_both_learners_see_the_same_points_and_fit_them():
    specs = [spec(SETTINGS, At(method=method, width=16, samples=40, seed=1)) for method in (SHARED, DENSE)]
    assert specs[0].problem == specs[1].problem
    for each in specs:
        assert isinstance(each.learner, bk.engine.TrainedNetwork)
        each.learner.check(each.problem, 40, 100)


def test_settings_that_do_not_fit():
    with pytest.raises(InputError, match="patch must be at most rows = 4, got 5"):
        replace(SETTINGS, patch=5)
    with pytest.raises(InputError, match="channel must be one of channels"):
        replace(SETTINGS, channel=5)
    with pytest.raises(InputError, match="rows must be at most 1000, got 1001"):
        replace(SETTINGS, rows=1001)
