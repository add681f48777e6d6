"""Predictions: points are read as the training points were, and answers come back as the labels were given."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from torch import nn

import beyondkernels as bk
from beyondkernels.core import digest
from refusals import refused

QUIET: dict[str, Any] = {"progress": False}
ONE_STEP: dict[str, Any] = {"steps": 1, **QUIET}
X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
WHOLE = np.random.default_rng(1).integers(0, 9, size=(60, 4))


class Lookup(nn.Module):
    def __init__(self, size: int = 9) -> None:
        super().__init__()
        self.rows, self.line = nn.Embedding(size, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.line(self.rows(x).mean(1))


def test_tensors_are_read_as_arrays_are():
    images = np.random.default_rng(0).integers(0, 256, size=(40, 1, 3, 3)).astype(np.uint8)
    run = bk.fit(nn.Sequential(nn.Flatten(), nn.Linear(9, 3)), (images, np.arange(40) % 3), steps=20, **QUIET)
    assert torch.equal(run.outputs(torch.from_numpy(images)), run.outputs(images))
    assert run.outputs(images).abs().max() < 20  # bytes that are not divided by 255 give outputs in the hundreds


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.bool, torch.float16, torch.float64])
def test_tensors_of_every_type(kind):
    run = bk.fit(nn.Linear(4, 1), (X, X[:, 0] / 7), **ONE_STEP)
    x = torch.from_numpy(WHOLE).to(kind)
    np.testing.assert_array_equal(run.predict(x), run.predict(x.numpy()))


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (torch.full((2, 4), torch.nan), r"x must be finite, got NaN or infinity in 2 of 2 points, the first in row 0"),
        (torch.zeros(2, 4, dtype=torch.complex64), "x must hold real numbers, got complex64"),
        (X[:0], "x must hold at least one point, got none"),
        (X[0], r"x must be points of the shape \(4,\), got \(4,\); x\[None\] is a batch of this one point"),
        (torch.zeros(2, 5), r"x must be points of the shape \(4,\), got \(2, 5\)$"),
    ],
)
def test_points_that_cannot_be_read(x, sentence):
    run = bk.fit(nn.Linear(4, 2), (X, X[:, 0] > 0), **ONE_STEP)
    refused(sentence, run.predict, x)


def test_points_of_a_problem_stay_as_they_are_and_are_finite():
    rule = bk.algorithms.GradientDescent(steps=1, learning_rate=0.1)
    problem = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
    run = bk.fit(bk.networks.TwoLayer(pairs=4), problem, n=20, algorithm=rule, test=10, **QUIET)
    assert isinstance(run.predict(torch.zeros(3, 8)), torch.Tensor)
    refused("x must be finite, got NaN or infinity", run.predict, torch.full((3, 8), torch.nan))
    refused(r"x must hold real numbers, got torch\.complex64", run.predict, torch.zeros(3, 8, dtype=torch.complex64))


def test_token_ids_that_are_none():
    run = bk.fit(Lookup(), (WHOLE, WHOLE[:, 0] % 2), **ONE_STEP)
    assert len(run.predict(torch.from_numpy(WHOLE))) == 60
    refused("x must hold token ids, whole numbers from 0, as the training points", run.predict, torch.full((1, 4), 0.5))
    refused("must hold token ids that the model knows, got ids up to 9: index out", run.predict, torch.full((1, 4), 9))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (X[:, 0] > 0, np.bool_),
        (pd.Series(X[:, 0] > 0, dtype="boolean"), np.bool_),
        (np.where(X[:, 0] > 0, 3, 7), np.int64),
        (np.where(X[:, 0] > 0, "True", "False"), np.str_),
        (np.where(X[:, 0] > 0, b"yes", b"no"), np.bytes_),
        (np.where(X[:, 0] > 0, 0.1, 2.0).astype(np.float32), np.float32),
    ],
)
def test_classes_come_back_as_they_were_given(labels, kind):
    run = bk.fit(nn.Linear(4, 2), (X, labels), steps=300, learning_rate=0.05, classify=True, **QUIET)
    found = run.predict(X)
    assert issubclass(found.dtype.type, kind)
    assert (found == np.asarray(labels)).mean() > 0.9


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 2)])
@pytest.mark.parametrize("model", ["module", "kernel", "bfloat16"])
def test_numbers_come_back_in_the_shape_of_the_labels(shape, model):
    y = (X[:, : shape[1]] if len(shape) == 2 else X[:, 0]) * 2.5
    line = nn.Linear(4, y[0].size)
    learner = {"module": line, "kernel": bk.kernels.PolynomialKernel(1), "bfloat16": line.bfloat16()}[model]
    run = bk.fit(learner, (X, y), **(QUIET if model == "kernel" else ONE_STEP))
    found = run.predict(X)
    assert isinstance(found, np.ndarray)
    assert found.shape == shape
    assert isinstance(run.outputs(X), torch.Tensor)
    assert run.outputs(X).shape == (60, y[0].size)


def test_the_form_of_labels_is_no_part_of_the_identity():
    truth, words = (bk.data.given((X, labels)) for labels in (X[:, 0] > 0, (X[:, 0] > 0).astype(str)))
    assert digest(truth) == digest(words)
    column, line = (bk.data.given((X, labels)) for labels in (X[:, :1], X[:, 0]))
    assert digest(column) == digest(line)


def test_columns_of_new_points_go_by_their_names():
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=X[:, 0] > 0)
    run = bk.fit(nn.Linear(4, 2), table, target="kind", **ONE_STEP)
    mixed = table[["d", "kind", "b", "a", "c"]]
    for new in (mixed, mixed.drop(columns="kind")):
        assert torch.equal(run.outputs(new), run.outputs(X))
        np.testing.assert_array_equal(run.predict(new), run.predict(X))
        np.testing.assert_array_equal(run.predict_proba(new), run.predict_proba(X))
    refused("x must have the columns of the training points, got none called 'b'", run.predict, table.drop(columns="b"))
    refused("got 'e' besides", run.predict, table.assign(e=0.0))


@pytest.mark.parametrize("model", ["module", "one output", "estimator"])
@pytest.mark.parametrize("order", [["low", "high"], ["high", "low"]])
def test_columns_of_probabilities_are_the_classes_in_their_order(model, order):
    labels = pd.Categorical(np.where(X[:, 0] > 0, "low", "high"), order, ordered=True)
    how: dict[str, Any] = {"steps": 300, "learning_rate": 0.05}
    learner, how = {
        "module": (nn.Linear(4, 2), how),
        "one output": (nn.Linear(4, 1), how),
        "estimator": (LogisticRegression(), {}),
    }[model]
    run = bk.fit(learner, (X, labels), **how, **QUIET)
    classes = getattr(run.problem, "classes", ())
    assert classes == tuple(order)
    likely = np.array(classes)[run.predict_proba(X).argmax(1)]
    assert (likely == run.predict(X)).all()
    assert (likely == np.asarray(labels)).mean() > 0.9


@pytest.mark.parametrize("kind", ["bfloat16", "kernel", "forest"])
def test_a_stored_run_predicts_as_the_one_that_trained(kind, tmp_path):
    models = {
        "bfloat16": lambda: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)).bfloat16(),
        "kernel": lambda: bk.kernels.Gaussian(2.0),
        "forest": lambda: RandomForestClassifier(5),
    }
    first, again = (bk.fit(models[kind](), (X, X[:, 0] > 0), store=tmp_path / "store", **QUIET) for _ in range(2))
    assert again.outcome.predictor is None
    assert torch.equal(first.outputs(X), again.outputs(X))
    kept = list((tmp_path / "store" / "predictors").iterdir())
    assert len(kept) == (kind == "bfloat16")
    for path in kept:  # damage costs time and no more
        path.write_bytes(path.read_bytes()[:-9])
        third = bk.fit(models[kind](), (X, X[:, 0] > 0), store=tmp_path / "store", **QUIET)
        assert torch.equal(first.outputs(X), third.outputs(X))
        assert first.predict_proba(X).shape == (60, 2)
