import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from beyondkernels.activations.truncated_relu import SmoothedTruncatedReLU, TruncatedReLU
from beyondkernels.core import Stream
from beyondkernels.kernels import FourierFeatures, Gaussian, InfiniteTangent, Laplace
from beyondkernels.kernels.estimators import (
    ConjugateKernelClassifier,
    KernelRidgePath,
    KernelRidgePathClassifier,
    RandomFeaturesRegressor,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from beyondkernels.kernels.estimators.network import DEFAULT_NETWORK
from beyondkernels.networks import FromModule, FullyConnected, Parameterisation, ThreeLayerResNet, TwoLayer
from module_cases import perceptron
from refusals import refused

X = Stream(0).child("x").normal(30, 3, dtype=torch.float64).numpy()
Y = X[:, 0] * X[:, 1]


fresh: Any = clone


def test_fields_of_components_are_parameters():
    params = TangentKernelRegressor(
        FullyConnected(width=7, depth=2, activation=SmoothedTruncatedReLU(0.5))
    ).get_params()
    own = {"network", "infinite_width", "group", "ridges", "fit_intercept", "memory", "in_shape", "random_state"}
    fields = {"width", "depth", "activation", "activation__std", "parameterisation", "readout"}
    scales = {f"parameterisation__{name}" for name in inspect.signature(Parameterisation).parameters}
    assert set(params) == own | {f"network__{name}" for name in fields | scales}
    assert params["network__width"] == 7
    assert params["network__activation__std"] == 0.5
    assert params["network__parameterisation__weight_variance"] == 2.0


def test_fields_are_set_in_a_copy():
    network = FullyConnected(width=7)
    model = TangentKernelRegressor(network)
    assert model.set_params(network__width=9, network__parameterisation__kind="standard", group="last") is model
    assert model.network == FullyConnected(width=9, parameterisation=Parameterisation(kind="standard"))
    assert model.group == "last"
    assert network == FullyConnected(width=7)


def test_fields_that_fit_only_together_are_set_together():
    scales = Parameterisation("standard", bias_variance=0.0)
    model = TangentKernelRegressor(FullyConnected(8, parameterisation=scales))
    changes = {"kind": "ntk", "bias_variance": 0.1}
    for order in (changes, dict(reversed(changes.items()))):
        changed = fresh(model).set_params(
            **{f"network__parameterisation__{name}": value for name, value in order.items()}
        )
        assert changed.network.parameterisation == Parameterisation("ntk", bias_variance=0.1)


def test_fields_change_what_is_set_beside_them():
    model = TangentKernelRegressor(FullyConnected(width=7))
    model.set_params(network__depth=2, network=FullyConnected(width=11, depth=5))
    assert model.network == FullyConnected(width=11, depth=2)
    model.set_params(network__activation__std=0.25, network__activation=SmoothedTruncatedReLU(1.0))
    assert model.network.activation == SmoothedTruncatedReLU(0.25)


def test_no_network_stands_for_the_default():
    model = TangentKernelRegressor()
    assert model.network is None
    assert model.get_params()["network__width"] == 512
    assert model.set_params(network__width=16).network == replace(DEFAULT_NETWORK, width=16)
    assert DEFAULT_NETWORK.parameterisation.bias_variance == 1.0


def test_no_kernel_stands_for_a_gaussian_of_unknown_bandwidth():
    model = KernelRidgePath()
    assert set(model.get_params()) == {"kernel", "ridges", "fit_intercept"}
    assert model.set_params(kernel__bandwidth=3.0).kernel == Gaussian(3.0)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"widht": 3}, r"Invalid parameter 'widht' for estimator .* Valid parameters are: \['fit_intercept', .*\]\.$"),
        (
            {"network__widht": 3},
            r"Invalid parameter 'network__widht' .*: \['network__width', 'network__depth', .*\]\.$",
        ),
        ({"network__width__x": 3}, r"Invalid parameter 'network__width__x' for estimator .* are: \[\]\.$"),
        ({"group__x": 3}, r"Invalid parameter 'group__x' for estimator"),
    ],
)
def test_unknown_names_get_scikit_learns_sentence_and_change_nothing(params, sentence):
    model = TangentKernelRegressor(FullyConnected(width=7))
    before = model.get_params()
    with pytest.raises(ValueError, match=f"(?s){sentence}"):
        model.set_params(memory=1, **params)
    assert model.get_params() == before


def test_a_value_that_the_component_refuses_changes_nothing():
    model = TangentKernelRegressor(FullyConnected(width=7))
    refused("width must be positive, got 0", model.set_params, memory=1, network__width=0)
    assert (model.memory, model.network.width) == (2**31, 7)


@pytest.mark.parametrize(
    "estimator",
    [
        TangentKernelRegressor(FullyConnected(width=8, activation=TruncatedReLU()), ridges=(1.0, 0.1), random_state=3),
        ConjugateKernelClassifier(ThreeLayerResNet(width=8), memory=10**8),
        TangentKernelClassifier(TwoLayer(pairs=4)),
        TangentKernelRegressor(FromModule(perceptron, "mlp", {"first": ("0.weight",)}), group="first"),
        RandomFeaturesRegressor(activation=SmoothedTruncatedReLU(0.5)),
        RandomFeaturesRegressor(features=FourierFeatures(count=8, bandwidth=2.0)),
        RandomFeaturesRegressor(features=FullyConnected(width=8)),
        KernelRidgePath(2 * Gaussian(1.0) + Laplace(2.0) * InfiniteTangent(depth=2)),
        KernelRidgePathClassifier("precomputed"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_clones_are_equal_and_unfitted(estimator):
    twin = fresh(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    assert type(estimator)(**estimator.get_params(deep=False)).get_params() == estimator.get_params()
    assert twin.set_params(**estimator.get_params()).get_params() == estimator.get_params()


def test_grid_search_over_fields_of_the_network():
    grid = {
        "network__width": np.array([4, 32]),
        "network__parameterisation__kind": ["ntk", "standard"],
        "group": ["all", "last"],
    }
    search = GridSearchCV(TangentKernelRegressor(FullyConnected(width=16, depth=2)), grid, cv=3).fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert len(set(search.cv_results_["mean_test_score"])) > 4
    best = search.best_params_
    network = FullyConnected(
        int(best["network__width"]), 2, parameterisation=Parameterisation(best["network__parameterisation__kind"])
    )
    by_hand = TangentKernelRegressor(network, group=best["group"]).fit(X, Y)
    assert search.best_estimator_.network == network
    np.testing.assert_array_equal(search.predict(X), by_hand.predict(X))


@pytest.mark.parametrize("kernel", [None, Laplace(1.0)])
def test_grid_search_over_the_bandwidth(kernel):
    grid = {"kernel__bandwidth": np.geomspace(0.1, 100, 4)}
    search = GridSearchCV(KernelRidgePath(kernel), grid, cv=3).fit(X, Y)
    kernels = {Gaussian, Laplace} if kernel is None else {type(kernel)}
    assert type(search.best_estimator_.kernel_) in kernels
    assert len(set(search.cv_results_["mean_test_score"])) == 4


def test_grid_search_on_a_gram_matrix_cuts_it_both_ways():
    K = Gaussian(2.0)(torch.from_numpy(X)).numpy()
    grid = {"ridges": [0.01, 1.0]}
    given = GridSearchCV(KernelRidgePath("precomputed"), grid, cv=3).fit(K, Y)
    points = GridSearchCV(KernelRidgePath(Gaussian(2.0)), grid, cv=3).fit(X, Y)
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], points.cv_results_["mean_test_score"], rtol=1e-9)
