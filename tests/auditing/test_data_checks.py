"""Data about which the sentence of an audit would say more than it knows."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.auditing import Audit
from beyondkernels.auditing.data_checks import LEAK, REPEATS, SHIFT, TAILS, oddities, repeated_share
from beyondkernels.auditing.ladder import ABOUT
from beyondkernels.data import DataWarning
from beyondkernels.execution import perform
from beyondkernels.measure import Modes
from beyondkernels.store import RunSpec

torch.set_num_threads(1)
RNG = np.random.default_rng(100)
X = RNG.normal(size=(300, 5)).astype("f4")
CLASSES = (X[:, 0] * X[:, 1] > 0).astype(int)
NUMBERS = X[:, 0] * X[:, 1]
TOLD = np.column_stack([X, 2.0 * CLASSES - 1 + 0.1 * RNG.random(300)]).astype("f4")
TIED = np.column_stack([X, np.where(np.arange(300) < 30, 0, CLASSES)]).astype("f4")
OUTLIERS = NUMBERS + np.where(np.arange(300) % 30 == 0, 50.0, 0.0)


def net(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 16), nn.ReLU(), nn.Linear(16, out_dim))


def found(train: Any, test: Any = None) -> set[str]:
    return set(oddities(Audit(net, train, test, steps=1).subject))


def test_what_is_odd_about_data_is_named() -> None:
    assert found((X, CLASSES)) == found((X, NUMBERS)) == set()
    assert found((TOLD, CLASSES)) == {LEAK}
    assert found((TIED, CLASSES)) == set()  # some points have the value of the other class
    assert found((np.column_stack([X, 5 - 2 * NUMBERS]), NUMBERS)) == {LEAK}
    assert found((X, OUTLIERS)) == {TAILS}
    shifted = (X[200:] + 3, (X[200:, 0] > -9).astype(int))
    assert found((X[:200], CLASSES[:200]), shifted) == {SHIFT}
    assert found((X[:200], NUMBERS[:200]), (X[200:], NUMBERS[200:] + 2)) == {SHIFT}


def test_a_lead_that_may_be_memory_says_nothing_of_features() -> None:
    train, test = (X[:100], CLASSES[:100]), (X[80:120], CLASSES[80:120])
    options: Any = {"without": [name for name in ABOUT if name not in ("constant", "linear", "model")], "seeds": 2}
    with pytest.warns(DataWarning, match="20 of the 40 test points"):
        result = bk.audit(net, train, test, parts="ladder", steps=50, probes=False, progress=False, **options)
    assert repeated_share(result.experiment.subject) == 0.5
    assert "50 % of the test points are among the training points" in result.sentence
    assert "Nothing can be said about features" in result.sentence
    assert dict(zip(result.health["check"], result.health["verdict"], strict=True))[REPEATS] == "change this first"
    with pytest.warns(DataWarning, match="20 of the 40 test points"):
        given = bk.audit(net(5, 2), train, test, weights="given", seeds=1, progress=False)
    assert given.sentence.startswith("50 % of the test points are among the training points")


def test_labels_that_nothing_predicts_are_not_a_verdict_on_features() -> None:
    options: Any = {"without": [name for name in ABOUT if name not in ("constant", "linear", "model")], "seeds": 2}
    noise = RNG.integers(0, 2, 300)
    result = bk.audit(net, (X, noise), parts="ladder", steps=50, probes=False, progress=False, **options)
    assert "Nothing shows that these labels can be learnt" in result.sentence and "No gain" not in result.sentence


@pytest.mark.parametrize(("layer", "sign"), [(nn.Dropout(0.9), 1), (nn.BatchNorm1d(16, momentum=1e-4), -1), (None, 0)])
def test_training_mode_and_evaluation_mode_are_told_apart(layer: Any, sign: int) -> None:
    model = nn.Sequential(nn.Linear(5, 16), *([layer] if layer else []), nn.ReLU(), nn.Linear(16, 2))
    subject = Audit(model, (5 * X + 5, (X[:, 0] > 0).astype(int)), epochs=30, learning_rate=1e-2).subject
    learner = bk.engine.TrainedNetwork(subject.network, subject.rule)
    (run,) = perform([RunSpec(subject.problem, learner, subject.samples, subject.test, 0, measurements=(Modes(64),))])
    more = run.scalars["training_mode_error"] - run.scalars["evaluation_mode_error"]
    assert np.sign(round(more, 2)) == sign
    if not sign:
        assert run.scalars["evaluation_mode_error"] == pytest.approx(1 - run.scalars["train_accuracy"], abs=0.1)
