"""Grids, and networks trained over them."""

import math

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import InputError, build, describe
from beyondkernels.engine import TrainedNetwork
from beyondkernels.learning import fit, fit_many, grid, one_two_five
from beyondkernels.networks import FullyConnected, Parameterisation
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.store import RunSpec, Store
from beyondkernels.store.checkpoints import Checkpoints
from refusals import refused

PROBLEM = DictionaryParity(dim=8, patterns=6, relevant=3)
NETWORK = FullyConnected(width=8, depth=2, parameterisation=Parameterisation("standard"))
RULE = GradientDescent(steps=12, learning_rate=0.1, batch=10, loss=Squared())


def sweep(points, **words):
    return fit_many(NETWORK, PROBLEM, 60, algorithm=RULE, grid=points, test=30, **words)


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_every_point_is_the_run_alone(backend):
    points = grid(learning_rate=[0.01, 0.1], weight_decay=[0.0, 0.1], seed=range(2))
    rows = sweep(points, backend=backend).rows
    assert len(rows) == 8
    for point, row in zip(points, rows, strict=True):
        rule = GradientDescent(12, point["learning_rate"], 10, weight_decay=point["weight_decay"], loss=Squared())
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
    refused("no finished run has 'test_risk'; there are learning_rate, status", found.best, "test_risk")


def test_best_is_one_that_finished():
    rows = (
        {"seed": 0, "status": "finished", "steps": 12.0, "loss": math.nan},
        {"seed": 1, "status": "diverged", "steps": 3.0, "loss": 0.0},
        {"seed": 2, "status": "finished", "steps": 11.0, "loss": 2.0},
        {"seed": 3, "status": "crashed", "reason": "ValueError"},
        {"seed": 4, "status": "finished", "steps": 13.0, "loss": 3.0},
    )
    assert bk.learning.Sweep(rows).best("steps")["seed"] == 2
    assert bk.learning.Sweep(rows).best("loss")["seed"] == 2
    assert bk.learning.Sweep(rows).best("loss", smallest=False)["seed"] == 4
    refused("no run finished: of 2 runs 1 diverged and 1 crashed", lambda: bk.learning.Sweep(rows[1:4:2]).best("steps"))
    with pytest.raises(InputError, match=r"'loss' is not a number in any finished run; of 2 runs 1 diverged and 0 cra"):
        bk.learning.Sweep(rows[:2]).best("loss")


def test_a_store_keeps_them_and_workers_change_nothing(tmp_path):
    points = grid(learning_rate=[0.01, 0.1], seed=range(2))
    first = sweep(points, store=tmp_path / "store", workers=2, memory=2**34)
    assert Store.open(tmp_path / "store").size().runs == 4
    assert first.rows == sweep(points).rows == sweep(points, store=tmp_path / "store").rows


def test_one_two_five():
    assert one_two_five(1e-3, 1e-1) == [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1]
    assert one_two_five(3, 4) == []
    assert one_two_five(0.2, 0.2) == [0.2]
    assert all(math.isclose(math.log10(x) % 1, 0, abs_tol=1e-9) for x in one_two_five(1e-9, 1e9)[::3])


MEMORY = r"width=1000000000 needs \d+ GiB, memory allows 8 GiB: width \d+ would fit"
POINTS = r"grid must be a list of points, as bk.grid\(learning_rate=\[0.1, 0.2\]\) makes it, got"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: grid(learning_rate=[0.1, 0.2, 0.1]), "learning_rate must take each value once, got 0.1 twice"),
        (lambda: grid(learning_rate=[0.1, 0.0]), "learning_rate must be positive, got 0.0"),
        (lambda: grid(learning_rate=0.1), r"learning_rate must be several values, such as \[0.1\], got 0.1"),  # pyright: ignore
        (lambda: grid(seed=5), r"seed must be several values, such as range\(5\), got 5"),  # pyright: ignore
        (lambda: grid(seed=[]), "seed must take at least one value, got none"),
        (lambda: one_two_five(0, 1), "low and high must be positive and in order, got 0 and 1"),
        (lambda: sweep([]), "grid must hold at least one point, got none"),
        (lambda: sweep({"seed": [0]}), POINTS),
        (lambda: sweep([{"seed": 0}, {"seed": 0}]), "grid must hold each point once, got {'seed': 0} twice"),
        (lambda: sweep([{"seed": 0}, {"learning_rate": 0.1}]), "and {'seed': 0}, which are one run"),
        (lambda: sweep([{"n": 9}]), "batch must not exceed the 9 points of the sample, got 10"),
        (lambda: sweep([{"problem__dims": 3}]), "unknown setting 'problem__dims', did you mean problem__dim"),
        (lambda: sweep(grid(parameterisation__weight=[1.0])), "did you mean parameterisation__weight_variance"),
        (lambda: sweep(grid(seed=[0]), record_at=(13,)), r"record_at must lie in \[0, 12\], the steps .*, got 13"),
        (lambda: sweep(grid(seed=[0]), recordat=(1,)), "unknown argument 'recordat', did you mean record_at"),
        (lambda: sweep(grid(seed=[0]), workers=0), "workers must be a positive whole number, got 0"),
        (lambda: sweep(grid(seed=[0]), seeds=5), r"seeds go into the grid: bk.grid\(seed=range\(5\)\)"),
        (lambda: sweep(grid(loss=["squared"])), r"loss must be a Loss, such as Squared\(\), got 'squared'"),
        (lambda: sweep(grid(activation=[3])), "activation must be an Activation or str, such as .*, got 3"),
        (lambda: sweep(grid(width=[8, 10**9])), MEMORY),
    ],
)
def test_bad_grids(call, sentence):
    refused(sentence, call)


@pytest.mark.parametrize("which", ["network", "problem", "algorithm"])
def test_classes_in_place_of_instances(which):
    given = {"network": NETWORK, "problem": PROBLEM, "algorithm": RULE}
    for wrong in (type(given[which]), "relu"):
        with pytest.raises(InputError, match=f"{which} must be an? {which.capitalize()}"):
            fit_many(**{**given, which: wrong}, n=60, grid=grid(width=[4, 8]), test=30)  # pyright: ignore


def test_a_damaged_run_is_done_again(tmp_path):
    points = grid(seed=range(2))
    before = sweep(points, store=tmp_path / "store")
    for result in (tmp_path / "store" / "runs").rglob("result.json"):
        result.write_bytes(b"{}")
    assert sweep(points, store=tmp_path / "store").rows == before.rows
    assert Store.open(tmp_path / "store").size().quarantined == 2


def test_all_points_are_looked_at_before_the_first_is_trained(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(TrainedNetwork, "fit_together", refuse)
    for bad in ({"width": 10**9}, {"batch": 1000}, {"learning_rate": -1.0}, {"weight": 2}):
        with pytest.raises(InputError):
            sweep([{"seed": 0}, bad], store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_memory_is_the_callers_to_give():
    points = [{"width": 8}]
    for workers in (1, 2):  # with enough memory, workers that start: in the test of a store above
        refused(r"width=8 needs .* KiB, memory allows", sweep, points, memory=2000, workers=workers)
    assert sweep(points, memory=2**34, workers=1).rows == sweep(points).rows


def test_a_worker_knows_how_much_memory_it_may_use(monkeypatch):
    """What a worker is sent says it, though it is no part of the run's key."""
    learner = TrainedNetwork(NETWORK, RULE, memory=12345)
    spec = RunSpec(PROBLEM, learner, 60, 30, 0)
    assert "memory" not in describe(spec)["fields"]["learner"]["fields"]
    sent = describe(spec, remarks=True)
    assert build(sent).learner.memory == 12345
    assert build(sent).key == spec.key == RunSpec(PROBLEM, TrainedNetwork(NETWORK, RULE), 60, 30, 0).key


def test_training_sets_of_other_sizes_and_problems():
    points = grid(n=[30, 60], problem__relevant=[2, 3], seed=[5])
    rows = sweep(points).rows
    for point, row in zip(points, rows, strict=True):
        problem = DictionaryParity(dim=8, patterns=6, relevant=point["problem__relevant"])
        alone = fit(TrainedNetwork(NETWORK, RULE), problem, n=point["n"], seed=5, test=30)
        assert row == point | {"status": "finished"} | alone.outcome.scalars


def test_numbers_of_other_libraries_are_the_same_numbers(tmp_path):
    ours = sweep(grid(width=[4], learning_rate=[0.1, 0.2], seed=range(2)), store=tmp_path / "store")
    rates = np.array([0.1, 0.2])
    theirs = sweep(grid(width=np.array([4]), learning_rate=rates, seed=np.arange(2)), store=tmp_path / "store")
    assert ours.rows == theirs.rows
    assert Store.open(tmp_path / "store").size().runs == 4
    assert type(grid(seed=np.arange(2))[1]["seed"]) is int


def test_a_sweep_that_was_killed_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("beyondkernels.learning.batch.SAVE_EVERY", 0.0)
    points, store = grid(learning_rate=[0.01, 0.1], seed=range(2)), tmp_path / "store"
    write, saved = Checkpoints.write, []

    def ended(*arguments):
        write(*arguments)
        saved.append(arguments[1])
        if len(saved) == 30:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "write", ended)
        with pytest.raises(KeyboardInterrupt):
            sweep(points, store=store)
    assert Store.open(store).size().checkpoints == len(set(saved)) == 4
    assert sweep(points, store=store).rows == sweep(points).rows
    assert Store.open(store).size().checkpoints == 0


def test_the_best_of_a_sweep_by_its_name():
    rows = tuple({"status": "finished", "test_accuracy": a, "test_r2": a, "test_loss": a} for a in (0.5, 0.9, 0.7))
    found = bk.learning.Sweep(rows)
    assert found.best("test_accuracy") is found.best("test_r2") is rows[1]
    assert found.best("test_loss") is found.best() is rows[0]
    assert found.best("test_accuracy", smallest=True) is rows[0]
    assert found.best("test_loss", smallest=False) is rows[1]


def test_numbers_of_single_precision_are_what_they_say():
    for given in (np.array([0.01, 1e-7], np.float32), torch.tensor([0.01, 1e-7]), [np.float32(0.01), np.float32(1e-7)]):
        assert [point["weight_decay"] for point in grid(weight_decay=given)] == [0.01, 1e-7]
    assert grid(weight_decay=np.array([0.1], np.float16)) == [{"weight_decay": 0.1}]
    assert grid(weight_decay=np.array([0.1], np.float64)) == [{"weight_decay": 0.1}]
    points = [{"learning_rate": np.float32(0.01)}]
    assert sweep(points).rows == sweep(grid(learning_rate=[0.01])).rows
