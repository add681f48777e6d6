from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.conv import DENSE, SHARED, Conv, problem_of, spec
from beyondkernels.papers.overparam.experiments.two_layers import loss, overparameterised
from papers.judging import cases, check_figures, failing, finish, refuted

EXPERIMENT = Conv()
SETTINGS = replace(EXPERIMENT.settings("smoke"), channels=(4, 16, 64), seeds=3)
SEEDS = (0, 1, 2)


def reading(by_channels: float = 0.8, dense: float = 3.0, size: float = 0.05, few: float = 1.0) -> Reading:
    def outcome(at: At, _: Any) -> Outcome:
        factor = dense if at.method == DENSE else {4: few, 64: by_channels}.get(at.width, 1.0)
        jitter = 1 + 0.01 * at.seed * (1 if at.width == 4 else -1)
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, at.seed), loss())
        return Outcome("finished", {"test_loss": size * factor * jitter * whole, "train_loss": 0.1})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_what_is_expected():
    found = reading()
    assert refuted(found) == []
    check_figures(found, ["samples", "channels"])


@cases(
    ({"by_channels": 1.5}, ["flat", "flat-beyond"]),
    ({"by_channels": 1.5, "few": 15.0}, ["flat-beyond"]),
    ({"dense": 0.9}, ["ahead"]),
    ({"size": 0.5}, ["learnt"]),
)
def test_claims_can_fail(made, wanted):
    assert failing(reading(**made)) == wanted


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_channels_grow_64_fold_beyond_the_samples(scale):
    s = EXPERIMENT.settings(scale)
    assert s.growth >= 64
    beyond = overparameterised(s.channels, s.patch * s.row_dim, s.samples)
    assert beyond == tuple(m for m in s.channels if m >= 125)  # 1000 samples, patches of 8 numbers
    assert 1 < len(beyond) < len(s.channels)


def test_both_learners_see_the_same_points_and_fit_them():
    specs = [spec(SETTINGS, At(method=method, width=16, samples=40, seed=1)) for method in (SHARED, DENSE)]
    assert specs[0].problem == specs[1].problem
    for each in specs:
        assert isinstance(each.learner, bk.engine.TrainedNetwork)
        each.learner.check(each.problem, 40, 100)
