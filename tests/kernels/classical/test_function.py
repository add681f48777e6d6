"""Kernels from a user's function: what is passed on, and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import chi2_kernel

from beyondkernels.core import Stream
from beyondkernels.kernels.classical.function import FunctionKernel
from refusals import refused

F64 = torch.float64
KEPT = torch.full((3, 3), 2.0, dtype=F64)


def overlap(x1, x2):
    """Σ_k min(x_k, y_k), entry by entry."""
    out = torch.zeros(len(x1), len(x2), dtype=F64)
    for i in range(len(x1)):
        for j in range(len(x2)):
            out[i, j] = sum(min(a, b) for a, b in zip(x1[i].tolist(), x2[j].tolist(), strict=True))
    return out


def given(x1, x2):
    return x1


def points(n=5):
    return Stream(0).child("function").uniform(n, 3, dtype=F64)


def test_the_function_decides():
    x, y = points(), points(9)[5:]
    kernel = FunctionKernel(overlap, "overlap")
    assert torch.equal(kernel(x, y), overlap(x, y))
    assert torch.equal(kernel(x), overlap(x, x))
    many = points(70)  # more than two of the small matrices
    torch.testing.assert_close(kernel.diagonal(many), many.sum(1), rtol=1e-15, atol=0)
    assert kernel(x[:0]).shape == (0, 0)


def test_functions_of_arrays():
    x = points()
    assert torch.equal(FunctionKernel(chi2_kernel, "chi2")(x, x), torch.from_numpy(chi2_kernel(x.numpy())))


def test_what_is_returned_is_a_copy():
    gram = FunctionKernel(lambda x1, x2: KEPT[: len(x1), : len(x2)], "kept")(points(3), points(3))
    gram.fill_(0.0)
    assert float(KEPT.min()) == 2.0
    x = points(3)
    FunctionKernel(given, "given")(x, x).fill_(0.0)
    assert torch.equal(x, points(3))


BAD = {
    "got float64 of shape .5, 1.": lambda x1, x2: (x1 @ x2.T)[:, :1],
    "mine must return float64 of shape .5, 5. for batches of 5 and 5 points, got float32": lambda x1, x2: (
        x1 @ x2.T
    ).float(),
    "got float32 of shape": lambda x1, x2: np.float32(x1 @ x2.T),
    "what mine returns must be finite, got 25 infinite or NaN": lambda x1, x2: torch.log(x1 @ x2.T - 10),
    "mine must be symmetric to be a kernel, got K.x., x.. = .*, the largest": lambda x1, x2: x1[:, :1] + 2 * x2[:, 0],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_functions(message):
    refused(message, lambda: FunctionKernel(BAD[message], "mine")(points()))


def test_rounding_is_not_asymmetry():
    slightly = torch.eye(5, dtype=F64)
    slightly[3, 1] = 1e-13
    gram = FunctionKernel(lambda x1, x2: slightly[: len(x1), : len(x2)], "mine")(points())
    assert torch.equal(gram, gram.T)
