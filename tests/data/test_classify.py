"""Whether labels are classes is what the data were read as, not what their numbers look like."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

import beyondkernels as bk

X = bk.core.Stream(0).child("points").normal(60, 4).numpy()
SIGNS = np.where(X[:, 0] > 0, 1.0, -1.0)


MODELS = {"estimator": Ridge(), "kernel": bk.kernels.Gaussian(2.0), "network": nn.Linear(4, 1)}


@pytest.mark.parametrize("kind", MODELS)
def test_signs_that_are_to_be_predicted_as_numbers_are_numbers(kind: str) -> None:
    options: dict[str, Any] = {"progress": False} | ({"epochs": 2} if kind == "network" else {})
    run = bk.fit(MODELS[kind], (X, SIGNS), classify=False, **options)
    found = run.outcome.scalars
    assert "test_accuracy" not in found and "test_r2" in found
    assert found["test_squared_error"] == pytest.approx(found["test_loss"], rel=1e-5)
    assert len(np.unique(run.predict(X))) > 2  # and not the signs alone
    assert "test_accuracy" in bk.fit(MODELS[kind], (X, SIGNS), **options).outcome.scalars


def test_test_labels_that_happen_to_be_signs_are_numbers_if_training_labels_are() -> None:
    y = X[:, 0].copy()
    y[50:] = SIGNS[50:]
    data = ((X[:50], y[:50]), (X[50:], y[50:]))
    found = bk.audit(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), data, seeds=1, steps=2, parts="ladder")
    assert "Variance explained" in found.experiment.declared["score"].column_heading
    assert all(found.ladder["score"] > -1e6)


def test_kernels_on_data_do_not_depend_on_the_offset_of_labels() -> None:
    near, far = (bk.fit(bk.kernels.Gaussian(2.0), (X, X[:, 0] + offset), progress=False) for offset in (0.0, 100.0))
    assert far.test_loss == pytest.approx(near.test_loss, rel=1e-2)


def dense(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 3), nn.ReLU(), nn.Linear(3, out_dim))


def test_a_function_that_makes_a_module_is_a_model_and_a_torch_device_is_a_device() -> None:
    options: dict[str, Any] = {"steps": 2, "progress": False}
    run = bk.fit(dense, (X, SIGNS), device=torch.device("cpu"), **options)
    made = bk.fit(bk.networks.FromModule(dense, "dense"), (X, SIGNS), **options)
    assert run.test_loss == made.test_loss
    both = bk.compare((X, SIGNS), learners={"a": dense, "b": Ridge()}, seeds=1, **options)
    assert both.runs["a"][0].test_loss == run.test_loss
    assert (
        bk.fit_many(dense, (X, SIGNS), grid=bk.grid(learning_rate=[1e-3]), **options).rows[0]["test_loss"]
        == run.test_loss
    )
    with pytest.raises(bk.core.InputError, match="model must be a module or a function with a name, got <lambda>"):
        bk.fit(lambda i, o: dense(i, o), (X, SIGNS), **options)


def test_an_estimator_that_predicts_only_after_it_was_fitted_is_one() -> None:
    from sklearn.ensemble import StackingRegressor

    run = bk.fit(StackingRegressor([("ridge", Ridge())]), (X, X[:, 0]), progress=False)
    assert run.test_loss < 0.1
