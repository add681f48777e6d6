"""Norms of weights against the weights themselves."""

import math
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.execution.outcomes import perform
from beyondkernels.measure.norms import NormedNetwork
from beyondkernels.store import RunSpec

PROBLEM = bk.resnet.Monomial(6)
NETWORK = bk.networks.FullyConnected(5, 2)


def rule(rate: float) -> Any:
    return bk.algorithms.GradientDescent(8, rate, batch=5, loss=bk.algorithms.Squared())


def spec(kind: type[Any], rate: float = 0.05, seed: int = 0) -> RunSpec:
    names = ("layer1.weight", "output.weight")
    learner = kind(NETWORK, rule(rate), record_at=(4,), snapshot_at=(0, 8), snapshot_names=names)
    return RunSpec(PROBLEM, learner, 20, 30, seed)


def test_norms_stand_in_place_of_snapshots() -> None:
    kept = perform([spec(bk.engine.TrainedNetwork, seed=seed) for seed in (0, 1)])
    normed = perform([spec(NormedNetwork, seed=seed) for seed in (0, 1)])
    for whole, small in zip(kept, normed, strict=True):
        assert small.arrays == {}
        assert len(whole.arrays) == 4
        for full_name, array in whole.arrays.items():
            _, step, name = full_name.split("/")
            total = math.fsum(float(w) ** 2 for row in array.tolist() for w in row)
            assert small.at(f"norm/{name}", int(step)) == pytest.approx(math.sqrt(total), rel=1e-14)
        assert small.scalars == whole.scalars
        assert small.series.keys() - whole.series.keys() == {"norm/step", "norm/layer1.weight", "norm/output.weight"}
        assert small.at("norm/layer1.weight", 0) != small.at("norm/layer1.weight", 8)


def test_a_diverged_run_has_no_norm_at_its_end() -> None:
    (outcome,) = perform([spec(NormedNetwork, rate=1e25)])
    assert outcome.status == "diverged"
    assert outcome.series["norm/step"].tolist() == [0]
    assert outcome.at("norm/layer1.weight", 8, missing=None) is None
