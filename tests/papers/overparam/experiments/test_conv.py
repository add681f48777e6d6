from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.conv import DENSE, SHARED, Conv, problem_of, spec
from beyondkernels.papers.overparam.experiments.two_layers import loss, overparameterised
from papers.judging import check_figures, finish, refuted

EXPERIMENT = Conv()
SETTINGS = replace(EXPERIMENT.settings("smoke"), channels=(4, 16, 64), seeds=3)
SEEDS = (0, 1, 2)


def test_what_is_expected():
    def outcome(at: At, _: Any) -> Outcome:
        factor = 3.0 if at.method == DENSE else {64: 0.8}.get(at.width, 1.0)
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, at.seed), loss())
        return Outcome("finished", {"test_loss": 0.05 * factor * (1 + 0.01 * at.seed) * whole, "train_loss": 0.1})

    found = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    assert refuted(found) == []
    check_figures(found, ["samples", "channels"])


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
