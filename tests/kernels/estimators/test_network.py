"""What an estimator with the kernel of a network says about itself."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from beyondkernels.kernels.estimators import (
    ConjugateKernelClassifier,
    ConjugateKernelRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from beyondkernels.networks import FullyConnected, Parameterisation, TwoLayer

SCALES = "standard parameterisation: hidden weights 2/p, hidden biases 0.5, readout weights 1/p, no readout bias"
SMALL = FullyConnected(8, 2, parameterisation=Parameterisation("standard", bias_variance=0.5))
PRINTED = [
    (TangentKernelClassifier(SMALL, infinite_width=True, group="last"), f"infinite width of .*, {SCALES}, group: last"),
    (ConjugateKernelClassifier(TwoLayer(4)), r"conjugate kernel at finite width of TwoLayer\(pairs=4"),
    (RandomFeaturesClassifier(features=SMALL), rf"conjugate features of FullyConnected\(width=8.*{SCALES}"),
    (RandomFeaturesRegressor(), r"GaussianFeatures\(count=1000, activation=ReLU\(\)"),
]


@pytest.mark.parametrize(("estimator", "sentence"), PRINTED, ids=lambda case: type(case).__name__)
def test_print_names_the_network_and_its_parameterisation(estimator, sentence):
    assert re.search(sentence, str(estimator).removeprefix(f"{estimator!r}\n"))
    assert repr(estimator) == BaseEstimator.__repr__(estimator)


def test_print_draws_nothing():
    state, twin = np.random.RandomState(3), np.random.RandomState(3)
    str(TangentKernelRegressor(random_state=state))
    assert state.randint(1000) == twin.randint(1000)


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
