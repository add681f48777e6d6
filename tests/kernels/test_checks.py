"""Numbers from any library, and values that grew too large."""

from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels import (
    Gaussian,
    KernelRidgePath,
    MetricKernel,
    RecursiveFeatureMachineRegressor,
    TangentKernelRegressor,
    check_kernel,
    fit_feature_machine,
    linearised_training,
    ridge_path,
    solve_features,
    solve_large,
    spectrum,
    tangent_gram,
)
from beyondkernels.kernels.checks import require_representable, tensor
from beyondkernels.kernels.solvers.intercept import solve_gram
from beyondkernels.networks import FullyConnected
from refusals import refused

F64 = torch.float64
X = Stream(0).normal(8, 2, dtype=F64)
Y = Stream(1).normal(8, dtype=F64)
GRAM = Gaussian(2.0)(X)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0.1, 1], F64),
        ((1, 2), torch.int64),
        (np.array([0.1], dtype=np.float32), torch.float32),
        (np.array([0.1], dtype=np.longdouble), F64),
        (np.array([7], dtype=np.uint16), F64),
        (torch.ones(2), torch.float32),
        ([[True, False]], torch.bool),
    ],
)
def test_lists_are_double_precision_and_others_keep_theirs(values, dtype):
    found = tensor("x", values)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), np.asarray(values))


def test_arrays_that_torch_does_not_take_as_they_are():
    array = np.arange(6.0)
    array.setflags(write=False)
    assert torch.equal(tensor("x", array[::-2]), torch.tensor([5.0, 3.0, 1.0], dtype=F64))
    assert tensor("x", array).tolist() == array.tolist()


@pytest.mark.parametrize("bad", [[[1.0], [1.0, 2.0]], "points", [["a"]], None, {"a": 1}])
def test_what_is_not_numbers_is_refused(bad: Any):
    kind = type(bad).__name__
    sentence = "must be a tensor, an array or lists of numbers of one length, got a"
    refused(f"x {sentence} {kind}", tensor, "x", bad)
    refused(f"x1 {sentence}", lambda: Gaussian(1.0)(bad))


def test_large_sums_of_finite_values_are_no_overflow():
    values = torch.full((3, 3), 1e308, dtype=F64)
    assert require_representable("K", values, X) is values
    values[0, 0] = torch.nan
    with pytest.raises(
        InputError, match="values of K overflow float64 at these points, whose entries reach 3; smaller"
    ):
        require_representable("K", values, torch.tensor([[1.0, -3.0]]), None)


def solved(x: Any, y: Any, gram: Any) -> list[torch.Tensor]:
    """Every solver on the same numbers."""
    path = ridge_path(gram, y, [0.1])
    network = FullyConnected(width=4)
    params, buffers = network.init(2, 1, Stream(0))
    training = linearised_training(gram, y)
    return [
        path.coefficients(0.1),
        path.predict(gram, 0.1),
        path.validation_errors(gram, y),
        solve_gram(gram, y, [0.1]).coefficients,
        solve_features(x, y, [0.1]).coefficients,
        spectrum(gram).values,
        training.predict(gram, [1.0]),
        solve_large(Gaussian(2.0), x, y, 0.1, stream=Stream(0), centres=4).coefficients,
        fit_feature_machine(x, y, ridge=0.1, rounds=2).coefficients,
        tangent_gram(network, params, buffers, x),
        MetricKernel(Gaussian(2.0), [0.1, 0.7])(x),  # type: ignore[arg-type]
    ]


def test_solvers_take_lists():
    for ours, exact in zip(solved(X.tolist(), Y.tolist(), GRAM.tolist()), solved(X, Y, GRAM), strict=True):
        assert torch.equal(ours, exact)
    assert all(finding.holds for finding in check_kernel(Gaussian(2.0), X.tolist()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "model", [KernelRidgePath(), TangentKernelRegressor(FullyConnected(8)), RecursiveFeatureMachineRegressor(rounds=2)]
)
def test_estimators_refuse_what_overflows(model):
    refused(r"float64", model.fit, 1e160 * X.numpy(), Y.numpy())
    with pytest.raises(InputError, match=r"^y must stay below 1e\+150, for errors are squared, got 1\.\d+e\+200$"):
        model.fit(X.numpy(), 1e200 * np.sign(Y.numpy()) * 1.5)
