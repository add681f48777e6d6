"""What all estimators share: targets, classes, seeds, memory, and sentences about wrong input."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels.classical.gaussian import Gaussian
from beyondkernels.kernels.estimators import (
    ConjugateKernelClassifier,
    ConjugateKernelRegressor,
    KernelRidgePath,
    KernelRidgePathClassifier,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RecursiveFeatureMachineClassifier,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from beyondkernels.kernels.estimators.arguments import seed_of
from beyondkernels.networks import FullyConnected
from refusals import refused

SMALL = FullyConnected(width=32)
X = Stream(0).child("x").normal(60, 4, dtype=torch.float64).numpy()
Y = X[:, 0] + 0.5 * np.abs(X[:, 1])
REGRESSORS = [
    TangentKernelRegressor(SMALL),
    ConjugateKernelRegressor(SMALL),
    RandomFeaturesRegressor(count=100),
    RandomFeaturesRegressor(count=20),
    KernelRidgePath(Gaussian(4.0)),
]
CLASSIFIERS = [
    TangentKernelClassifier(SMALL),
    ConjugateKernelClassifier(SMALL),
    RandomFeaturesClassifier(count=100),
    RandomFeaturesClassifier(count=20),
    KernelRidgePathClassifier(Gaussian(4.0)),
]
DRAWN = [TangentKernelRegressor(SMALL), ConjugateKernelRegressor(SMALL), RandomFeaturesRegressor(count=20)]


fresh: Any = clone


def names(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.mark.parametrize("model", REGRESSORS, ids=names)
def test_leave_one_out_error_is_that_of_refits(model):
    model = fresh(model).fit(X[:20], Y[:20])
    assert model.ridge_ == model.path_.ridges[model.loo_errors_.argmin()].item()
    assert model.loo_error_ == pytest.approx(model.loo_errors_.min())
    one = fresh(model).set_params(ridges=model.ridge_)
    rest = ~np.eye(20, dtype=bool)
    left_out = [one.fit(X[:20][rest[i]], Y[:20][rest[i]]).predict(X[i : i + 1])[0] for i in range(20)]
    assert model.loo_error_ == pytest.approx(np.mean((left_out - Y[:20]) ** 2), rel=1e-7)


@pytest.mark.parametrize("model", REGRESSORS, ids=names)
def test_a_constant_added_to_the_targets_is_added_to_predictions(model):
    model = fresh(model)
    before, intercept = model.fit(X, Y).predict(X[:7]), model.intercept_
    np.testing.assert_allclose(model.fit(X, Y + 1000).predict(X[:7]), before + 1000, rtol=1e-9)
    assert model.intercept_ == pytest.approx(intercept + 1000)


@pytest.mark.parametrize("model", REGRESSORS, ids=names)
def test_no_intercept_where_none_is_asked_for(model):
    model = fresh(model).set_params(fit_intercept=False, ridges=1e9).fit(X, Y + 1000)
    assert model.intercept_ == 0
    assert abs(model.predict(X)).max() < 1  # so large a ridge leaves nothing but the intercept
    assert fresh(model).set_params(fit_intercept=True).fit(X, Y + 1000).predict(X).mean() == pytest.approx(
        1000, rel=1e-2
    )


@pytest.mark.parametrize("shift", [-0.6, 0.3])
@pytest.mark.parametrize(
    "kind",
    [
        TangentKernelClassifier,
        ConjugateKernelClassifier,
        RandomFeaturesClassifier,
        KernelRidgePathClassifier,
        RecursiveFeatureMachineClassifier,
    ],
)
def test_a_threshold_in_one_dimension_is_learned(kind, shift):
    """Wherever it lies, with all defaults: networks without biases are odd or even in one dimension, so could not."""
    x = np.linspace(-1, 1, 81)[:, None]
    model = kind().fit(x[::2], x[::2, 0] > shift)
    assert model.score(x[1::2], x[1::2, 0] > shift) >= 0.97


@pytest.mark.parametrize("model", REGRESSORS, ids=names)
def test_many_outputs_are_columns(model):
    model = fresh(model)
    both = np.stack([Y, 3 - Y], 1)  # mirrored, so that the common ridge is that of each
    one = model.fit(X, Y).predict(X[:7])
    assert one.shape == (7,)
    assert model.coefficients_.ndim == 1
    two = model.fit(X, both).predict(X[:7])
    assert model.coefficients_.shape[1] == 2
    np.testing.assert_allclose(two, np.stack([one, 3 - one], 1), rtol=1e-8, atol=1e-10)
    assert model.fit(X, Y[:, None]).predict(X[:7]).shape == (7, 1)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=names)
def test_two_classes_are_one_column(model):
    labels = np.where(Y > 0.5, "above", "below")
    model = fresh(model).fit(X, labels)
    assert model.classes_.tolist() == ["above", "below"]
    values = model.decision_function(X)
    assert values.shape == (60,)
    np.testing.assert_array_equal(model.predict(X), np.where(values > 0, "below", "above"))
    assert model.score(X, labels) > 0.9
    assert not hasattr(model, "predict_proba")
    kinds = {type(c): type(r) for c, r in zip(CLASSIFIERS, REGRESSORS, strict=True)}
    regressor = kinds[type(model)](**model.get_params(deep=False)).fit(X, np.where(labels == "below", 1.0, -1.0))
    np.testing.assert_array_equal(values, regressor.predict(X))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=names)
def test_three_classes_are_three_columns(model):
    classes = np.array([-7, 3, 20])
    labels = classes[np.digitize(Y, [-0.3, 1.0])]
    model = fresh(model).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, classes)
    values = model.decision_function(X)
    assert values.shape == (60, 3)
    np.testing.assert_array_equal(model.predict(X), classes[values.argmax(1)])
    np.testing.assert_allclose(values.sum(1), -1, rtol=1e-9)  # +1 once and −1 twice, and the fit is linear in it
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize("model", CLASSIFIERS, ids=names)
@pytest.mark.parametrize("cuts", [[0.5], [-0.3, 1.0]])
def test_leave_one_out_accuracy_is_that_of_refits(model, cuts):
    model = fresh(model).set_params(ridges=0.5)
    labels, rest = np.digitize(Y[:20], cuts), ~np.eye(20, dtype=bool)
    left_out = [model.fit(X[:20][rest[i]], labels[rest[i]]).predict(X[i : i + 1])[0] for i in range(20)]
    model.fit(X[:20], labels)
    assert model.loo_accuracy_ == np.mean(left_out == labels)
    assert 0.3 < model.loo_accuracy_ < 1


@pytest.mark.parametrize("model", CLASSIFIERS, ids=names)
def test_one_class_is_refused(model):
    refused("y must hold at least two classes, got one class, 3", model.fit, X, np.full(60, 3))


@pytest.mark.parametrize("model", DRAWN, ids=names)
def test_the_seed_decides(model):
    def predictions(random_state: Any) -> np.ndarray:
        return fresh(model).set_params(random_state=random_state).fit(X, Y).predict(X[:7])

    none = predictions(None)
    np.testing.assert_array_equal(none, predictions(0))
    np.testing.assert_array_equal(none, predictions(np.int64(0)))
    np.testing.assert_array_equal(predictions(5), predictions(5))
    assert not np.allclose(none, predictions(5))
    np.testing.assert_array_equal(predictions(np.random.RandomState(5)), predictions(np.random.RandomState(5)))
    model.set_params(random_state=None)


def test_a_random_state_moves_on_and_the_global_one_does_not():
    state = np.random.RandomState(5)
    assert seed_of(state) != seed_of(state)
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    torch_before = torch.random.get_rng_state()
    TangentKernelRegressor(SMALL).fit(X, Y).predict(X)
    np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], before)  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), torch_before)


def test_single_precision_points_count_as_what_they_are():
    single = X.astype(np.float32)
    for model in map(fresh, REGRESSORS):
        one = model.fit(single, Y).predict(single)
        assert one.dtype == np.float64
        np.testing.assert_array_equal(one, model.fit(single.astype(np.float64), Y).predict(single))


def test_later_changes_of_the_data_do_not_change_the_fit():
    X0 = X.copy()
    model = TangentKernelRegressor(SMALL).fit(X0, Y)
    before = model.predict(X[:5])
    X0[:] = 0
    np.testing.assert_array_equal(model.predict(X[:5]), before)


def test_predictions_go_in_blocks_within_the_memory(monkeypatch):
    model = ConjugateKernelRegressor(SMALL).fit(X, Y)
    whole = model.predict(X)
    sizes = []
    kernel = type(model.kernel_)
    call = kernel.__call__
    monkeypatch.setattr(kernel, "__call__", lambda self, x, y: sizes.append(len(x)) or call(self, x, y))
    model.set_params(memory=4 * 8 * 60 * 25)
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-11)
    assert sizes == [25, 25, 10]


@pytest.mark.parametrize(
    ("kind", "params", "sentence"),
    [
        (TangentKernelRegressor, {"network": "wide"}, "network must be a Network or None, got 'wide'"),
        (TangentKernelRegressor, {"group": "lats"}, "unknown parameter group 'lats', did you mean last?"),
        (TangentKernelRegressor, {"infinite_width": 3}, "infinite_width must be True or False, got 3"),
        (TangentKernelRegressor, {"ridges": "much"}, "ridges must be a number, numbers or None, got 'much'"),
        (RandomFeaturesRegressor, {"count": 2.5}, "count must be a positive whole number, got 2.5"),
        (RandomFeaturesRegressor, {"activation": "reul"}, "unknown activation 'reul', did you mean relu"),
        (
            RandomFeaturesRegressor,
            {"random_state": "x"},
            "random_state must be a whole number, None or a numpy.random",
        ),
        (KernelRidgePath, {"kernel": "rbf"}, "kernel must be a Kernel, 'precomputed' or None, got 'rbf'"),
        (KernelRidgePath, {"kernel": "precomputed"}, "where kernel is 'precomputed', got (60, 4)"),
    ],
)
def test_wrong_parameters_are_told_when_fitted(kind, params, sentence):
    model = kind(**params)
    if "network" not in params and isinstance(model, TangentKernelRegressor):
        model.set_params(network=SMALL)
    with pytest.raises(InputError) as error:
        model.fit(X, Y)
    assert sentence in str(error.value)
