from __future__ import annotations

import math
from typing import Any

import pytest

from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.experiments.bfc.classification import LINEAR, THREE, TWO, Classification, problem_of
from beyondkernels.frame import At, changed
from beyondkernels.runs.perform import perform
from experiments.judging import check_figures, claims_of, failing, finish, undecided

EXPERIMENT = Classification()
LAPTOP, SMOKE = EXPERIMENT.settings("laptop"), EXPERIMENT.settings("smoke")


def claims(**changes: Any) -> dict[str, Any]:
    """Errors of α₃/10 without layer 3 and of 0.001 with it, where nothing else is said."""
    made = {"power": 1.0, "factor": 0.13, "two": 0.1, "learnt_power": 1.0, "three": 0.001} | changes
    records = []
    for alpha in LAPTOP.sizes:
        exact = made["factor"] * 0.1 * (alpha / 0.1) ** made["power"]
        two = made["two"] * 0.1 * (alpha / 0.1) ** made["learnt_power"] + made["three"]
        for seed in range(3):
            place = {"alpha": alpha, "alpha_again": alpha, "seed": seed}
            records += [
                {**place, "method": TWO, "test_error": two, "decided": exact},
                {**place, "method": THREE, "test_error": made["three"], "decided": 0.0},
            ]
    return claims_of(EXPERIMENT, LAPTOP, records)


def test_all_claims_hold_on_good_numbers() -> None:
    found = claims(two=0.11)
    assert failing(found) == undecided(found) == []
    assert [found[name].measured for name in ("exact-slope", "learnt-slope")] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"power": 1.3, "two": 0.2}, ["exact-slope"]),
        ({"learnt_power": 0.7, "two": 0.2}, ["learnt-slope"]),
        ({"factor": 0.05, "two": 0.2}, ["exact-order"]),
        ({"two": 0.05}, ["learnt-order"]),
        ({"three": 0.006, "two": 0.2}, ["theorem4"]),
        ({"two": -0.001}, ["learnt-order", "needed"]),
    ],
)
def test_claims_can_fail(changes: dict[str, Any], wanted: list[str]) -> None:
    assert [name for name in failing(claims(**changes)) if name != "needed" or "needed" in wanted] == wanted


def test_needed_compares_seed_by_seed() -> None:
    assert "needed" in failing(claims(three=0.004, two=0.07))
    assert "needed" not in failing(claims(three=0.004, two=0.2))


def test_v_is_that_of_footnote_47() -> None:
    assert LAPTOP.v == pytest.approx(math.log(2000) / 0.05)
    runs = EXPERIMENT.runs(LAPTOP)[0]
    two, three = (runs.spec(LAPTOP, At(method=method, alpha=0.2, seed=1)) for method in (TWO, THREE))
    rules: Any = [spec.learner.algorithm for spec in (two, three)]  # type: ignore[attr-defined]
    assert [rule.objective.scale for rule in rules] == [LAPTOP.v] * 2
    assert [rule.steps for rule in rules] == [(5000,), (1000, 4000)]
    networks: Any = [spec.learner.network for spec in (two, three)]  # type: ignore[attr-defined]
    assert [network.depth for network in networks] == [2, 3] and all(network.leading for network in networks)


def test_the_decided_share_is_counted() -> None:
    at = At(method=TWO, alpha=0.4, seed=0)
    problem = problem_of(SMOKE, at)
    sample = problem.sample(100_000, Stream(3))
    below = sample.x[:, 0] + problem.contributions(sample.x)[2]
    counted = ((below >= 0).double() * 2 - 1 != sample.y[:, 0]).double().mean().item()
    (runs,) = EXPERIMENT.runs(SMOKE)
    row: Any = runs.read(SMOKE, at, Outcome("finished", {"test_accuracy": 0.75, "train_accuracy": 1.0}))
    assert row["decided"] == pytest.approx(counted, abs=0.003)
    assert (row["test_error"], row["train_error"]) == (0.25, 0.0)
    without: Any = runs.read(SMOKE, At(method=THREE, alpha=0.4, seed=0), Outcome())
    assert without["decided"] == 0.0


def test_table_and_figures() -> None:
    def outcome(at: At, spec: Any) -> Outcome:
        return Outcome("finished", {"test_accuracy": 0.9 - 0.01 * at.seed, "train_accuracy": 1.0})

    read = finish(EXPERIMENT, SMOKE, (0, 1), outcome)
    check_figures(read, ["error"])
    _, lines = read.table
    assert [line["method"] for line in lines[:3]] == [LINEAR, TWO, THREE]


def test_runs_give_accuracies() -> None:
    (runs,) = EXPERIMENT.runs(SMOKE)
    ats = [At(method=method, alpha=0.2, seed=0) for method in (TWO, THREE)]
    for at, outcome in zip(ats, perform([runs.spec(SMOKE, at) for at in ats]), strict=True):
        row: Any = runs.read(SMOKE, at, outcome)
        assert 0 < row["test_error"] < 0.6


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"alphas": (1.0, 0.2, 0.1), "steps": (1, 1, 1)}, "alphas must hold 2 numbers here"),
        ({"sizes": (0.1,)}, "sizes must hold at least two numbers"),
        ({"target_error": 1.0}, "target_error must"),
    ],
)
def test_bad_settings(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        changed(LAPTOP, changes)
