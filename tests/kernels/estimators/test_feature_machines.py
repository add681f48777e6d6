"""Recursive feature machines under scikit-learn's own checks, and against the function behind them."""

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.estimators.feature_machines import (
    RecursiveFeatureMachineClassifier,
    RecursiveFeatureMachineRegressor,
)
from beyondkernels.kernels.feature_machines.machine import fit_feature_machine


def data(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    x = Stream(0).normal(n, 5, dtype=torch.float64).numpy()
    return x, x[:, 0] * x[:, 1]


@pytest.mark.parametrize("outputs", [0, 2])
def test_regressor_is_the_function_with_an_intercept(outputs):
    x, y = data()
    y = 50 + (y if not outputs else y[:, None] * np.arange(1, outputs + 1))
    machine = RecursiveFeatureMachineRegressor("gaussian", rounds=3, validation=0.25, random_state=7).fit(x, y)
    fit = fit_feature_machine(
        torch.from_numpy(x),
        torch.from_numpy(y),
        kernel="gaussian",
        rounds=3,
        validation=0.25,
        fit_intercept=True,
        stream=Stream(7).child("validation"),
    )
    found, exact = machine.predict(x[:9] + 0.1), fit.predict(torch.from_numpy(x[:9] + 0.1)).numpy()
    assert found.shape == (9, *y.shape[1:])
    assert np.allclose(found.reshape(9, -1), exact, rtol=0, atol=1e-9)
    assert np.array_equal(machine.metric_, fit.metric.numpy())
    assert np.array_equal(np.atleast_1d(machine.intercept_), fit.intercept.numpy())
    assert machine.round_ == fit.best
    assert machine.ridge_ == fit.record[fit.best - 1].ridge
    assert machine.loo_errors_.tolist() == [this.loo_error for this in fit.record]


@pytest.mark.parametrize("classes", [2, 3])
def test_classifier(classes):
    x, y = data(300)
    names = np.array(["low", "middle", "up"])[-classes:]
    labels = names[np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))]
    machine = RecursiveFeatureMachineClassifier().fit(x[:200], labels[:200])
    assert set(machine.classes_) == set(names)
    assert machine.decision_function(x[:7]).shape == ((7,) if classes == 2 else (7, 3))
    assert machine.score(x[200:], labels[200:]) > {2: 0.85, 3: 0.75}[classes]
    fixed = RecursiveFeatureMachineClassifier(rounds=1).fit(x[:200], labels[:200])
    assert machine.score(x[200:], labels[200:]) > fixed.score(x[200:], labels[200:])
