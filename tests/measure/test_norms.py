"""Norms of weights against the weights themselves."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError
from beyondkernels.measure.norms import NormedNetwork
from beyondkernels.runs import RunSpec
from beyondkernels.runs.perform import perform

torch.set_num_threads(1)

PROBLEM = bk.problems.Monomial(6)
NETWORK = bk.networks.FullyConnected(5, 2)


def rule(rate: float) -> Any:
    return bk.algorithms.GradientDescent(8, rate, batch=5, objective=bk.algorithms.Squared())


def spec(kind: type[Any], rate: float = 0.05, seed: int = 0) -> RunSpec:
    names = ("layer1.weight", "output.weight")
    learner = kind(NETWORK, rule(rate), record_at=(4,), snapshot_at=(0, 8), snapshot_names=names)
    return RunSpec(PROBLEM, learner, 20, 30, seed)


def test_norms_stand_in_place_of_snapshots() -> None:
    kept = perform([spec(bk.engine.TrainedNetwork, seed=seed) for seed in (0, 1)])
    normed = perform([spec(NormedNetwork, seed=seed) for seed in (0, 1)])
    for whole, small in zip(kept, normed, strict=True):
        assert small.arrays == {}
        expected = {}
        for name, array in whole.arrays.items():
            total = math.fsum(float(w) ** 2 for row in array.tolist() for w in row)
            expected[name.replace("snapshot", "norm")] = math.sqrt(total)
        assert len(expected) == 4
        found = {name: value for name, value in small.scalars.items() if name.startswith("norm/")}
        assert found == pytest.approx(expected, rel=1e-14)
        assert {name: value for name, value in small.scalars.items() if name not in found} == whole.scalars
        assert small.series.keys() == whole.series.keys()
        assert found["norm/0/layer1.weight"] != found["norm/8/layer1.weight"]


def test_a_diverged_run_has_no_norm_at_its_end() -> None:
    (outcome,) = perform([spec(NormedNetwork, rate=1e25)])
    assert outcome.status == "diverged"
    assert {name for name in outcome.scalars if name.startswith("norm/")} == {
        "norm/0/layer1.weight",
        "norm/0/output.weight",
    }


def test_something_must_be_wanted() -> None:
    with pytest.raises(InputError, match=r"^snapshot_at and snapshot_names must say which norms are wanted, got none$"):
        NormedNetwork(NETWORK, rule(0.1), snapshot_at=(8,))
