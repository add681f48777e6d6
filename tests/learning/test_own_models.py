"""A person's own module, estimator and data at the front door."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy
from refusals import refused

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(200, 6)).astype(np.float32)
WORDS = np.array(["a", "b", "c"])[(X[:, :3]).argmax(1)]


def module(outputs: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, outputs))


def test_a_module_on_arrays():
    given = module()
    before = {name: value.clone() for name, value in given.state_dict().items()}
    run = bk.fit(given, (X, WORDS), epochs=15, learning_rate=0.01, batch=20)
    assert all(torch.equal(value, before[name]) for name, value in given.state_dict().items())
    assert run.test_accuracy > 0.7
    assert set(run.predict(X)) == {"a", "b", "c"}
    proba = run.predict_proba(X[:5])
    assert np.allclose(proba.sum(1), 1)
    trained = run.module
    assert isinstance(trained, nn.Sequential)
    assert not trained.training
    assert torch.allclose(trained(torch.tensor(X)), run.outputs(X), atol=1e-5)
    assert dict(trained.named_buffers())["1.running_mean"].abs().max() > 0
    assert len(run.to_frame()) == 1
    assert len(repr(run)) < 300
    assert len(run._repr_html_()) < 100_000


def test_each_seed_draws_anew_and_the_split_stays():
    runs = [bk.fit(module(), (X, WORDS), seed=seed, steps=2) for seed in (0, 0, 1)]
    assert runs[0].test_loss == runs[1].test_loss != runs[2].test_loss
    assert runs[0].problem == runs[2].problem


def test_a_module_trains_as_a_loop_written_by_hand():
    data = bk.data.given((X, WORDS))
    network = FromCopy.of(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)))
    run = bk.fit(network, data, steps=5, batch=160, learning_rate=0.05, optimiser="sgd", momentum=0.5, weight_decay=0.1)
    twin = network.fresh(6, 3, Stream(0).child("learner", "initial"))
    optimiser = torch.optim.SGD(twin.parameters(), 0.05, momentum=0.5, weight_decay=0.1)
    sample = data.take("train", 160, 0)
    for _ in range(5):
        optimiser.zero_grad()
        nn.functional.cross_entropy(twin(sample.x), sample.y.argmax(1)).backward()
        optimiser.step()
    assert torch.allclose(twin(torch.tensor(X)), run.outputs(X), atol=1e-5)


@pytest.mark.parametrize(("name", "outputs"), [("squared", 2), ("hinge", 1), ("hinge", 2), ("logistic", 1)])
def test_losses_by_name(name, outputs):
    labels = np.where(X[:, 0] > 0, "up", "down")
    run = bk.fit(module(outputs), (X, labels), loss=name, epochs=15, learning_rate=0.01, batch=20)
    assert run.test_accuracy > 0.75
    assert set(run.predict(X)) == {"up", "down"}


def test_all_kinds_of_models_side_by_side():
    learners = {
        "module": module(),
        "network": bk.networks.FullyConnected(16),
        "kernel": bk.kernels.Gaussian(2.0),
        "estimator": LogisticRegression(),
    }
    comparison = bk.compare((X, WORDS), learners=learners, seeds=2, epochs=10, learning_rate=0.01)
    means = {row["learner"]: row["test_accuracy"] for row in comparison.rows}
    assert list(means) == list(learners)
    assert all(value > 0.6 for value in means.values()), means
    assert (comparison.runs["estimator"][0].predict(X) == WORDS).mean() > 0.6
    numbers = bk.compare((X, X[:, 0] * 2.5), learners={"ridge": Ridge(1e-6), "kernel": bk.kernels.PolynomialKernel(1)})
    assert all(row["test_loss"] < 1e-3 for row in numbers.rows)


def test_runs_of_data_are_stored_and_read(tmp_path):
    learner = bk.networks.FullyConnected(8)
    first = bk.fit(learner, (X, WORDS), steps=3, store=tmp_path / "store")
    again = bk.fit(learner, (X, WORDS), steps=3, store=tmp_path / "store")
    assert first.outcome.scalars == again.outcome.scalars
    stored = [bk.fit(module(), (X, WORDS), steps=3, store=tmp_path / "store").test_loss for _ in range(2)]
    assert stored[0] == stored[1] == bk.fit(module(), (X, WORDS), steps=3).test_loss
    two = bk.compare((X, WORDS), learners={"a": learner}, seeds=2, steps=3, workers=2)
    assert two.runs["a"][0].test_loss == first.test_loss
    assert (again.predict(X) == first.predict(X)).all()


class Halfway(nn.Linear):
    """Its own rule leaves a parameter out."""

    def __init__(self, in_dim, out_dim):
        super().__init__(in_dim, out_dim)
        self.extra = nn.Parameter(torch.ones(out_dim))


class Uncopied(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.rows = nn.Linear(6, 3), (row for row in range(3))

    def forward(self, x):
        return self.line(x)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: bk.fit(nn.Linear(7, 3), (X, WORDS)), r"cannot take points of the shape \(6,\)"),
        (lambda: bk.fit(Halfway(6, 3), (X, WORDS)), "no reset_parameters draws extra of Halfway"),
        (lambda: bk.fit(Uncopied(), (X, WORDS)), "cannot be copied"),
        (lambda: bk.fit(nn.ReLU(), (X, WORDS)), "has no parameters"),
        (lambda: bk.fit(module(), (X, WORDS), los="squared"), "unknown argument 'los', did you mean loss"),
        (lambda: bk.fit(module(), (X, WORDS), loss="sqared"), "unknown loss 'sqared', did you mean squared"),
        (lambda: bk.fit(module(), (X, WORDS), epochs=1, steps=3), "either epochs or steps"),
        (lambda: bk.fit(module(), (X, WORDS), test=50), "test must be test points or a fraction"),
    ],
)
def test_bad_input(call, sentence):
    refused(sentence, call)


def test_a_module_that_starts_as_it_is():
    given = Halfway(6, 3)
    network = FromCopy.of(given, fresh_start=False)
    params, _ = network.init(6, 3, Stream(3))
    assert all(torch.equal(params[name], value) for name, value in given.named_parameters())
    assert FromCopy.of(Halfway(6, 3), fresh_start=False).architecture != network.architecture
    assert FromCopy.of(module()).architecture == FromCopy.of(module()).architecture
    assert FromCopy.of(module(2)).architecture != FromCopy.of(module()).architecture
    refused("in the process that made it alone", dataclasses.replace, network, module=None)
