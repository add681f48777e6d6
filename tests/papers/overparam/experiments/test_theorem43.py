import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.theorem42 import ONE, SUMS, TARGETS
from beyondkernels.papers.overparam.experiments.theorem43 import (
    OBJECTIVES,
    PLAIN,
    SIGNED,
    Theorem43,
    problem_of,
    rate_of,
    row,
    settings_of,
    spec,
)
from beyondkernels.papers.overparam.experiments.two_layers import loss
from papers.judging import check_figures, finish, unshaken

EXPERIMENT = Theorem43()
SETTINGS = replace(EXPERIMENT.settings("smoke"), seeds=3)


def test_what_the_theorem_promises():
    """L2's gap is below L1's and its training loss falls with m, as ‖W‖ ∝ m^(−3/4) does."""

    def outcome(at: At, _: Any) -> Outcome:
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, at.target, at.seed), loss())
        signed, widest = at.objective == SIGNED, at.width == SETTINGS.widths[-1]
        fit = (0.1 if widest else 0.3) if signed else 0.02
        more = 0.03 if not signed else 0.02 if widest else 0.025
        norms = {"rule/w_norm": np.array([9.0, at.width**-0.75]), "rule/v_norm": np.array([9.0, 1.0])}
        losses = {"train_loss": fit * whole, "test_loss": (fit + more + 0.001 * at.seed) * whole}
        return Outcome("finished", losses | {"scale": 0.9, "chosen": 1.0}, norms)

    found = finish(EXPERIMENT, SETTINGS, (0, 1, 2), outcome)
    assert unshaken(EXPERIMENT, SETTINGS, found.rows) == []
    check_figures(found, ["gap", "test", "bound"])


def test_the_width_grows_64_fold():
    assert all(EXPERIMENT.settings(scale).growth == 64 for scale in ("laptop", "paper"))


def test_settings_have_the_powers_of_lemma_5_3():
    """The same ratios between two widths as the lemma's own settings."""
    narrow, wide = 100, 1000
    ours = [settings_of(SETTINGS, m) for m in (narrow, wide)]
    theirs = [bk.overparam.lemma53(0.1, m, rate=1e-3, steps=10) for m in (narrow, wide)]

    def ratios(pair):
        numbers = [(*each.smoothing, *each.penalties, *each.radii, each.gradient_noise) for each in pair]
        return [one / other for one, other in zip(*numbers, strict=True)]

    assert ratios(ours) == pytest.approx(ratios(theirs))
    assert ours[0].radii == pytest.approx((SETTINGS.first_radius / narrow**0.75, SETTINGS.second_radius))


def test_both_objectives_see_the_same_and_differ_in_the_objective_alone():
    specs = [spec(SETTINGS, At(target=SUMS, objective=each, width=8, seed=1)) for each in OBJECTIVES]
    rules = []
    for each in specs:
        assert isinstance(each.learner, bk.engine.TrainedNetwork)
        rules.append(each.learner.algorithm)
    assert specs[0].problem == specs[1].problem
    assert [rule.variant for rule in rules] == [PLAIN, SIGNED]
    assert replace(rules[0], variant=SIGNED) == rules[1]


def test_rates():
    s = replace(SETTINGS, rate=8.0, largest_rate=0.1)
    assert [rate_of(s, m) for m in (16, 80, 800)] == pytest.approx([0.1, 0.1, 0.01])


def test_targets_are_products_of_cosines():
    x = problem_of(SETTINGS, ONE, 2).sample(20, Stream(0)).x.double()
    for target in TARGETS:
        problem = problem_of(SETTINGS, target, 2)
        w = problem.matrices()
        factors = [
            torch.cos(SETTINGS.frequency * x @ w[f"w{each}"].T.double()) @ w[f"v{each}"][0].double() for each in (1, 2)
        ]
        expected = w["a"][0, 0].double() * factors[0] * factors[1]
        torch.testing.assert_close(problem.signal(x)[:, 0], expected, rtol=1e-9, atol=1e-9)


def test_what_is_read_of_a_run():
    at = At(target=ONE, objective=SIGNED, width=16, seed=0)
    whole = bk.overparam.constant_loss(problem_of(SETTINGS, ONE, 0), loss())
    series = {"rule/w_norm": np.array([0.5]), "rule/v_norm": np.array([3.0])}
    scalars = {"train_loss": 0.1, "test_loss": 0.25, "scale": 0.8, "chosen": 1.0}
    found = row(SETTINGS, at, Outcome("finished", scalars, series))
    assert found["gap"] == pytest.approx(0.15 / whole)
    assert found["bound"] == pytest.approx((0.5 * 3 * 2 * 4 + 1) / math.sqrt(SETTINGS.samples))
    assert found["inside"] == pytest.approx(max(0.5 / (SETTINGS.first_radius / 8), 3 / SETTINGS.second_radius))
    plain = row(SETTINGS, At(target=ONE, objective=PLAIN, width=16, seed=0), Outcome("finished", scalars, series))
    rows = 0.5 * 8, 3 * 4
    expected = 4 * (rows[0] ** (2 / 3) + rows[1] ** (2 / 3)) ** 1.5 / math.sqrt(SETTINGS.samples)
    assert plain["bound"] == pytest.approx(expected)
    assert set(row(SETTINGS, at, Outcome("diverged", {}))) == {"run", "w_radius", "v_radius"}


def test_the_recorded_norms_are_those_of_the_increments():
    """At the second step they are those after one step, which leaves W⁽⁰⁾ by η times a gradient."""
    s = replace(SETTINGS, steps=2)
    problem = spec(s, At(target=ONE, objective=PLAIN, width=4, seed=0))
    assert isinstance(problem.learner, bk.engine.TrainedNetwork)
    run = bk.fit(
        replace(problem.learner, snapshot_at=(0, 1), snapshot_names=("W", "V")),
        problem.problem, s.samples, seed=0, test=10, progress=False,
    )  # fmt: skip
    arrays = run.outcome.arrays
    W, V = (arrays[f"snapshot/1/{name}"] - arrays[f"snapshot/0/{name}"] for name in ("W", "V"))
    found = run.outcome.series
    assert found["rule/step"].tolist() == [1.0]
    assert found["rule/w_norm"][-1] == pytest.approx(((W**2).sum(1) ** 2).sum() ** 0.25, rel=1e-4)
    assert found["rule/v_norm"][-1] == pytest.approx(np.linalg.norm(V), rel=1e-4)
