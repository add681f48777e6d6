"""Grids, and networks trained over them."""

from __future__ import annotations

import math

import pytest

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import InputError
from beyondkernels.engine import TrainedNetwork, fit
from beyondkernels.networks import FullyConnected, Parameterisation, TwoLayer
from beyondkernels.problems import DictionaryParity
from beyondkernels.runs import Store, fit_many, grid, one_two_five

PROBLEM = DictionaryParity(dim=8, patterns=6, relevant=3)
NETWORK = FullyConnected(width=8, depth=2, parameterisation=Parameterisation("standard"))
RULE = GradientDescent(steps=12, learning_rate=0.1, batch=10, objective=Squared())


def sweep(points, **words):
    return fit_many(NETWORK, PROBLEM, 60, algorithm=RULE, grid=points, test=30, **words)


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_every_point_is_the_run_alone(backend):
    points = grid(learning_rate=[0.01, 0.1], weight_decay=[0.0, 0.1], seed=range(2))
    rows = sweep(points, backend=backend).rows
    assert len(rows) == 8
    for point, row in zip(points, rows, strict=True):
        rule = GradientDescent(12, point["learning_rate"], 10, weight_decay=point["weight_decay"], objective=Squared())
        alone = fit(TrainedNetwork(NETWORK, rule, backend=backend), PROBLEM, n=60, seed=point["seed"], test=30)
        assert row == point | {"status": "finished"} | alone.outcome.scalars


def test_fields_of_the_network_and_inside_it():
    points = grid(width=[4, 16], parameterisation__weight_variance=[0.5, 2.0])
    rows = sweep(points).rows
    assert len({row["test_loss"] for row in rows}) == 4
    wide = FullyConnected(width=16, depth=2, parameterisation=Parameterisation("standard", 0.5))
    alone = fit(TrainedNetwork(wide, RULE), PROBLEM, n=60, test=30)
    assert rows[2]["test_loss"] == alone.test_loss


def test_runs_that_blow_up_are_rows_too():
    found = sweep(grid(learning_rate=[0.01, 1e20]), backend="compiled")
    assert [row["status"] for row in found.rows] == ["finished", "diverged"]
    assert found.best()["learning_rate"] == 0.01
    with pytest.raises(InputError, match="no finished run has 'test_risk'; there are learning_rate, status"):
        found.best("test_risk")


def test_a_store_keeps_them_and_workers_change_nothing(tmp_path):
    points = grid(learning_rate=[0.01, 0.1], seed=range(2))
    first = sweep(points, store=tmp_path / "store", workers=2)
    assert Store.open(tmp_path / "store").size().runs == 4
    assert first.rows == sweep(points).rows == sweep(points, store=tmp_path / "store").rows


def test_best_by_the_largest():
    rows = sweep(grid(seed=range(4)))
    assert rows.best("test_loss", smallest=False)["test_loss"] == max(row["test_loss"] for row in rows.rows)


def test_one_two_five():
    assert one_two_five(1e-3, 1e-1) == [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1]
    assert one_two_five(3, 4) == []
    assert one_two_five(0.2, 0.2) == [0.2]
    assert all(math.isclose(math.log10(x) % 1, 0, abs_tol=1e-9) for x in one_two_five(1e-9, 1e9)[::3])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: grid(learning_rate=[0.1, 0.2, 0.1]), "learning_rate must take each value once, got 0.1 twice"),
        (lambda: grid(learning_rate=[0.1, 0.0]), "learning_rate must be positive, got 0.0"),
        (lambda: grid(width=[-5]), "width must be positive, got -5"),
        (lambda: grid(seed=[]), "seed must take at least one value, got none"),
        (lambda: one_two_five(0, 1), "low and high must be positive and in order, got 0 and 1"),
        (lambda: sweep([]), "grid must hold at least one point, got none"),
        (lambda: sweep(grid(learning_rat=[0.1])), "unknown setting 'learning_rat', did you mean learning_rate"),
        (
            lambda: sweep(grid(parameterisation__weight=[1.0])),
            "unknown setting 'weight', known: parameterisation",
        ),
        (lambda: sweep(grid(learning_rate=[-1.0], seed=[0])), "learning_rate must be positive, got -1.0"),
    ],
)
def test_bad_grids(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_the_front_door():
    assert bk.fit_many is fit_many
    assert bk.grid is grid
    assert bk.one_two_five is one_two_five
    found = bk.fit_many(
        TwoLayer(pairs=4), PROBLEM, 60, algorithm=GradientDescent(5, 0.1), grid=bk.grid(seed=[0]), test=30
    )
    assert "test_accuracy" in found.rows[0]
