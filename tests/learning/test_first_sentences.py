"""What a first user meets: every model is tried before it is trained, and every refusal is a sentence."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.core import InputError
from beyondkernels.networks import FromCopy, FromModule
from beyondkernels.store.device import require_device
from refusals import refused

ONE_STEP: dict[str, Any] = {"steps": 1, "progress": False}
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4)).astype(np.float32)
# Untyped: many calls here are wrong on purpose.
fit: Any = bk.fit
compare: Any = bk.compare
fit_many: Any = bk.fit_many
IDS = RANDOM.integers(0, 9, size=(60, 4))
TWO = X[:, 0] > 0


class Lookup(nn.Module):
    """Looks up ids, which it may make whole itself."""

    def __init__(self, rows: int = 9, kind: torch.dtype | None = None) -> None:
        super().__init__()
        self.rows, self.line, self.kind = nn.Embedding(rows, 5), nn.Linear(5, 2), kind

    def forward(self, x):
        return self.line(self.rows(x if self.kind is None else x.to(self.kind)).mean(1))


class AlwaysDropping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(4, 2)

    def forward(self, x):
        return self.line(nn.functional.dropout(x, 0.5))


def make_lookup(in_dim, out_dim):
    return Lookup()


def make_two(in_dim, out_dim):
    return nn.Linear(in_dim, 2)


def make_five(in_dim, out_dim):
    return nn.Linear(in_dim, 5)


def make_nothing(in_dim, out_dim) -> Any:
    return "nothing"


@pytest.mark.parametrize(
    ("network", "x"),
    [
        (FromCopy.of(nn.Linear(4, 2), fresh_start=False), X),
        (FromModule(make_two, "two"), X),
        (FromCopy.of(Lookup(), fresh_start=False), IDS),
        (FromModule(make_lookup, "lookup"), IDS),
    ],
)
def test_networks_around_modules_get_the_data_that_modules_get(network, x):
    run = fit(network, (x, TWO), **ONE_STEP)
    assert run.outputs(x).shape == (60, 2)
    assert len(compare((x, TWO), learners={"a": network}, seeds=2, **ONE_STEP).rows) == 1
    assert fit_many(network, (x, TWO), grid=bk.grid(seed=[0, 1]), **ONE_STEP).runs[0].test_loss == run.test_loss


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (FromModule(make_five, "five"), "model must have an output for each of 2 classes, or one, got 5"),
        (FromModule(make_nothing, "nothing"), "model must make a torch.nn.Module, got 'nothing'"),
    ],
)
def test_networks_around_modules_are_tried(network, sentence):
    refused(sentence, fit, network, (X, TWO), **ONE_STEP)


def last_alone(rows: int) -> np.ndarray:
    """Ids of which a single one, in a single point, is as large as possible."""
    ids = IDS % rows
    ids[-1, 2] = rows
    return ids


@pytest.mark.parametrize("kind", [None, torch.int64])
@pytest.mark.parametrize("ids", [IDS + 5, last_alone(8)], ids=["many", "one"])
def test_ids_that_a_module_does_not_know(kind, ids):
    refused(r"the id \d+ in a torch.nn.Embedding of 8 rows", fit, Lookup(8, kind), (ids, TWO), **ONE_STEP)


NORMALISED = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
LEARNERS = {"a": nn.Linear(4, 2)}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fit(nn.Linear(4, 2), (X, TWO), progress=None), "progress must be True, False or a function .* None"),
        (lambda: fit(nn.Linear(4, 2), (X, TWO), store=5), "store must be the path of a directory, or None, got 5"),
        (lambda: fit(nn.Linear(4, 2), (X, TWO), momentum=0.5), "momentum belongs to the optimiser 'sgd', got 0.5"),
        (lambda: compare((X, TWO), learners=LEARNERS, seeds=2.0), "seeds must be how many, such as 5, or which"),
        (lambda: compare((X, TWO), learners=LEARNERS, seeds=[0, 1.5]), "each of seeds must be a whole number, got 1.5"),
        (lambda: fit(NORMALISED, (X, TWO), batch=1), "model cannot train on one point in a step .*; batch=2 or more"),
        (lambda: fit_many(NORMALISED, (X, TWO), grid=bk.grid(batch=[8, 1])), "network cannot train on one point"),
        (lambda: fit(AlwaysDropping(), (X, TWO)), r"model draws random numbers in evaluation mode, .*self\.training"),
        (lambda: fit(nn.Linear(4, 1), (X, np.arange(60) % 12)), "of 12 classes, got 1; classify=False"),
    ],
)
def test_refusals_are_sentences(call, sentence):
    refused(sentence, call)


def test_single_points_train_what_can_be_trained_on_them():
    assert fit(nn.Linear(4, 2), (X, TWO), batch=1, **ONE_STEP).status == "finished"
    assert len(compare((X, TWO), learners=LEARNERS, seeds=np.int64(2), **ONE_STEP).runs["a"]) == 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"lr": [0.1, 0.2]}, r"grid must be a list of points, as bk\.grid\(learning_rate=\[0\.1, 0\.2\]\) makes it"),
        (bk.grid(rate=[0.1]), "unknown setting 'rate'; here it is called learning_rate"),
        (bk.grid(lr=[0.1], learning_rate=[0.1]), "lr and learning_rate are one argument, got both"),
        (bk.grid(zzz=[0.1]), r"unknown setting 'zzz', known: n, seed, loss, [a-z_, ]*decay$"),
    ],
)
def test_settings_of_a_module(given, sentence):
    refused(sentence, fit_many, nn.Linear(4, 2), (X, TWO), grid=given)


def test_settings_that_belong_together_may_come_in_any_order():
    points = [*bk.grid(momentum=[0.5], optimiser=["sgd"]), *bk.grid(optimiser=["sgd"], momentum=[0.6])]
    assert [row["status"] for row in fit_many(nn.Linear(4, 2), (X, TWO), grid=points, steps=1).rows] == ["finished"] * 2
    with pytest.raises(InputError, match="momentum belongs to the optimiser 'sgd'"):
        fit_many(nn.Linear(4, 2), (X, TWO), grid=bk.grid(momentum=[0.5], optimiser=["adam"]))


def test_lr_is_the_learning_rate():
    short, long = (fit(nn.Linear(4, 2), (X, TWO), **ONE_STEP, **{name: 0.3}) for name in ("lr", "learning_rate"))
    assert short.spec.key == long.spec.key
    swept = fit_many(nn.Linear(4, 2), (X, TWO), grid=bk.grid(lr=[0.1, 0.2]), steps=1, progress=False)
    assert [row["learning_rate"] for row in swept.rows] == [0.1, 0.2]


def test_a_device_that_is_not_there_is_told_in_one_sentence(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError(
            "Could not run 'aten::empty.memory_format' here. This could be because\nof much else."
        )

    monkeypatch.setattr(torch, "zeros", refuse)
    refused(r"got 'mps' \(Could not run 'aten::empty\.memory_format' here\); bk doctor says", require_device, "mps")


def test_a_run_that_trained_in_this_call_predicts(tmp_path):
    words: dict[str, Any] = {"steps": 5, "progress": False}
    first = fit(nn.Linear(4, 2), (X, TWO), store=tmp_path / "store", **words)
    alone = fit(nn.Linear(4, 2), (X, TWO), **words)
    assert torch.equal(first.outputs(X), alone.outputs(X))
    assert torch.equal(first.module(torch.from_numpy(X)), alone.module(torch.from_numpy(X)))
    again = compare((X, TWO), learners=LEARNERS, seeds=2, store=tmp_path / "store", **words).runs["a"]
    assert again[0].outcome.predictor is None
    assert torch.equal(again[0].outputs(X), alone.outputs(X))
    swept = fit_many(nn.Linear(4, 2), (X, TWO), grid=bk.grid(seed=[3]), store=tmp_path / "store", **words)
    assert swept.runs[0].outcome.predictor is None
    assert torch.equal(swept.runs[0].outputs(X), fit(nn.Linear(4, 2), (X, TWO), seed=3, **words).outputs(X))
