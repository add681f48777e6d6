"""``bk bench kernels``: kernels and their solvers against the usual recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from beyondkernels.bench.base import Row
from beyondkernels.bench.timing import alternating, megabytes, memory_ratio, one_core
from beyondkernels.core import Stream
from beyondkernels.kernels import Gaussian, InfiniteTangent, ridge_path, tangent_gram
from beyondkernels.networks import FullyConnected

_HERE = "beyondkernels.bench.kernels"
_STREAM = Stream(0).child("bench")
_RECIPE = "torch.func Jacobian contraction"


def rows() -> Iterator[Row]:
    """The rows one after the other; a few minutes in all."""
    with one_core():
        yield tangent_finite()
        yield tangent_finite_double()
        yield tangent_finite_traced()
        yield tangent_wide()
        yield tangent_infinite()
        yield from ridge()


# The finite-width tangent kernel: three layers of width 512, 10 outputs, 200 points in 100 dimensions.


def _network(width: int, n: int) -> tuple[FullyConnected, dict[str, torch.Tensor], torch.Tensor]:
    network = FullyConnected(width=width, depth=3)
    return network, network.init(100, 10, _STREAM)[0], _STREAM.child("x").normal(n, 100)


def structured(
    outputs: Literal["full", "traced"] = "full", dtype: torch.dtype = torch.float32, width: int = 512, n: int = 200
) -> Callable[[], torch.Tensor]:
    """Our route, ready to run."""
    network, params, x = _network(width, n)
    tangent_gram(network, params, {}, x[:2])  # libraries set themselves up on first use
    return lambda: tangent_gram(network, params, {}, x, outputs=outputs, dtype=dtype)


def contraction(width: int = 512, n: int = 200) -> Callable[[], torch.Tensor]:
    """The Jacobian of every point by torch.func, contracted parameter by parameter, ready to run.

    The recipe takes the Jacobian of both sides; one is enough for a square matrix, so it is taken once here.
    """
    network, params, x = _network(width, n)

    def one(params: dict[str, torch.Tensor], point: torch.Tensor) -> torch.Tensor:
        return network.apply(params, {}, point[None])[0][0]

    def run(x: torch.Tensor = x) -> torch.Tensor:
        jacobians = torch.func.vmap(torch.func.jacrev(one), (None, 0))(params, x)
        parts = [jacobian.flatten(2) for jacobian in jacobians.values()]
        return torch.stack([torch.einsum("ncp,mdp->nmcd", part, part) for part in parts]).sum(0)

    run(x[:2])
    return run


def tangent_finite() -> Row:
    """The full output tensor, both in single precision, with peak memory."""
    ours, theirs = alternating(structured(), contraction(), repeats=3)
    memory = memory_ratio(f"{_HERE}:contraction", f"{_HERE}:structured")
    size = "width 512, 3 layers, 10 outputs, n=200, d=100, all outputs"
    return Row("tangent-finite", _RECIPE, theirs / ours, ours, memory, f"{size}, both float32")


def tangent_finite_double() -> Row:
    """Our route in double precision, the package's default, against the recipe in single precision."""
    ours, theirs = alternating(structured(dtype=torch.float64), contraction(), repeats=2)
    return Row("tangent-finite-float64", _RECIPE, theirs / ours, ours, None, "ours float64, theirs float32")


def tangent_finite_traced() -> Row:
    """The mean over outputs; the recipe has no shorter way to it."""
    ours, theirs = alternating(structured("traced"), contraction(), repeats=2)
    return Row("tangent-finite-traced", _RECIPE, theirs / ours, ours, None, "both float32")


def wide(memory: int = 2_000_000_000) -> Callable[[], torch.Tensor]:
    """Width 4096 and 1000 points, traced, in double precision within 2 GB, ready to run."""
    network, params, x = _network(4096, 1000)
    tangent_gram(network, params, {}, x[:1])
    return lambda: tangent_gram(network, params, {}, x, memory=memory)


def roomy() -> Callable[[], torch.Tensor]:
    """The same with memory to spare."""
    return wide(8_000_000_000)


def tangent_wide() -> Row:
    """What no Jacobian could hold (1000 points, 10 outputs, 17 million parameters), and what a budget costs."""
    ours, theirs = alternating(wide(), roomy(), repeats=1)
    memory = memory_ratio(f"{_HERE}:roomy", f"{_HERE}:wide")
    remark = f"width 4096, n=1000, d=100, traced, float64; peak {megabytes(f'{_HERE}:wide')} of 2000 MB"
    return Row("tangent-wide", "the same with a budget of 8 GB", theirs / ours, ours, memory, remark)


# The infinite-width tangent kernel: depth 3, 4000 points in 100 dimensions.


def tangent_infinite(n: int = 4000) -> Row:
    """Against the matrix product of that shape plus one arccos per entry and layer."""
    x = _STREAM.child("x").normal(n, 100, dtype=torch.float64)
    kernel = InfiniteTangent(depth=3, activation="relu")
    gram = torch.empty(n, n, dtype=torch.float64)
    cosines = _STREAM.child("cosines").uniform(n, n, dtype=torch.float64)

    def floor() -> None:
        torch.mm(x, x.T, out=gram)
        for _ in range(kernel.depth - 1):
            torch.acos(cosines, out=gram)

    ours, theirs = alternating(lambda: kernel(x), floor, repeats=5)
    return Row(
        "tangent-infinite", "matrix product and one arccos per entry and layer", theirs / ours, ours, None,
        f"depth 3, n={n}, d=100, float64; above 1 means faster than that floor",
    )  # fmt: skip


# The ridge path: 30 ridges, exact leave-one-out, 2000 points, 15 outputs.


def ridge(n: int = 2000, outputs: int = 15, count: int = 30) -> Iterator[Row]:
    """Against scikit-learn's grid search over KernelRidge with five folds on the same matrix."""
    x = _STREAM.child("x").normal(n, 20, dtype=torch.float64)
    y = torch.sin(x[:, :outputs]) + 0.1 * _STREAM.child("noise").normal(n, outputs, dtype=torch.float64)
    gram = Gaussian(bandwidth=40.0)(x)
    ridges = np.logspace(-6, 2, count).tolist()
    search = GridSearchCV(KernelRidge(kernel="precomputed"), {"alpha": ridges}, cv=5, scoring="neg_mean_squared_error")
    ours, theirs = alternating(
        lambda: ridge_path(gram, y, ridges), lambda: search.fit(gram.numpy(), y.numpy()), repeats=2
    )
    yield Row(
        "ridge-path", "scikit-learn GridSearchCV over KernelRidge, 5 folds", theirs / ours, ours, None,
        f"{count} ridges with exact leave-one-out errors, n={n}, {outputs} outputs",
    )  # fmt: skip
