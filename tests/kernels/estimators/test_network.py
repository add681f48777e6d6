"""What an estimator with the kernel of a network says about itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels.classical.random_features import FourierFeatures
from beyondkernels.kernels.estimators import (
    ConjugateKernelClassifier,
    ConjugateKernelRegressor,
    KernelRidgePath,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from beyondkernels.networks import FullyConnected, Parameterisation, ThreeLayerResNet, TwoLayer

X = Stream(0).child("x").normal(12, 3, dtype=torch.float64).numpy()
STANDARD = FullyConnected(8, 2, parameterisation=Parameterisation("standard", bias_variance=0.5))
NTK = "ntk parameterisation: hidden weights 2/p, no hidden biases, readout weights 1/p, no readout bias"
DEFAULT = NTK.replace("no hidden biases", "hidden biases 1")
BIASED = "standard parameterisation: hidden weights 2/p, hidden biases 0.5, readout weights 1/p, no readout bias"
SMALL = "FullyConnected(width=8, depth=2, activation=ReLU(), readout='normal')"
LARGE = "FullyConnected(width=512, depth=3, activation=ReLU(), readout='normal')"
PRINTED = [
    (
        TangentKernelRegressor(),
        f"tangent kernel at finite width of {LARGE}, {DEFAULT}, group: all",
    ),
    (
        TangentKernelClassifier(STANDARD, infinite_width=True, group="last"),
        f"tangent kernel at infinite width of {SMALL}, {BIASED}, group: last",
    ),
    (
        ConjugateKernelRegressor(infinite_width=True),
        f"conjugate kernel at infinite width of {LARGE}, {DEFAULT}",
    ),
    (ConjugateKernelClassifier(TwoLayer(4)), f"conjugate kernel at finite width of {TwoLayer(4)!r}"),
    (
        RandomFeaturesClassifier(features=FullyConnected(8)),
        f"conjugate features of {SMALL.replace('depth=2', 'depth=3')}, {NTK}",
    ),
    (
        RandomFeaturesRegressor(),
        "GaussianFeatures(count=1000, activation=ReLU(), weight_std=None, bias_std=1.0)",
    ),
]


@pytest.mark.parametrize(("estimator", "sentence"), PRINTED, ids=lambda case: type(case).__name__)
def test_print_names_the_network_and_its_parameterisation(estimator, sentence):
    assert str(estimator) == f"{estimator!r}\n{sentence}"
    assert repr(estimator) == BaseEstimator.__repr__(estimator)


def test_defaults_stay_hidden_in_repr():
    assert repr(TangentKernelRegressor()) == "TangentKernelRegressor()"
    assert repr(make_pipeline(TangentKernelRegressor())).count("FullyConnected") == 0


@pytest.mark.parametrize(
    "estimator",
    [KernelRidgePath(), RandomFeaturesRegressor(features=FourierFeatures(8, 2.0)), RandomFeaturesRegressor(count=0)],
)
def test_print_is_repr_where_that_says_it_all(estimator):
    assert str(estimator) == repr(estimator)


def test_every_form_of_a_network_is_told():
    printed = str(TangentKernelRegressor(ThreeLayerResNet(width=8, form="bottleneck")))
    assert "form='bottleneck'" in printed
    assert NTK in printed


def test_what_makes_no_sense_can_be_printed():
    printed = str(TangentKernelRegressor("wide"))  # type: ignore[arg-type]
    assert printed.endswith("tangent kernel at finite width of 'wide', group: all")


def test_print_draws_nothing():
    state, twin = np.random.RandomState(3), np.random.RandomState(3)
    str(TangentKernelRegressor(random_state=state))
    assert state.randint(1000) == twin.randint(1000)


@pytest.mark.parametrize("infinite_width", [False, True])
@pytest.mark.parametrize("kind", [TangentKernelRegressor, ConjugateKernelRegressor])
def test_the_fitted_kernel_names_the_parameterisation(kind, infinite_width):
    model = kind(STANDARD, infinite_width=infinite_width).fit(X, X[:, 0])
    assert "standard" in str(model.kernel_)
    assert "hidden biases 0.5" in str(model.kernel_) or "bias_variance=0.5" in str(model.kernel_)


@pytest.mark.parametrize("infinite_width", [False, True])
def test_an_unknown_group_is_told_with_the_networks_own_names(infinite_width):
    with pytest.raises(InputError) as error:
        TangentKernelRegressor(FullyConnected(8), group="foo", infinite_width=infinite_width).fit(X, X[:, 0])
    assert "group" in str(error.value)
    assert "trained" not in str(error.value)
    for name in ("all", "hidden", "last", "layer1", "layer2", "output"):
        assert name in str(error.value)


@pytest.mark.parametrize("kind", [TangentKernelRegressor, ConjugateKernelRegressor])
def test_a_network_without_biases_warns_about_points_of_one_number(kind):
    x, y = np.linspace(-1, 1, 12), np.arange(12.0)
    bare, biased = FullyConnected(8), FullyConnected(8, parameterisation=Parameterisation(bias_variance=1.0))
    with pytest.warns(UserWarning, match=r"Parameterisation\(bias_variance=1\.0\) gives it biases"):
        kind(bare).fit(x[:, None], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(biased).fit(x[:, None], y)
        kind().fit(x[:, None], y)
        kind(bare).fit(np.stack([x, 1 - x], 1), y)
