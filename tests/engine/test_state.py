"""Runs that were ended and go on: bitwise the numbers of runs that were left alone."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

from beyondkernels.algorithms import (
    Blockwise,
    Corrected,
    Descent,
    FeatureLearning,
    GradientDescent,
    Layerwise,
    OnePass,
    Squared,
)
from beyondkernels.algorithms.optimisers import Cosine, GradientNoise, Rate, adamw, chain
from beyondkernels.core import Case, Checkpoint, Outcome, Saved, Stream
from beyondkernels.engine import Member, TrainedNetwork
from beyondkernels.engine.state import restore, saved_state
from beyondkernels.networks import FromModule, FullyConnected, Linearised, Parameterisation, ThreeLayerResNet, TwoLayer
from beyondkernels.papers.features import DictionaryParity, theorem26
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerSettings, ThreeLayerSGD
from beyondkernels.papers.resnet.problems import CompositeParity, HardInstance
from fitting import case_of
from interrupted import EndedError, Kept
from stepping import assert_same, started as begun

IGNORE = lambda _: None  # noqa: E731
PARITY = DictionaryParity(dim=12, patterns=8, relevant=3)
COMPOSITE = CompositeParity(dim=8, outputs=4)
SINGLE = HardInstance(8, 2, 0.3)
STANDARD = Parameterisation("standard", bias_variance=0.1)
SMALL = FullyConnected(width=6, depth=3, parameterisation=STANDARD)
BLOCKS, SMOOTHED = ("layer1", "layer2", "output"), ThreeLayerSettings((0.2, 0.1), wait=3)
BOTTLENECK = ThreeLayerResNet(width=8, form="bottleneck", parameterisation=STANDARD)
DESCENT = GradientDescent(60, 0.05, 10, momentum=0.9, weight_decay=0.01, loss=Squared(), drops=(25,))
ADAM = Descent(60, adamw(Cosine(0.01, 60)), 10, loss=Squared())
GENTLE = replace(DESCENT, learning_rate=0.002)
PROCESS = theorem26(PARITY, TwoLayer(pairs=7), steps=40, batch=16, readout_rate=5.0)


def make_module(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(in_dim, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, out_dim))


def watched(network, algorithm, **fields) -> TrainedNetwork:
    learner = TrainedNetwork(network, algorithm, record_at=(0, 3, 20, 35), record_points=30, **fields)
    name = next(iter(algorithm.initialise(network, 8, 4, Stream(0))[0]))
    return replace(learner, snapshot_at=(0, 20), snapshot_names=(name,))


LEARNERS = {
    "descent": (COMPOSITE, watched(SMALL, DESCENT)),
    "compiled descent": (COMPOSITE, watched(SMALL, DESCENT, backend="compiled")),
    "compiled bottleneck": (COMPOSITE, watched(BOTTLENECK, GENTLE, backend="compiled")),
    "tangent": (COMPOSITE, watched(Linearised(SMALL), DESCENT)),
    "compiled tangent": (COMPOSITE, watched(Linearised(SMALL), DESCENT, backend="compiled")),
    "layerwise": (COMPOSITE, watched(BOTTLENECK, Layerwise(GENTLE, GENTLE))),
    "compiled layerwise": (COMPOSITE, watched(BOTTLENECK, Layerwise(GENTLE, GENTLE), backend="compiled")),
    "compiled one pass": (COMPOSITE, watched(BOTTLENECK, OnePass(60, 0.01, 0.02, end="average"), backend="compiled")),
    "one pass": (COMPOSITE, watched(BOTTLENECK, OnePass(60, 0.01, 0.02, end="average"))),
    "stages": (PARITY, watched(TwoLayer(pairs=7), FeatureLearning(PROCESS))),
    "stages with noise": (PARITY, watched(TwoLayer(pairs=7), FeatureLearning(PROCESS, noise_kind="drawn"))),
    "adam": (COMPOSITE, watched(SMALL, ADAM)),
    "compiled adam": (COMPOSITE, watched(SMALL, ADAM, backend="compiled")),
    "noise": (COMPOSITE, watched(SMALL, Descent(60, chain(GradientNoise(0.1), Rate(0.01)), 10, loss=Squared()))),
    "blockwise": (COMPOSITE, watched(SMALL, Blockwise(Descent(20, adamw(0.01), 10, loss=Squared()), BLOCKS))),
    "corrected": (COMPOSITE, watched(SMALL, Corrected(GENTLE, BLOCKS[1], BLOCKS[0]))),
    "smoothed": (SINGLE, watched(ThreeLayerLearner(6), ThreeLayerSGD(SMOOTHED, 40, 0.1))),
    "a module": (PARITY, watched(FromModule(make_module, "small"), GradientDescent(40, 0.1, 20))),
}


def case(problem, seed: int = 100, checkpoint: Checkpoint | None = None) -> Case:
    return case_of(problem, 80, 40, seed, checkpoint=checkpoint)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("moments", [(1,), (9, 1, 6)])
def test_a_run_that_was_ended_and_goes_on(name, moments):
    problem, learner = LEARNERS[name]
    alone = learner.fit(case(problem), IGNORE)
    assert alone.status == "finished"
    kept, at = Kept(), []
    for moment in moments:
        kept.most = len(kept.states) + moment
        with pytest.raises(EndedError):
            learner.fit(case(problem, checkpoint=kept), IGNORE)
        at.append(kept.states[-1].facts["counts"]["step"])
    assert at == sorted(set(at))
    assert at[0] > 0
    kept.most = float("inf")
    before = len(kept.states)
    assert_same(learner.fit(case(problem, checkpoint=kept), IGNORE), alone)
    assert len(kept.states) > before
    assert kept.states[before].facts["counts"]["step"] > at[-1]  # it did go on


@pytest.mark.parametrize("name", ["descent", "compiled descent", "stages", "one pass", "adam", "layerwise"])
def test_members_ended_at_different_moments_go_on_together(name):
    problem, learner = LEARNERS[name]
    alone = [learner.fit(case(problem, seed), IGNORE) for seed in range(100, 104)]
    kept = [Kept(most) for most in (3, 7, 12)]
    for seed, each in zip(range(100, 103), kept, strict=True):
        with pytest.raises(EndedError):
            learner.fit(case(problem, seed, each), IGNORE)
        each.most = float("inf")
    cases = [case(problem, seed, each) for seed, each in zip(range(100, 104), [*kept, Kept()], strict=True)]
    told: list[float] = []
    together = TrainedNetwork.fit_together([learner] * 4, cases, told.append)
    for one, other in zip(together, alone, strict=True):
        assert_same(one, other)
    assert 0.05 < told[0] <= told[-1] <= 1  # what was done before counts: a first step alone is less than a fiftieth


def test_a_diverged_member_stays_so():
    wild = TrainedNetwork(SMALL, replace(DESCENT, learning_rate=1e4))
    alone, kept = wild.fit(case(COMPOSITE), IGNORE), Kept()
    assert alone.status == "diverged"
    member = begun(SMALL, wild.algorithm, case(COMPOSITE).train, Stream(0))
    member.diverged, member.step = True, 5
    kept.save(saved_state(member, {}))
    outcome = wild.fit(case(COMPOSITE, checkpoint=kept), IGNORE)
    assert (outcome.status, outcome.scalars) == ("diverged", {"steps": 5.0})


@functools.cache
def alone_by_descent() -> Outcome:
    problem, learner = LEARNERS["descent"]
    return learner.fit(case(problem), IGNORE)


def started() -> Member:
    return begun(SMALL, DESCENT, case(COMPOSITE).train, Stream(0))


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(6.0).view(2, 3).mT,
        torch.tensor(3, dtype=torch.int64),
        torch.tensor([True, False]),
        torch.empty(4, 0),
        torch.tensor([1.5, -0.0, torch.nan], dtype=torch.bfloat16),
        torch.arange(12, dtype=torch.float64)[::2],
    ],
    ids=["transposed", "number", "booleans", "empty", "bfloat16", "every other"],
)
def test_every_kind_of_tensor_comes_back_as_it_lay(value):
    member, other = started(), started()
    member.buffers = {"z": value, "a": torch.ones(2)}
    member.stage_index, member.steps_in_stage, member.stage_entered, member.step = None, 3, 4, 7
    record = restore(other, saved_state(member, {"series/loss": np.arange(3.0)}))
    assert record is not None
    assert record["series/loss"].tolist() == [0, 1, 2]
    back = other.buffers["z"]
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    assert list(other.buffers) == ["z", "a"]  # the order too
    assert back.stride() == value.stride() or value.numel() == 0
    assert torch.equal(back.contiguous().view(-1).view(torch.uint8), value.contiguous().view(-1).view(torch.uint8))
    assert (other.stage_index, other.steps_in_stage, other.stage_entered, other.step) == (None, 3, 4, 7)
    for name, kept in member.params.items():
        assert torch.equal(other.params[name], kept)


def broken(change) -> Saved:
    state = saved_state(started(), {})
    facts = {**state.facts, "counts": dict(state.facts["counts"]), "tensors": [list(t) for t in state.facts["tensors"]]}
    state = Saved(facts, dict(state.arrays))
    change(state)
    return state


def forget(state: Saved, part: str, name: str | None) -> None:
    of = [t for t in state.facts["tensors"] if t[0] == part and name in (None, t[1])]
    assert of
    state.facts["tensors"] = [t for t in state.facts["tensors"] if t not in of]


def add(state: Saved, part: str, array: np.ndarray) -> None:
    state.facts["tensors"].append([part, "more", f"torch.{array.dtype}", list(array.shape), [array.shape[1], 1]])
    state.arrays[f"{part}/more"] = array.view(np.uint8).reshape(-1)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.facts.update(format=0),
        lambda state: state.facts.pop("format"),
        lambda state: state.facts["counts"].pop("step"),
        lambda state: state.facts["tensors"][0].__setitem__(2, "torch.load"),
        lambda state: state.facts["tensors"][0].__setitem__(2, "no.such"),
        lambda state: state.facts["tensors"][0].__setitem__(3, [99, 99]),
        lambda state: state.facts["tensors"][0].__setitem__(0, "elsewhere"),
        lambda state: state.facts["tensors"][0].pop(),
        lambda state: forget(state, "params", "layer1.weight"),
        lambda state: forget(state, "optimiser", None),
        lambda state: add(state, "params", np.zeros((2, 2), dtype=np.float32)),
        lambda state: state.facts["tensors"][0].__setitem__(2, "torch.int32"),
        lambda state: state.facts["tensors"][0].__setitem__(3, state.facts["tensors"][0][3][::-1]),
        lambda state: state.arrays.pop("params/layer1.weight"),
        lambda state: state.arrays.update({"params/layer1.weight": np.zeros(48)}),
        lambda state: state.arrays.update({"params/layer1.weight": np.zeros(3, dtype=np.uint8)}),
    ],
)
def test_a_state_that_is_none_is_left_alone(change):
    member, fresh = started(), started()
    assert restore(member, broken(change)) is None
    assert member.step == 0
    assert all(torch.equal(member.params[name], fresh.params[name]) for name in fresh.params)
    kept = Kept()
    kept.states.append(broken(change))
    problem, learner = LEARNERS["descent"]
    assert_same(learner.fit(case(problem, checkpoint=kept), IGNORE), alone_by_descent())
