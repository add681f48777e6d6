"""Bad input at the front door: one sentence that names the argument, what came, and what would do."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

import beyondkernels as bk
from beyondkernels.data import readers as reading
from beyondkernels.networks.from_copy import ModelWarning
from refusals import refused

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 6)).astype(np.float32)
Y = np.arange(60) % 3
NUMBERS = 2.5 * X[:, 0]
ONE_STEP: dict[str, Any] = {"steps": 1, "progress": False}


def module(outputs: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, outputs))


def broken(values: np.ndarray, row: int) -> np.ndarray:
    values = values.astype(float)
    values[row] = np.nan
    return values


class TrainingCounter(nn.Module):
    """Its outputs depend on how often it was called, but only while it trains."""

    def __init__(self):
        super().__init__()
        self.line, self.calls = nn.Linear(6, 3), 0

    def forward(self, x):
        self.calls += self.training
        return self.line(x) * (1 + self.calls)


class Noting(nn.Module):
    """Writes down its calls, without any effect on its outputs."""

    def __init__(self):
        super().__init__()
        self.line, self.seen = nn.Linear(6, 3), []

    def forward(self, x):
        self.seen.append(len(x))
        return self.line(x)


class Averaging(nn.Module):
    """Its state is in a buffer, which is the right place, and changes its outputs while it trains."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return self.line(x - self.mean)


class Several(nn.Module):
    def __init__(self, several: bool):
        super().__init__()
        self.line, self.several = nn.Linear(6, 3), several

    def forward(self, x):
        out = self.line(x)
        return (out, x) if self.several else out[:, :, None]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: bk.fit(X, Y), r"got a ndarray of the shape \(60, 6\): bk.fit\(model, \(X, y\)\)"),
        (lambda: bk.fit((X, Y), module()), r"model must be .* got a tuple: bk.fit\(model, \(X, y\)\)"),
        (lambda: bk.fit(module(), X), r"data must hold points with labels, got a ndarray of the shape \(60, 6\) alone"),
        (lambda: bk.fit(module(), X, cast(Any, Y)), "n must be a whole number, got a ndarray .* one argument"),
        (lambda: bk.fit(nn.Linear, (X, Y)), r"model must be an instance, got the class Linear: Linear\(…\) makes one"),
        (lambda: bk.fit(module(), (X, Y, X)), r"data must be a pair \(X, y\), got 3 arrays"),
        (lambda: bk.compare((X, Y), learners=cast(Any, [module()])), "learners must be models by their names, such as"),
    ],
)
def test_calls_in_another_order(call, sentence):
    refused(sentence, call)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"optimizer": "adam"}, "unknown argument 'optimizer'; here it is called optimiser"),
        ({"learning_rate": "0.1"}, "learning_rate must be a number or None, got '0.1'"),
        ({"loss": "mse"}, "got 'mse'; 'squared' would do"),
        ({"loss": nn.CrossEntropyLoss()}, r"got CrossEntropyLoss\(\); 'cross_entropy' would do"),
        ({"loss": nn.CTCLoss()}, r"loss must be one of squared, .* got CTCLoss\(\)$"),
        ({"optimiser": torch.optim.Adam}, "got <class 'torch.optim.adam.Adam'>; 'adam' with learning_rate=… would do"),
        ({"optimiser": "rmsprop"}, "unknown optimiser 'rmsprop', known: adam, adamw, sgd"),
        ({"device": "cuda:99"}, "device must be one that this machine has, got 'cuda:99'"),
        ({"test": 1.5}, r"test must lie in \(0, 1\), got 1.5"),
    ],
)
def test_arguments_of_other_libraries(given, sentence):
    refused(sentence, bk.fit, module(), (X, Y), **given)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((broken(X, 3), Y), "X must be finite, got NaN or infinity in 1 of 60 points, the first in row 3"),
        ((X, broken(NUMBERS, 7)), "y must be finite, got NaN or infinity in 1 of 60 labels, the first in row 7"),
        ((X, 1e300 * NUMBERS.astype(float)), "labels must fit into single precision, .* got 3.1e[+]299 in row 0"),
        ((X, ["a"] * 30 + [None] * 30), "y must have a label for each point, got none in 30 of 60 labels, .* row 30"),
        ((X, np.array(["a"] * 30 + [1] * 30, object)), "y must hold labels of one kind, .* got int, str"),
        ((X, np.zeros(60, int)), "labels must be of at least two classes, got 0 alone"),
        ((X[:0], Y[:0]), "X must hold at least one point, got none"),
        ((X, Y[:50]), "X and y must have equally many rows, got 60 points and 50 labels"),
        ((X[:6], Y[:6]), "got the fraction 0.2 of 6 points in 3 classes; more points, test points of their own"),
        ((X.astype(complex), Y), "X must hold real numbers, got complex128; X.real"),
        ((scipy.sparse.csr_matrix(X), Y), r"X must be dense, got a sparse csr_matrix; toarray\(\)"),
        ((torch.empty(60, 6, device="meta"), Y), "got a tensor of the device meta"),
        ((np.array([[1, "a"]] * 60, object), Y), "X must hold numbers, got an array of object with 'a' in it"),
        (DataLoader(cast(Any, [{"x": 1.0}] * 10), batch_size=2), "target must name the key of the labels"),
    ],
)
def test_data_that_cannot_be_learnt(data, sentence):
    refused(sentence, bk.fit, module(), data)


def test_tables_that_cannot_be_learnt():
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": NUMBERS, "label": Y})
    refused(r"must hold numbers, got a with others; pandas\.get_dummies", bk.fit, module(), frame, target="label")
    refused("target must name the column of the labels, one of a, b, label", bk.fit, module(), frame)


class Endless(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.zeros(6), 0


@pytest.mark.parametrize("limit", ["MOST_POINTS", "MOST_BYTES", "MOST_SECONDS"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_what_never_ends_is_stopped(limit, wrapped, monkeypatch):
    monkeypatch.setattr(reading, limit, {"MOST_POINTS": 50, "MOST_BYTES": 2000, "MOST_SECONDS": 0.05}[limit])
    data = DataLoader(Endless(), batch_size=4) if wrapped else Endless()
    name = "DataLoader" if wrapped else "data set"
    refused(f"the {name} has no length, has given [0-9]+ points in [0-9]+ s and goes on", bk.fit, module(), data)


def test_what_has_a_length_is_read_to_its_end(monkeypatch):
    monkeypatch.setattr(reading, "MOST_POINTS", 10)
    loader = DataLoader(torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y)), batch_size=16)
    assert bk.fit(module(), loader, **ONE_STEP).samples == 48


@pytest.mark.parametrize(
    ("model", "data", "given", "sentence"),
    [
        (module(5), (X, Y), {}, "model must have an output for each of 3 classes, got 5"),
        (module(3), (X, Y.astype(float)), {}, "1 output, got 3; .* and classify=True makes 3 classes of them"),
        (module(3), (X, NUMBERS), {}, "1 output, got 3; the labels are taken for numbers to predict$"),
        (module(1), (X, NUMBERS), {"loss": "hinge"}, "loss must be 'squared' for labels that are numbers, got 'hinge'"),
        (Several(several=True), (X, Y), {}, r"got a tuple with 0, 1; FromCopy\.of\(module, output=0\)"),
        (Several(several=False), (X, Y), {}, r"a row of outputs for each point, got the shape \(2, 3, 1\)"),
        (module().half(), (X, Y), {}, r"got float16 in .*; model.float\(\) would do"),
        (TrainingCounter(), (X, Y), {}, "keeps state between calls while it trains; buffers are the place"),
    ],
)
def test_models_that_do_not_fit(model, data, given, sentence):
    refused(sentence, bk.fit, model, data, **given)


class Undifferentiated(nn.Module):
    """Gives outputs that forget how they were computed, always or in evaluation mode alone."""

    def __init__(self, way: str):
        super().__init__()
        self.line, self.way = nn.Linear(6, 3), way

    def forward(self, x):
        if self.way == "no_grad" or (self.way == "evaluation" and not self.training):
            with torch.no_grad():
                return self.line(x)
        out = self.line(x)
        if self.way == "tuple" and self.training:
            return out, out
        return out.detach() if self.way == "detach" else out


@pytest.mark.parametrize("way", ["no_grad", "detach"])
def test_outputs_that_cannot_be_differentiated_are_refused(way):
    for model in (Undifferentiated(way), bk.networks.FromModule(lambda i, o: Undifferentiated(way), "mine")):
        refused("model must give outputs that can be differentiated in its", bk.fit, model, (X, Y), **ONE_STEP)


def test_a_model_that_gives_more_while_it_trains_is_refused():
    refused(r"give a tensor of outputs, got a tuple .*while it", bk.fit, Undifferentiated("tuple"), (X, Y), **ONE_STEP)


class Strange(nn.Module):
    """Gives outputs that are no numbers, or no real ones."""

    def __init__(self, way: str):
        super().__init__()
        self.line, self.way = nn.Linear(6, 3), way

    def forward(self, x):
        return self.line(x).to("meta") if self.way == "meta" else self.line(x) * 1j


def test_outputs_and_modules_of_strange_kinds_are_refused(tmp_path):
    for way, got in (("meta", "numbers on the device meta"), ("complex", "torch.complex64")):
        refused(f"model must give real numbers, got {got}", bk.fit, Strange(way), (X, Y), **ONE_STEP)
    with pytest.warns(DeprecationWarning):
        scripted = torch.jit.trace(nn.Linear(6, 3), torch.zeros(1, 6))
    refused("a module that torch.jit compiled .* got RecursiveScriptModule", bk.fit, scripted, (X, Y), **ONE_STEP)
    refused(
        "device must be one that this machine has, got 'meta'", bk.fit, nn.Linear(6, 3), (X, Y), device="meta", steps=1
    )
    refused("a path with a zero byte", bk.fit, nn.Linear(6, 3), (X, Y), store="\0", **ONE_STEP)


def test_attributes_that_change_are_named_in_a_warning():
    with pytest.warns(ModelWarning, match="model changes seen when it is called") as found:
        bk.fit(Noting(), (X, Y), **ONE_STEP)
    assert found[0].filename == __file__


def test_state_in_buffers_is_part_of_the_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = bk.fit(Averaging(), (X + 5, Y), epochs=5, batch=16, progress=False)
    assert dict(run.module.named_buffers())["mean"].mean() == pytest.approx(5 * (1 - 0.9**15), rel=0.1)
    again = bk.fit(Averaging(), (X + 5, Y), epochs=5, batch=16, progress=False)
    assert again.test_loss == run.test_loss


@pytest.mark.parametrize(
    "data",
    [
        (X, Y[:, None]),
        (X, Y - 1),
        (X, np.eye(3)[Y]),
        (torch.tensor(X).requires_grad_(), torch.tensor(Y)),
        (pd.DataFrame(X), pd.Series(Y).astype("category")),
        (X, np.array(["a", "b", "c"])[Y]),
    ],
)
def test_other_forms_of_the_same_data_train_alike(data):
    plain = bk.fit(module(), (X, Y), **ONE_STEP)
    assert bk.fit(module(), data, **ONE_STEP).test_loss == plain.test_loss


def test_whole_numbers_are_numbers_where_nearly_all_differ():
    assert bk.data.given((X, np.arange(60))).classes == ()
    assert len(bk.data.given((X, np.arange(60) % 15)).classes) == 15


class Reading(nn.Module):
    """A classifier of texts: the mean of what is looked up for each word."""

    def __init__(self):
        super().__init__()
        self.words, self.line = nn.Embedding(50, 8), nn.Linear(8, 2)

    def forward(self, x):
        assert x.dtype == torch.int64
        return self.line(self.words(x).mean(1))


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
def test_words_reach_an_embedding_as_whole_numbers(kind, tmp_path):
    texts = torch.randint(0, 50, (200, 5), generator=torch.Generator().manual_seed(0)).to(kind)
    labels = np.where((texts < 25).sum(1) > 2, "low", "high")
    run = bk.fit(Reading(), (texts, labels), epochs=30, learning_rate=0.05, progress=False)
    assert run.test_accuracy > 0.9
    assert (run.predict(texts) == labels).mean() > 0.9
    assert run.predict(texts.numpy()).tolist() == run.predict(texts).tolist()
    assert run.spec.key != bk.fit(nn.Linear(5, 2), (texts, labels), **ONE_STEP).spec.key
    comparison = bk.compare(
        (texts, labels), learners={"a": Reading(), "b": bk.kernels.Gaussian(20.0)}, seeds=1, **ONE_STEP
    )
    assert len(comparison.rows) == 2


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_models_of_other_precision(kind):
    run = bk.fit(module().to(kind), (X, Y), **ONE_STEP)
    assert run.status == "finished"
    assert next(run.module.parameters()).dtype == kind
    assert len(run.predict(X)) == 60
