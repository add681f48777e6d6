from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.experiments.overparam.theorem42 import (
    KERNEL_THREE,
    KERNEL_TWO,
    KERNELS,
    METHODS,
    ONE,
    SUMS,
    THREE,
    TWO,
    Theorem42,
    problem_of,
    spec,
    variance,
)
from beyondkernels.frame import At, Reading
from experiments.judging import check_figures, failing, finish, undecided

EXPERIMENT = Theorem42()
SETTINGS = replace(EXPERIMENT.settings("smoke"), seeds=3)


def reading(three: float = 0.01, **others: float) -> Reading:
    """Relative errors by method at the largest N, for the sums alone where another number is given."""
    names = {"two": TWO, "kernel_three": KERNEL_THREE, "kernel_two": KERNEL_TWO}
    given = {names[name]: value for name, value in others.items()}

    def outcome(at: At, _: Any) -> Outcome:
        usual = three if at.method == THREE else 0.5
        relative = given.get(at.method, usual) if at.target == SUMS else usual
        error = relative * (1 + 0.01 * at.seed) * variance(problem_of(SETTINGS, at.target, at.seed))
        return Outcome("finished", {"test_loss": error, "train_loss": 0.1})

    return finish(EXPERIMENT, SETTINGS, (0, 1, 2), outcome)


def test_what_is_expected():
    found = reading()
    claims = {each.id: each for each in found.claims}
    assert failing(claims) == undecided(claims) == []
    check_figures(found, ["one", "sums"])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (
            {"three": 0.06, "two": 0.7, "kernel_three": 0.7, "kernel_two": 0.7},
            ["one-learnt", "one-two-layers", "one-kernel-three", "one-kernel-two", "sums-learnt"],
        ),
        ({"two": 0.09}, ["sums-two-layers"]),
        ({"kernel_three": 0.09}, ["sums-kernel-three"]),
        ({"kernel_two": 0.09}, ["sums-kernel-two"]),
    ],
)
def test_claims_can_fail(numbers, expected):
    assert failing({each.id: each for each in reading(**numbers).claims}) == expected


def test_the_targets_are_sums_of_cosines():
    """2 cos u cos v = cos(u + v) + cos(u − v), which the notes say of both targets."""
    for target, terms, c in ((ONE, 1, SETTINGS.frequency), (SUMS, SETTINGS.inner_terms, SETTINGS.sums_frequency)):
        problem = problem_of(SETTINGS, target, 1)
        w = problem.matrices()
        x = problem.sample(50, Stream(1)).x.double()
        total = torch.zeros(50, dtype=torch.float64)
        for i in range(terms):
            for j in range(terms):
                for sign in (1, -1):
                    direction = w["w1"][i] + sign * w["w2"][j]
                    total += w["v1"][0, i] * w["v2"][0, j] * torch.cos(c * x @ direction) / 2
        torch.testing.assert_close(problem.signal(x)[:, 0], w["a"][0, 0] * total, rtol=1e-9, atol=1e-9)


def test_all_methods_see_the_same_points():
    specs = {method: spec(SETTINGS, At(target=ONE, method=method, samples=60, seed=1)) for method in METHODS}
    assert len({each.problem for each in specs.values()}) == 1
    for method, each in specs.items():
        each.learner.check(each.problem, 60, 100)
        assert isinstance(each.learner, bk.kernels.KernelRidge) == (method in KERNELS)


def test_variance():
    """That of cos u cos v with independent, uniform u and v is 1/4, and c = 12 is not far from it."""
    assert variance(problem_of(EXPERIMENT.settings("laptop"), ONE, 0)) == pytest.approx(0.25, rel=0.2)
    assert math.isfinite(variance(problem_of(SETTINGS, SUMS, 0)))


def test_settings_that_do_not_fit():
    with pytest.raises(InputError, match="batch must be at most the least of sample_sizes, 30, got 31"):
        replace(SETTINGS, batch=31)
