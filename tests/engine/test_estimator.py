"""Estimators as learners: what makes two of them the same."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, CompoundKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import beyondkernels as bk
from beyondkernels.core import UncacheableError, digest
from beyondkernels.engine import FromEstimator

SOURCE = """
from sklearn.base import BaseEstimator

class Base(BaseEstimator):
    def scale(self):
        return {scale}

class Mine(Base):
    def __init__(self, inner=None, prior=None):
        self.inner, self.prior = inner, prior

    def fit(self, x, y):
        return self

    def predict(self, x):
        return {value} * self.scale() + 0 * x[:, 0]

def double(x):
    return {factor} * x
"""


def written(**changes: Any) -> Any:
    """What a user's file defines, before and after it was changed."""
    module = types.ModuleType("mine")
    exec(SOURCE.format(**{"scale": 1, "value": 2, "factor": 2, **changes}), vars(module))
    return module


def long(last: float) -> np.ndarray:
    """An array whose text leaves out all but its ends."""
    values = np.arange(5000.0)
    values[2500] = last
    return values


class Mean(BaseEstimator):
    def __init__(self, prior: Any = None) -> None:
        self.prior = prior

    def fit(self, x: Any, y: Any) -> Mean:
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(len(x))


class Prior:
    __slots__ = ("mean",)

    def __init__(self, mean: float) -> None:
        self.mean = mean

    def shifted(self, x: np.ndarray) -> np.ndarray:
        return x + self.mean


def through(function: Any) -> Any:
    return make_pipeline(FunctionTransformer(function), Ridge())


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: written().Mine(), lambda: written(value=3).Mine()),
        (lambda: written().Mine(), lambda: written(scale=3).Mine()),
        (lambda: BaggingRegressor(written().Mine()), lambda: BaggingRegressor(written(value=3).Mine())),
        (lambda: Mean(long(0.0)), lambda: Mean(long(1.0))),
        (lambda: Mean({"a": [long(0.0)]}), lambda: Mean({"a": [long(1.0)]})),
        (lambda: Mean(np.array(["a", None])), lambda: Mean(np.array(["b", None]))),
        (lambda: Mean(Prior(1.0)), lambda: Mean(Prior(2.0))),
        (lambda: Mean(np.random.RandomState(0)), lambda: Mean(np.random.RandomState(1))),
        (lambda: through(written().double), lambda: through(written(factor=3).double)),
        (lambda: through(np.log1p), lambda: through(np.expm1)),
        (lambda: through(functools.partial(np.add, 1)), lambda: through(functools.partial(np.add, 2))),
        (lambda: through(Prior(1.0).shifted), lambda: through(Prior(2.0).shifted)),
        (
            lambda: GridSearchCV(Ridge(), {"alpha": [1]}, cv=KFold(2)),
            lambda: GridSearchCV(Ridge(), {"alpha": [1]}, cv=KFold(3)),
        ),
        (
            lambda: GaussianProcessRegressor(CompoundKernel([RBF(1.0001)])),
            lambda: GaussianProcessRegressor(CompoundKernel([RBF(1.0002)])),
        ),
        (lambda: BaggingRegressor(Ridge(1.0)), lambda: BaggingRegressor(Ridge(2.0))),
    ],
    ids=[
        *("code", "base", "nested", "array", "nested array", "objects", "slots", "generator", "function", "ufunc"),
        *("partial", "method", "folds", "kernels", "plain"),
    ],
)
def test_estimators_that_predict_something_else_have_another_identity(make: Any, other: Any) -> None:
    assert digest(FromEstimator.of(make())) == digest(FromEstimator.of(make()))
    assert digest(FromEstimator.of(make())) != digest(FromEstimator.of(other()))


def test_a_parameter_that_cannot_be_read_is_not_stored() -> None:
    learner = FromEstimator.of(Mean(each for each in (1.0, 2.0)))
    with pytest.raises(UncacheableError, match=r"generator .* not stored"):
        digest(learner)


def test_what_refers_to_itself_has_an_end() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert FromEstimator.of(Mean(ring)).settings == FromEstimator.of(Mean(ring)).settings


def test_a_changed_class_is_fitted_anew(tmp_path: Any) -> None:
    x = np.random.default_rng(0).standard_normal((20, 2))
    losses = [
        bk.fit(made.Mine(), (x, x[:, 0]), store=tmp_path / "store", progress=False).test_loss
        for made in (written(), written(), written(value=30))
    ]
    assert losses[0] == losses[1] < losses[2]
