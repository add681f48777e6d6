"""What a user's code does counts, also where it cannot be read."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, RegressorMixin

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Sample, Stream, build
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.engine import TrainedNetwork
from beyondkernels.kernels import Kernel, KernelRidge
from beyondkernels.networks import FromCopy, FullyConnected
from beyondkernels.store import RunSpec, Store, key_of, witness
from beyondkernels.store.witness import agrees, witness_of

HIDDEN = "BK_TEST_HIDDEN"
"""A variable of the environment: no reader of code knows what is in it."""


def hidden() -> float:
    return float(os.environ.get(HIDDEN, "1"))


class Read(torch.nn.Module):
    """Computes with a number that its code does not show."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return hidden() * self.layer(x)


class InTraining(Read):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (hidden() if self.training else 1.0) * self.layer(x)


class Backwards(Read):
    """Evaluates to the same whatever the number is; only its gradient tells."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.layer(x)
        return out.detach() + hidden() * (out - out.detach())


class Drawn(Read):
    def reset_parameters(self) -> None:
        torch.nn.init.constant_(self.layer.weight, hidden())


class Counting(Read):
    """Counts its passes: a look at it must not count as one."""

    passes = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        return self.layer(x) / self.passes


class MeanTimes(RegressorMixin, BaseEstimator):
    def fit(self, x: np.ndarray, y: np.ndarray) -> MeanTimes:
        self.mean_ = y.mean(0)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.tile(self.mean_ * hidden(), (len(x), 1))


@dataclasses.dataclass(frozen=True)
class Scaled(Kernel):
    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return hidden() * x1 @ x2.T

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return hidden() * x.square().sum(1)


@dataclasses.dataclass(frozen=True)
class Target(ScalarProblem):
    dim: int

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.normal(n, self.dim)
        return Sample(x, hidden() * x.sum(1))


@dataclasses.dataclass(frozen=True)
class Guess(Learner):
    def fit(self, case: Case, progress: Progress) -> Outcome:
        return Outcome(scalars={"test_loss": hidden()})


@dataclasses.dataclass(frozen=True)
class ToldGuess(Guess):
    def witness(self, problem: Problem, samples: int) -> dict[str, torch.Tensor]:
        return {"guess": torch.tensor([hidden()])}


PROBLEM = bk.resnet.HardInstance(4, 2, 0.3)


def spec_of(learner: Any, problem: Problem | None = None, **changes: Any) -> RunSpec:
    if isinstance(learner, torch.nn.Module):
        learner = TrainedNetwork(FromCopy.of(learner), GradientDescent(learning_rate=0.1, steps=3, batch=4))
    return RunSpec(problem or PROBLEM, learner, 12, 4, **{"seed": 0, **changes})


def key_with(value: float, make: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(HIDDEN, str(value))
    witness._known.clear()  # as in another process
    return make().key


MADE = {
    "outputs": lambda: spec_of(Read()),
    "training mode": lambda: spec_of(InTraining()),
    "gradients": lambda: spec_of(Backwards()),
    "start": lambda: spec_of(Drawn()),
    "estimator": lambda: spec_of(bk.engine.FromEstimator.of(MeanTimes())),
    "kernel": lambda: spec_of(KernelRidge(Scaled(), (1.0,))),
    "problem": lambda: spec_of(KernelRidge(bk.kernels.Laplace(1.0), (1.0,)), Target(4)),
    "own witness": lambda: spec_of(ToldGuess()),
}


@pytest.mark.parametrize("name", MADE)
def test_code_that_reads_the_same_and_does_another_thing_has_another_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key_with(value, MADE[name], monkeypatch) for value in (1, 2, 1)]
    assert keys[0] == keys[2] != keys[1]
    assert keys[0][:20] == keys[1][:20]  # they are described alike, and lie side by side


def test_the_number_of_another_model_is_not_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for value in ("1", "2", "1"):
        monkeypatch.setenv(HIDDEN, value)
        losses.append(bk.fit(Read(), PROBLEM, 20, store=tmp_path, progress=False).test_loss)
    assert losses[0] == losses[2] != losses[1]
    assert len(Store.open(tmp_path).keys()) == 2


def test_what_is_ours_needs_no_witness_and_keeps_its_key() -> None:
    spec = spec_of(TrainedNetwork(FullyConnected(5), GradientDescent(learning_rate=0.1, steps=3)))
    assert spec.witness is None and spec.key == key_of(bk.core.describe(spec))


def test_a_learner_without_a_witness_is_known_by_its_code_and_a_problem_by_both() -> None:
    assert spec_of(Guess()).witness == {"by_code": ["Guess"]}
    assert set(spec_of(Guess(), Target(4)).witness or {}) == {"digest", "numbers", "torch", "cpu", "by_code"}


def test_a_look_leaves_the_model_and_the_settings_of_torch_as_they_are() -> None:
    model, threads = Counting(), torch.get_num_threads()
    before = [value.clone() for value in model.parameters()]
    learner = TrainedNetwork(FromCopy.of(model), GradientDescent(learning_rate=0.1, steps=3))
    state = torch.random.get_rng_state()
    assert witness_of(learner, PROBLEM, 12) is not None
    assert torch.equal(torch.random.get_rng_state(), state)
    assert learner.network.module.passes == 0 and learner.network._skeleton.passes == 0  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert torch.get_num_threads() == threads and not torch.are_deterministic_algorithms_enabled()


def test_one_look_serves_all_runs_of_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    network, looks = FromCopy.of(Read()), []
    real = TrainedNetwork.witness
    monkeypatch.setattr(TrainedNetwork, "witness", lambda *given: looks.append(1) or real(*given))
    for seed in range(5):
        learner = TrainedNetwork(network, GradientDescent(learning_rate=0.1, steps=3))
        assert spec_of(learner, PROBLEM, seed=seed).key
    assert len(looks) == 1


def test_a_worker_takes_over_the_witness_of_the_process_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(KernelRidge(Scaled(), (1.0,)))
    told, key = spec.description, spec.key
    monkeypatch.setenv(HIDDEN, "7")
    witness._known.clear()
    assert build(told).witnessed(told["witness"]).key == key != build(told).key


def elsewhere(spec: RunSpec, factor: float) -> dict[str, Any]:
    """The description of a run whose numbers another processor has rounded in another way."""
    made = spec.witness or {}
    numbers = {name: [factor * each for each in values] for name, values in made["numbers"].items()}
    return {**spec.description, "witness": {**made, "digest": "f" * 32, "numbers": numbers, "cpu": "another"}}


@pytest.mark.parametrize(("factor", "same"), [(1 + 5e-5, True), (1 + 1e-3, False)])
def test_on_another_kind_of_machine_numbers_may_differ_by_rounding(tmp_path: Path, factor: float, same: bool) -> None:
    store, spec = Store.open(tmp_path), spec_of(Read())
    there = elsewhere(spec, factor)
    store.write(key_of(there), there, Outcome(scalars={"test_loss": 0.5}), {})
    found = store.find(spec)
    assert (found is not None) == same and (found is None or found.key == key_of(there) != spec.key)
    assert not agrees(spec.witness, {**there["witness"], "cpu": (spec.witness or {})["cpu"]})  # here only bits count


@pytest.mark.parametrize("broken", [None, 7, {}, {"torch": 1, "cpu": 2, "by_code": [], "numbers": [1]}])
def test_a_witness_that_somebody_wrote_by_hand_agrees_with_nothing(broken: Any) -> None:
    assert not agrees(spec_of(Read()).witness, broken)


def test_a_model_that_fails_on_few_points_is_known_by_its_code() -> None:
    class Picky(Read):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if len(x) < 10:
                raise ValueError("too few")
            return self.layer(x)

    assert spec_of(Picky()).witness == {"by_code": ["TrainedNetwork"]}


def made(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(in_dim, out_dim), Times(hidden()))


class Times(torch.nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


@pytest.mark.parametrize("model", [made, MeanTimes()], ids=["function", "estimator"])
def test_each_call_looks_anew(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook hands the same function over again, and what it reads may have changed since."""
    stored, alone = [], []
    for value in ("1", "3"):
        monkeypatch.setenv(HIDDEN, value)
        options: Any = {"steps": 3} if model is made else {}
        data = (np.arange(80.0).reshape(20, 4) / 80, np.linspace(0.5, 1, 20))
        for found, store in ((stored, tmp_path), (alone, None)):
            found.append(bk.fit(model, data, store=store, progress=False, **options).test_loss)
    assert stored == alone and stored[0] != stored[1]
