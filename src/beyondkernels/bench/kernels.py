"""``bk bench kernels``: kernels and their solvers against the usual recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV

from beyondkernels.bench.base import Row
from beyondkernels.bench.timing import alternating, megabytes, memory_ratio
from beyondkernels.core import Stream
from beyondkernels.core.threads import one_thread
from beyondkernels.kernels import (
    Gaussian,
    InfiniteTangent,
    RidgeSolution,
    ridge_path,
    solve_features,
    spectrum,
    tangent_gram,
)
from beyondkernels.networks import FullyConnected

_HERE = "beyondkernels.bench.kernels"
_STREAM = Stream(0).child("bench")
_RECIPE = "PyTorch's Jacobian contraction"
_SIZE = "width 512, 3 layers, 10 outputs, n=200, d=100"


def rows() -> Iterator[Row]:
    """Each row when it has been measured; a few minutes in all."""
    with one_thread():
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
    """This package's tangent kernel of a network, after one small call that pays for the set-up."""
    network, params, x = _network(width, n)
    tangent_gram(network, params, {}, x[:2])  # libraries set themselves up on first use
    return lambda: tangent_gram(network, params, {}, x, outputs=outputs, dtype=dtype)


def contraction(
    compute: Literal["full", "trace"] = "full", width: int = 512, n: int = 200
) -> Callable[[], torch.Tensor]:
    """PyTorch's recipe, ready to run: the Jacobian of every point by torch.func, contracted parameter by parameter.

    The recipe takes the Jacobian of both sides. One is enough for a square matrix, so it is taken once here.

    Arguments:
        compute: ``full`` for every pair of outputs, ``trace`` for their sum, as the recipe calls them.
        width: of the hidden layers.
        n: how many points.

    Reference: PyTorch tutorials, Neural tangent kernels, ``empirical_ntk_jacobian_contraction``.
    """
    network, params, x = _network(width, n)
    sums = {"full": "naf,mbf->nmab", "trace": "naf,maf->nm"}[compute]

    def one(params: dict[str, torch.Tensor], point: torch.Tensor) -> torch.Tensor:
        return network.apply(params, {}, point[None])[0][0]

    def run(x: torch.Tensor = x) -> torch.Tensor:
        jacobians = torch.func.vmap(torch.func.jacrev(one), (None, 0))(params, x)
        parts = [jacobian.flatten(2) for jacobian in jacobians.values()]
        return torch.stack([torch.einsum(sums, part, part) for part in parts]).sum(0)

    run(x[:2])
    return run


def traced_contraction() -> Callable[[], torch.Tensor]:
    """The recipe's sum over outputs."""
    return contraction("trace")


def traced() -> Callable[[], torch.Tensor]:
    """Our mean over outputs, in single precision."""
    return structured("traced")


def tangent_finite() -> Row:
    """The full output tensor, both in single precision, with peak memory."""
    ours, theirs = alternating(structured(), contraction(), repeats=3)
    memory = memory_ratio(f"{_HERE}:contraction", f"{_HERE}:structured")
    return Row.of("tangent-finite", f"{_RECIPE}, compute='full'", ours, theirs, f"{_SIZE}, both float32", memory)


def tangent_finite_double() -> Row:
    """Our route in double precision, the package's default, against the recipe in single precision."""
    ours, theirs = alternating(structured(dtype=torch.float64), contraction(), repeats=2)
    remark = f"{_SIZE}, ours float64, theirs float32"
    return Row.of("tangent-finite-float64", f"{_RECIPE}, compute='full'", ours, theirs, remark)


def tangent_finite_traced() -> Row:
    """The sum over outputs, for which the recipe has a shorter way too."""
    ours, theirs = alternating(traced(), traced_contraction(), repeats=3)
    memory = memory_ratio(f"{_HERE}:traced_contraction", f"{_HERE}:traced")
    return Row.of(
        "tangent-finite-traced", f"{_RECIPE}, compute='trace'", ours, theirs, f"{_SIZE}, both float32", memory
    )


def wide(memory: int = 2_000_000_000) -> Callable[[], torch.Tensor]:
    """Width 4096 and 1000 points, traced, in double precision within 2 GB, ready to run."""
    network, params, x = _network(4096, 1000)
    tangent_gram(network, params, {}, x[:1])
    return lambda: tangent_gram(network, params, {}, x, memory=memory)


def roomy() -> Callable[[], torch.Tensor]:
    """The same with memory to spare."""
    return wide(8_000_000_000)


def tangent_wide() -> Row:
    """What a budget costs, for a kernel whose Jacobian (1000 points, 10 outputs, 17 million weights) takes 690 GB."""
    ours, theirs = alternating(wide(), roomy(), repeats=1)
    memory = memory_ratio(f"{_HERE}:roomy", f"{_HERE}:wide")
    remark = f"width 4096, n=1000, d=100, traced, float64; peak {megabytes(f'{_HERE}:wide')} of 2000 MB"
    return Row.of("tangent-wide", "the same with a budget of 8 GB", ours, theirs, remark, memory)


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
    remark = f"depth 3, n={n}, d=100, float64; a ratio above 1 means faster than that floor"
    return Row.of("tangent-infinite", "matrix product and one arccos per entry and layer", ours, theirs, remark)


# The ridge path: 30 ridges, exact leave-one-out, 2000 points, 15 outputs.


def ridge(n: int = 2000, outputs: int = 15, count: int = 30) -> Iterator[Row]:
    """Against scikit-learn's grid search with five folds, and against its exact leave-one-out errors."""
    size = f"{count} ridges with exact leave-one-out errors, n={n}, {outputs} outputs"
    gram, y, ridges = _regression(n, outputs, count)
    search = GridSearchCV(KernelRidge(kernel="precomputed"), {"alpha": ridges}, cv=5, scoring="neg_mean_squared_error")
    ours, theirs = alternating(
        lambda: ridge_path(gram, y, ridges), lambda: search.fit(gram.numpy(), y.numpy()), repeats=2
    )
    yield Row.of("ridge-path", "scikit-learn's GridSearchCV over KernelRidge, 5 folds", ours, theirs, size)
    ours, theirs = alternating(features_ridge(n, outputs, count), ridge_cv(n, outputs, count), repeats=3)
    remark = f"{size}, {n} features, intercept; both begin with the features"
    yield Row.of("ridge-features", "scikit-learn's RidgeCV", ours, theirs, remark)


def features_ridge(n: int, outputs: int, count: int) -> Callable[[], RidgeSolution]:
    """Our ridge regression on as many features as points, with an intercept, ready to run."""
    gram, y, ridges = _regression(n, outputs, count)
    features = _root(gram)
    return lambda: solve_features(features, y, ridges)


def ridge_cv(n: int, outputs: int, count: int) -> Callable[[], RidgeCV]:
    """The same by scikit-learn, ready to run."""
    gram, y, ridges = _regression(n, outputs, count)
    features = _root(gram).numpy()
    return lambda: RidgeCV(ridges).fit(features, y.numpy())


def _regression(n: int, outputs: int, count: int) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
    """A Gram matrix, targets and ridges."""
    x = _STREAM.child("x").normal(n, 20, dtype=torch.float64)
    y = torch.sin(x[:, :outputs]) + 0.1 * _STREAM.child("noise").normal(n, outputs, dtype=torch.float64)
    return Gaussian(bandwidth=40.0)(x), y, np.logspace(-6, 2, count).tolist()


def _root(gram: torch.Tensor) -> torch.Tensor:
    """Features with that Gram matrix."""
    decomposed = spectrum(gram)
    return decomposed.vectors * decomposed.values.sqrt()
