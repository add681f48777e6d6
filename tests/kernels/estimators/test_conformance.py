"""Scikit-learn's own suite for estimators, over all of ours."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import beyondkernels as bk
from beyondkernels.kernels import FourierFeatures, Laplace
from beyondkernels.networks import FullyConnected, Parameterisation, ThreeLayerResNet, TwoLayer

SMALL = FullyConnected(width=32, depth=3)
ESTIMATORS = [
    bk.kernels.TangentKernelRegressor(),
    bk.kernels.TangentKernelRegressor(TwoLayer(pairs=16)),
    bk.kernels.TangentKernelRegressor(SMALL, infinite_width=True, group="hidden"),
    bk.kernels.TangentKernelClassifier(SMALL),
    bk.kernels.TangentKernelClassifier(ThreeLayerResNet(width=32), infinite_width=True),
    bk.kernels.ConjugateKernelRegressor(SMALL, infinite_width=True),
    bk.kernels.ConjugateKernelClassifier(),
    bk.kernels.ConjugateKernelClassifier(FullyConnected(width=32, parameterisation=Parameterisation("standard"))),
    bk.kernels.RandomFeaturesRegressor(),
    bk.kernels.RandomFeaturesRegressor(features=FourierFeatures(count=50, bandwidth=20.0)),
    bk.kernels.RandomFeaturesClassifier(features=SMALL),
    bk.kernels.RandomFeaturesClassifier(count=10, activation="truncated_relu", bias_std=1.0),
    bk.kernels.KernelRidgePath(),
    bk.kernels.KernelRidgePath(Laplace(2.0), ridges=0.1),
    bk.kernels.KernelRidgePath(fit_intercept=False),
    bk.kernels.KernelRidgePathClassifier(),
    bk.kernels.RecursiveFeatureMachineRegressor(rounds=2),
    bk.kernels.RecursiveFeatureMachineRegressor("gaussian", rounds=2, diagonal=True, validation=0.3),
    bk.kernels.RecursiveFeatureMachineClassifier(rounds=2),
]
PRECOMPUTED = [bk.kernels.KernelRidgePath("precomputed"), bk.kernels.KernelRidgePathClassifier("precomputed")]
NO_GRAM_MATRIX = {
    "check_positive_only_tag_during_fit": "a number subtracted from every entry leaves an indefinite matrix, refused",
    "check_estimators_dtypes": "entries cut down to whole numbers leave an indefinite matrix, refused",
}
"""What scikit-learn asks of estimators on Gram matrices with matrices that are none: the only checks that fail."""


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks(PRECOMPUTED, expected_failed_checks=lambda _: NO_GRAM_MATRIX)
def test_scikit_learn_on_gram_matrices(estimator: Any, check: Any) -> None:
    check(estimator)
