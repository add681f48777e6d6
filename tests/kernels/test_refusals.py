"""What kernels and their solvers refuse: a sentence for each kind of error, with the names and numbers in it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.activations import activation
from beyondkernels.core import Sample, Stream
from beyondkernels.kernels import FunctionFeatures, KernelRidge, MeanOverDraws
from beyondkernels.kernels.classical.inverse_polynomial import Recursive
from beyondkernels.kernels.feature_machines.metric import gradient_outer_product, kernel_gradients
from beyondkernels.kernels.features import random_feature_operator
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent
from beyondkernels.kernels.solvers.hinge import solve_hinge
from beyondkernels.kernels.solvers.intercept import solve_gram
from beyondkernels.kernels.solvers.large import solve_large
from beyondkernels.kernels.solvers.linearised import Descent
from beyondkernels.kernels.tangent import tangent_feature_operator
from beyondkernels.networks import FromModule, FullyConnected, Parameterisation, ThreeLayerResNet, TwoLayer
from fitting import case_of, quiet
from refusals import refused

F64, STREAM, EYE, ONES = torch.float64, Stream(0), torch.eye(3), torch.ones(3)
NAN, STANDARD = torch.tensor([1.0, torch.nan]), Parameterisation("standard", weight_variance=1.7)
GAUSS = bk.kernels.Gaussian(1.0)
X, Y = STREAM.child("x").normal(10, 3, dtype=F64), STREAM.child("y").normal(10, dtype=F64)
HERE = case_of(bk.features.DictionaryParity(dim=8, patterns=6, relevant=3), 20, 5)
MACHINE, TANGENT, METRIC = bk.kernels.fit_feature_machine, bk.kernels.InfiniteTangent, bk.kernels.MetricKernel
RANDOM, RIDGE, LINEARISED = bk.kernels.RandomFeatureKernel, bk.kernels.ridge_path, bk.kernels.linearised_training
PATH, TRAINING, TWO = RIDGE(EYE, torch.ones(3, 2)), LINEARISED(2 * EYE, torch.ones(3, 2)), torch.ones(3, 2)
NARROW, DEEP, HINGE = ThreeLayerResNet(4, "bottleneck"), FullyConnected(4), bk.kernels.DenseFeatures(EYE[:2])


def on(function: Any) -> Any:
    """The function of a sum of a kernel with itself, at some points."""
    return lambda: Recursive(bk.kernels.PolynomialKernel(1, offset=0.0), function)(X[:3])


def random(function: Any, count: int = 3) -> Any:
    """Features of a user's function at two points, which has drawn so many directions."""

    def drawn(stream: Stream, count: int, dim: int) -> torch.Tensor:
        return stream.normal(count, dim, dtype=F64)

    return lambda: RANDOM(FunctionFeatures(count, drawn, function))(X[:2])


def learnt(x: torch.Tensor, y: torch.Tensor) -> Any:
    """A classifier on features that are the inputs, fitted to a sample of the user's."""
    learner = bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
    return lambda: learner.fit(replace(HERE, train=Sample(x, y)), quiet)


def machine(**arguments: Any) -> Any:
    return lambda: MACHINE(X, X[:, 0] * X[:, 1], **arguments)


def metric(*rows: list[float]) -> Any:
    return lambda: METRIC(GAUSS, torch.tensor(rows).squeeze(0))(torch.ones(1, 2))


CASES: list[tuple[Any, ...]] = [
    (r"what function returns must be finite, got 3", bk.kernels.Correlation(lambda rho: 1 / (1 - rho)), EYE),
    (r"of must be 'cosine' or 'angle', got 'angel'", bk.kernels.Correlation, torch.exp, "angel"),
    (r"float64 of the shape .3, 3. it was given, got float64 of shape .3,.", on(lambda t: t.sum(0))),
    (r"float64 of the shape .3, 3. it was given, got float32 of shape", on(lambda t: t.float())),
    (r"must return a tensor, got a int", on(torch.numel)),
    (r"what function returns must be finite, got 9 infinite", on(lambda t: t / 0)),
    (r"must not make the diagonal of a kernel negative, got -", on(torch.neg)),
    (r"degree=200.* is too large for float64", bk.kernels.PolynomialKernel(200), 1e3 * torch.ones(1, 1)),
    (r"unknown activation 'rellu', did you mean relu", bk.kernels.GaussianFeatures, 3, "rellu"),
    (r"needs a count of at least 2, got 1", RANDOM(bk.kernels.GaussianFeatures(1)).standard_error, X),
    (r"features must be float64 of shape \(2, 3\), got .* \(2, 2\)", random(lambda w, x: x @ w[1:].T)),
    (r"features must be finite, got 6 infinite or NaN", random(lambda w, x: x @ w.T / 0)),
    (r"bottleneck", bk.kernels.TangentKernelClassifier(NARROW, infinite_width=True).fit, X, Y > 0),
    (r"^rounds must be a whole number, got 2\.0$", machine(rounds=2.0)),
    (r"^validation must hold out a point and keep two, got 0\.01 of 10$", machine(validation=0.01)),
    (r"^x must hold at least 2 points to leave one of them out, got n_samples = 1$", MACHINE, X[:1], Y[:1]),
    (r"^y must vary to have a gradient, got one value at all 10 points$", MACHINE, X, torch.full((10, 2), 3.0)),
    (r"^y must have shape \(10,\) or \(10, k\), .*, got \(9,\)$", MACHINE, X, Y[:9]),
    (r"^bandwidth must be given where points do not differ, got None and 10 equal", MACHINE, torch.ones(10, 3), Y),
    (r"^the predictor of round 1 has no gradient.* above 1e-05", machine(kernel="gaussian", bandwidth=1e-5)),
    (
        r"^the predictor of round 1 .* points that differ",
        lambda: MACHINE(torch.ones(10, 3), Y, bandwidth=1.0, ridge=1.0),
    ),
    (r"^x1 must have points of dimension 3, got 4$", MACHINE(X, Y).predict, torch.ones(2, 4)),
    (
        r"^memory must be at least [\d,]+ bytes for blocks of one point, got 100$",
        lambda: gradient_outer_product(METRIC(GAUSS, ONES), X, Y[:, None], X, memory=100),
    ),
    (r"^x2 must have points of dimension 3, got 5$", METRIC(GAUSS, ONES), X, torch.ones(2, 5)),
    (r"^coefficients must have shape .*, got \(8,\)$", kernel_gradients, METRIC(GAUSS, ONES), X, Y[:8], X),
    (r"^metric must have shape \(d, d\) or \(d,\), got \(2, 3\)$", METRIC, GAUSS, torch.ones(2, 3)),
    (r"^kernel must be a Gaussian or a Laplace, got 'gaussian'$", METRIC, "gaussian", torch.ones(2)),
    (r"^metric must not have negative entries, got -1$", metric([1.0, -1.0])),
    (r"^metric must be positive semi-definite, got an eigenvalue of -1$", metric([1.0, 0.0], [0.0, -1.0])),
    (r"^metric must be symmetric, got entries that differ by 1$", metric([1.0, 1.0], [0.0, 1.0])),
    (r"group must be left at 'all'.*got 'last'", MeanOverDraws, DEEP, 2, "conjugate", "last"),
    (r"unknown parameter group 'lst'", lambda: MeanOverDraws(DEEP, 2, group="lst")(X)),
    (r"draws must be at least 2.*got 1", MeanOverDraws(DEEP, 1).standard_error, X),
    (r"network must be a Network, such as FullyConnected\(100\), or FromModule", MeanOverDraws, "relu", 1),
    (r"in_shape must have as many .*, 3, got \(2, 6\)", bk.kernels.FiniteTangent(DEEP, in_shape=(2, 6)), X),
    (r"values of the infinite-width .* overflow float64; smaller inputs", TANGENT(12, "quadratic").error, 30 * X),
    (r"grows with the width", lambda: TANGENT(2, parameterisation=STANDARD)),
    (r"group must be all, .* layer1, output, .* from 1 to 2, got 'first'", lambda: TANGENT(2, group="first")),
    (r"layer1, layer2, output, or .* got 'layer3'", bk.kernels.infinite_tangent, FullyConnected(8), "layer3"),
    (r"must be a Parameterisation, .*\(kind='ntk'\), got 'standard'", TANGENT, 2, "relu", "standard"),
    (r"no deterministic infinite-width limit.*Mean", bk.kernels.infinite_tangent, NARROW),
    (r"got TwoLayer, whose weights follow an Initialisation", bk.kernels.infinite_tangent, TwoLayer(8)),
    (r"a FullyConnected.*got FromModule", bk.kernels.infinite_conjugate, FromModule(torch.nn.Linear, "line")),
    (r"Tanh has no dual map in closed form", activation("tanh").dual, *[torch.ones(1, 1, dtype=F64)] * 3),
    (r"width must be given: .* grows with the", lambda: InfiniteResNetTangent(parameterisation=STANDARD)),
    (r"by name or by number from 1 to 3, got \('V',\)", lambda: InfiniteResNetTangent(group=("V",))),
    (r"has no bias", lambda: InfiniteResNetConjugate(parameterisation=Parameterisation(readout_bias_variance=1.0))),
    (r"labels must be −1 or \+1, got 0, 1", solve_hinge, HINGE, torch.tensor([0.0, 1.0]), 1.0),
    (r"labels must be of both classes, got only \+1", learnt(X, torch.ones(10))),
    (r"labels must have shape \(n,\) or \(n, 1\), got \(10, 2\)", learnt(X, torch.ones(10, 2))),
    (r"validation must leave points on both sides, got 0\.2 of 2", learnt(X[:2], torch.tensor([1.0, -1.0]))),
    (r"y must hold at least two points to leave one out, got 1", solve_gram, torch.ones(1, 1), torch.ones(1, 1)),
    (r"gram must have shape \(3, 3, 2, 2\) to fit y, got", LINEARISED, torch.ones(3, 3, 4, 4), TWO),
    (r"gram is indefinite", LINEARISED, -EYE, TWO),
    (r"start must have 2 outputs like y, got 1", LINEARISED, EYE, TWO, ONES),
    (r"block must have shape \(m, 3\) to fit the gram, got \(2, 4\)", TRAINING.predict, torch.ones(2, 4), 1.0),
    (r"times must not be negative, got -1", TRAINING.train, [1.0, -1.0]),
    (r"steps must be whole numbers, got others", lambda: TRAINING.train(Descent(0.1, [1.5]))),  # pyright: ignore
    (r"rate must lie in \(0, 1\.0\), got", TRAINING.train, Descent(1.0, [1])),
    (r"y must have shape \(3,\) or \(3, k\), .* got \(4,\)", RIDGE, EYE, torch.ones(4)),
    (r"ridges must hold at least one number, got none", RIDGE, EYE, ONES, []),
    (r"ridges must be finite and not negative, got -0.5", RIDGE, EYE, ONES, [1.0, -0.5]),
    (r"ridges must differ, got 1 twice", RIDGE, EYE, ONES, [1.0, 0.1, 1.0]),
    (r"gram is indefinite: its smallest eigenvalue is −2 ", RIDGE, EYE - 1, ONES),
    (r"block must have shape \(m, 3\), a column for each fitted point", PATH.predict, torch.ones(2, 4)),
    (r"y_val must have shape \(2,\) or \(2, k\)", PATH.validation_errors, torch.ones(2, 3), torch.ones(3, 2)),
    (r"y_val must have 2 outputs like y, got 1", PATH.validation_errors, torch.ones(2, 3), torch.ones(2)),
    (r"unknown criterion 'lo', did you mean loo", PATH.choose, "lo"),
    (r"gram must be square, of shape \(n, n\), got \(2, 3\)", bk.kernels.spectrum, EYE[:2]),
    (r"gram must hold at least one point, got none", bk.kernels.spectrum, torch.zeros(0, 0)),
    (r"gram must be finite, got 1 infinite or NaN entries", bk.kernels.spectrum, torch.diag(NAN)),
    (r"x1 and x2 must have points of one dimension, got 3 and 2", GAUSS, X, X[:, :2]),
    (r"x1 must be real, got complex64", GAUSS, torch.ones(2, 2, dtype=torch.complex64)),
    (r"features must be finite, got 1 infinite or NaN entries", bk.kernels.DenseFeatures, NAN[None]),
    (r"x must have shape \(n, 3\) to fit W", random_feature_operator, EYE, ONES, torch.relu, torch.ones(5, 4)),
    (r"a must have shape \(3,\)", tangent_feature_operator, EYE, ONES, torch.ones(1), torch.relu, torch.relu, EYE),
    (r"choose must be 'validation' with the iterative solver", lambda: KernelRidge(GAUSS, solver="iterative")),
    (r"ridges must be positive with", lambda: KernelRidge(GAUSS, (0.0,), "validation", solver="iterative")),
    (r"folds must be 0 or at least 2, got 1", lambda: bk.kernels.TwoStepRidge(GAUSS, GAUSS, folds=1)),
    (r"losses must hold 'squared'", lambda: bk.kernels.TunedKernel((GAUSS,), ("hinge",), solver="iterative")),
    (r"between 0 and the 3 points, got 5", lambda: solve_large(GAUSS, EYE, ONES, 1.0, stream=STREAM, centres=5)),
    (r"x must hold at least one point, got none", bk.kernels.check_kernel, GAUSS, torch.zeros(0, 3)),
    (r"bandwidth must be finite, got inf", bk.kernels.Gaussian, math.inf),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refusals(case):
    refused(*case)
