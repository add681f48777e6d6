"""Kernels of networks that take images: as kernels, as learners, as estimators, and at given parameters."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.core import InputError, Stream, build, describe, digest, load_file
from beyondkernels.core.components import USER_MODULES
from beyondkernels.kernels import (
    ConjugateAt,
    FiniteConjugate,
    FiniteTangent,
    Gaussian,
    MeanOverDraws,
    TangentAt,
    TangentKernelRegressor,
    check_kernel,
    module_tangent_gram,
)
from beyondkernels.networks import FromCopy, FromModule, FullyConnected, Linearised

NAME = f"{USER_MODULES}.images"
if NAME not in sys.modules:  # loaded anew, its functions would not be those that another test file holds
    load_file(Path(__file__).parents[2] / "images.py")
images = sys.modules[NAME]
PROBLEM = images.Stripes()
SHAPE = PROBLEM.in_shape
NETWORK = FromModule(images.rows_and_columns, "convolution")


def batch(n: int, seed: int = 0) -> torch.Tensor:
    return PROBLEM.sample(n, Stream(seed)).x.double()


def same(value: torch.Tensor, truth: torch.Tensor, relative: float = 1e-10) -> bool:
    return value.shape == truth.shape and bool((value - truth).abs().max() <= relative * truth.abs().max())


@pytest.mark.parametrize(
    "make",
    [
        lambda network: FiniteTangent(network, seed=3, out_dim=2),
        lambda network: FiniteConjugate(network, seed=3),
        lambda network: MeanOverDraws(network, draws=2, out_dim=2),
        lambda network: MeanOverDraws(network, draws=2, kind="conjugate"),
        lambda network: 2 * FiniteTangent(network) + FiniteConjugate(network) * Gaussian(9.0),
    ],
    ids=["tangent", "conjugate", "mean", "mean conjugate", "sum"],
)
def test_images_and_vectors_with_a_shape_are_one(make):
    # another test file may have loaded the functions anew, after which the earlier ones have lost their names
    kernel = make(FromModule(sys.modules[NAME].rows_and_columns, "convolution"))
    x1, x2 = batch(5), batch(4, 1)
    shaped = kernel.for_shape(SHAPE)
    assert torch.equal(kernel(x1, x2), shaped(x1.flatten(1), x2.flatten(1)))
    assert torch.equal(kernel.diagonal(x1), shaped.diagonal(x1.flatten(1)))
    assert all(finding.holds for finding in check_kernel(shaped, x1.flatten(1)))
    assert build(describe(shaped)) == shaped
    assert shaped.for_shape(SHAPE) == shaped


def test_the_shape_has_no_part_in_the_identity_of_older_kernels():
    kernel = FiniteTangent(FullyConnected(8))
    assert "in_shape" not in describe(kernel)["fields"]
    assert digest(kernel.for_shape((2, 4))) != digest(kernel)
    x = batch(4)
    assert same(kernel(x), kernel(x.flatten(1)), 1e-14)


def test_kernels_at_given_parameters():
    network = FromCopy.of(images.rows_and_columns(SHAPE, 3), parts={"last": ("5.weight", "5.bias")})
    params, buffers = network.init(SHAPE, 3, Stream(4))
    x1, x2 = batch(5), batch(4, 1)
    module = network.as_module(params, buffers, SHAPE)
    tangent = TangentAt(network, params, buffers)
    assert same(tangent.gram(x1, x2), module_tangent_gram(module, x1, x2))
    assert same(tangent(x1), module_tangent_gram(module, x1))
    assert same(tangent.full(x1), module_tangent_gram(module, x1, outputs="full"))
    assert same(tangent.diagonal(x1), tangent.gram(x1).diagonal())
    conjugate = ConjugateAt(network, params, buffers)
    assert same(conjugate.gram(x1, x2), conjugate.features(x1) @ conjugate.features(x2).T)
    assert same(conjugate.diagonal(x1), conjugate(x1).diagonal())
    assert same(conjugate.gram(x1), TangentAt(network, params, buffers, group="last").gram(x1))
    assert TangentAt(network, params, buffers, dtype=torch.float32).gram(x1).dtype == torch.float32


def test_full_and_features_are_told_the_shape():
    x = batch(4)
    kernel = FiniteTangent(NETWORK, out_dim=2)
    assert same(kernel.full(x).diagonal(dim1=2, dim2=3).mean(-1), kernel(x))
    assert torch.equal(kernel.full(x), kernel.for_shape(SHAPE).full(x.flatten(1)))
    features = FiniteConjugate(NETWORK)
    assert torch.equal(features.features(x), features.for_shape(SHAPE).features(x.flatten(1)))
    error = MeanOverDraws(NETWORK, draws=2).standard_error(x)
    assert error.shape == (4, 4)
    assert (error > 0).any()


def test_an_estimator_folds_rows():
    sample = PROBLEM.sample(40, Stream(0))
    x, y = sample.x.flatten(1).numpy(), sample.y.numpy()
    model = TangentKernelRegressor(NETWORK, in_shape=SHAPE, ridges=1e-3).fit(x, y)
    assert model.score(x, y) > 0.9
    assert np.allclose(model.kernel_(sample.x).numpy(), FiniteTangent(NETWORK)(sample.x).numpy())
    with pytest.raises(InputError, match="in_shape must be a positive whole number, got 'wide'"):
        TangentKernelRegressor(NETWORK, in_shape=("wide",)).fit(x, y)  # pyright: ignore[reportArgumentType]


def normalised() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(144, 1)
    )


def test_the_linearised_module_trains_as_its_tangent_kernel_says():
    """Full-batch gradient descent on Δ: residuals shrink by the matrix 1 − 2ηΘ/n at each step, squared error."""
    network = FromCopy.of(normalised())
    rule = bk.algorithms.GradientDescent(steps=3, learning_rate=0.01, loss=bk.algorithms.Squared())
    run = bk.fit(Linearised(network, in_evaluation=True), PROBLEM, n=12, algorithm=rule, test=12)
    predictor = run.outcome.predictor
    state = predictor.params, predictor.buffers  # pyright: ignore[reportOptionalMemberAccess, reportFunctionMemberAccess]
    linearised = Linearised(network, in_evaluation=True)
    at, params, buffers = linearised.expansion_point(*state)
    sample = PROBLEM.sample(12, Stream(0).child("train"))
    y = sample.y.double().reshape(-1)
    theta = TangentAt(at, params, buffers).gram(sample.x)
    residual = at.apply(params, buffers, sample.x)[0].double()[:, 0] - y
    for _ in range(3):
        residual = residual - 0.01 * theta @ residual * 2 / len(y)
    assert same(run.outputs(sample.x).double().reshape(-1) - y, residual, 1e-4)
