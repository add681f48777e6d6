"""Every kernel through one suite, and kernels broken on purpose that the suite must catch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels import Arcsin, Correlation, FunctionKernel, Gaussian, Kernel, Laplace, PolynomialKernel
from beyondkernels.kernels.classical.inverse_polynomial import InversePolynomial, Recursive
from beyondkernels.kernels.classical.random_features import FourierFeatures, GaussianFeatures, RandomFeatureKernel
from beyondkernels.kernels.conformance import check_kernel
from beyondkernels.kernels.finite.draws import MeanOverDraws
from beyondkernels.kernels.finite.functional import (
    conjugate_features,
    conjugate_gram,
    module_tangent_gram,
    tangent_gram,
)
from beyondkernels.kernels.finite.gram import FiniteConjugate, FiniteTangent
from beyondkernels.kernels.infinite.fully_connected import InfiniteConjugate, InfiniteTangent
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent
from beyondkernels.kernels.solvers.spectrum import spectrum
from beyondkernels.networks import FullyConnected, Parameterisation, ThreeLayerResNet
from beyondkernels.papers.overparam.networks.infinite_width import InfiniteLearnerTangent
from refusals import refused

F64 = torch.float64
ALWAYS = ("output", "fresh", "symmetric", "diagonal", "batches", "Cauchy-Schwarz", "positive semi-definite")


def half_sine(theta: torch.Tensor) -> torch.Tensor:
    """The degree-1 arc-cosine kernel of unit vectors, a function of the angle."""
    return (torch.sin(theta) + (math.pi - theta) * torch.cos(theta)) / math.pi


def tanimoto(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    inner, q1, q2 = x1 @ x2.T, x1.square().sum(1)[:, None], x2.square().sum(1)
    return (1 + inner) / (1 + q1 + q2 - inner)


BIASED = Parameterisation(bias_variance=0.3, readout_bias_variance=0.2)
STANDARD = Parameterisation(kind="standard", bias_variance=0.1)
DEEP, BOTTLENECK = FullyConnected(width=16, depth=3), ThreeLayerResNet(width=8, form="bottleneck")
KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": lambda: Gaussian(3.0),
    "gaussian, narrow": lambda: Gaussian(0.05),
    "laplace": lambda: Laplace(2.0),
    "laplace, narrow": lambda: Laplace(0.05),
    "arcsin": Arcsin,
    "linear": lambda: PolynomialKernel(1, offset=0.0),
    "polynomial": lambda: PolynomialKernel(3),
    "polynomial, high": lambda: PolynomialKernel(8, 0.5, 0.2),
    "inverse polynomial": lambda: InversePolynomial(),
    "inverse polynomial, deep": lambda: InversePolynomial(5),
    "recursive": lambda: Recursive(Gaussian(2.0), torch.sinh, 2),
    "correlation": lambda: Correlation(torch.exp),
    "correlation, of the angle": lambda: Correlation(half_sine, of="angle"),
    "random neurons": lambda: RandomFeatureKernel(GaussianFeatures(50, "relu", bias_std=0.5)),
    "random waves": lambda: RandomFeatureKernel(FourierFeatures(50, 2.0)),
    "function": lambda: FunctionKernel(tanimoto, "tanimoto"),
    "sum": lambda: Gaussian(2.0) + PolynomialKernel(2) + Arcsin(),
    "product": lambda: Gaussian(2.0) * PolynomialKernel(2),
    "scaled": lambda: 1e-8 * Laplace(1.0),
    "scaled by zero": lambda: 0.0 * Laplace(1.0),
    "combination": lambda: 2 * Laplace(1.0) * Arcsin() + 0.1 * PolynomialKernel(2),
    "infinite conjugate, relu": lambda: InfiniteConjugate(2, "relu", Parameterisation()),
    "infinite conjugate, relu, biases": lambda: InfiniteConjugate(4, "relu", BIASED),
    "infinite conjugate, erf": lambda: InfiniteConjugate(3, "erf", BIASED),
    "infinite conjugate, quadratic": lambda: InfiniteConjugate(3, "quadratic", Parameterisation()),
    "infinite conjugate, tanh": lambda: InfiniteConjugate(2, "tanh", BIASED),
    "infinite conjugate, truncated relu": lambda: InfiniteConjugate(2, "truncated_relu", BIASED),
    "infinite tangent, relu": lambda: InfiniteTangent(2, "relu", Parameterisation()),
    "infinite tangent, relu, deep": lambda: InfiniteTangent(5, "relu", BIASED),
    "infinite tangent, relu, hidden": lambda: InfiniteTangent(3, "relu", BIASED, group="hidden"),
    "infinite tangent, relu, last": lambda: InfiniteTangent(3, "relu", BIASED, group="last"),
    "infinite tangent, relu, standard": lambda: InfiniteTangent(3, "relu", STANDARD, width=100),
    "infinite tangent, erf": lambda: InfiniteTangent(3, "erf", Parameterisation()),
    "infinite tangent, identity": lambda: InfiniteTangent(3, "identity", BIASED),
    "infinite tangent, sine": lambda: InfiniteTangent(2, "sine", BIASED),
    "infinite tangent, gelu": lambda: InfiniteTangent(2, "gelu", BIASED),
    "infinite tangent, truncated relu": lambda: InfiniteTangent(2, "truncated_relu", BIASED),
    "infinite learner, two layers": lambda: InfiniteLearnerTangent(20, 0.5),
    "infinite learner, three layers": lambda: InfiniteLearnerTangent(20, 0.5, 30),
    "infinite resnet conjugate": lambda: InfiniteResNetConjugate("relu", Parameterisation()),
    "infinite resnet tangent": lambda: InfiniteResNetTangent("relu", Parameterisation()),
    "finite tangent": lambda: FiniteTangent(DEEP, out_dim=3),
    "finite tangent, hidden": lambda: FiniteTangent(DEEP, seed=1, group="hidden"),
    "finite tangent, resnet": lambda: FiniteTangent(ThreeLayerResNet(width=16)),
    "finite conjugate": lambda: FiniteConjugate(DEEP),
    "mean over draws, tangent": lambda: MeanOverDraws(BOTTLENECK, draws=2, out_dim=2),
    "mean over draws, conjugate": lambda: MeanOverDraws(BOTTLENECK, draws=2, kind="conjugate"),
}


def normal(n: int, dim: int, name: str) -> torch.Tensor:
    return Stream(0).child("conformance", name).normal(n, dim, dtype=F64)


def points() -> dict[str, torch.Tensor]:
    """Samples that are hard in different ways, none of norm above 1: the unit ball is every kernel's domain."""
    ball = normal(24, 5, "ball")
    ball /= 1.01 * torch.linalg.vector_norm(ball, dim=1).max()
    sphere = normal(20, 4, "sphere")
    sphere /= torch.linalg.vector_norm(sphere, dim=1, keepdim=True)
    cube = (2.0 * Stream(0).child("conformance", "cube").bernoulli(0.5, 20, 6).to(F64) - 1) / math.sqrt(6)
    nearly = 0.9 * sphere[:1] * torch.linspace(0.2, 1.0, 12, dtype=F64)[:, None]
    nearly = nearly + 10.0 ** -torch.arange(1, 13, dtype=F64)[:, None] * 0.1 * normal(12, 4, "nearly")
    return {
        "ball": ball,
        "sphere": sphere,
        "cube": cube,
        "duplicates": torch.cat([ball[:8], ball[:8].flip(0), ball[2:5]]),
        "with the origin": torch.cat([ball[:9], torch.zeros(2, 5, dtype=F64), ball[9:12]]),
        "opposite": torch.cat([sphere[:6], -sphere[:6], 0.5 * sphere[:6]]),
        "nearly parallel": nearly,
        "one point": ball[:1],
        "a line": ball[:15, :1],
    }


POINTS = points()
FEW = {"duplicates": slice(5, 11), "with the origin": slice(5, 12), "opposite": slice(0, None, 3)}
"""Some of the points, those that make the place hard among them, for kernels that are slow; elsewhere the first six."""

QUADRATURE, DRAWN = ("tanh", "truncated relu", "gelu"), ("finite", "mean over draws")
CASES = [
    (name, where)
    for name in KERNELS
    for where in POINTS
    # kernels that take tens of milliseconds a block meet what concerns them most
    if not (name.endswith(QUADRATURE) or name.startswith(DRAWN))
    or where in ("duplicates", "with the origin", "nearly parallel", "one point")  # those of the ball among them
]


@pytest.mark.parametrize(("name", "where"), CASES)
def test_every_kernel_keeps_every_property(name: str, where: str):
    kernel, x = KERNELS[name](), POINTS[where]
    if name.endswith(QUADRATURE) or name.startswith(DRAWN):
        x = x[FEW.get(where, slice(0, 6))]
    # rounding alone has to do, except by quadrature, and where points almost coincide and rounding grows to 1e-11
    error = None if name.endswith(QUADRATURE) or where == "nearly parallel" else 0.0
    findings = check_kernel(kernel, x, error=error)
    expected = (*ALWAYS, "rotation-invariant") if kernel.rotation_invariant else ALWAYS
    assert tuple(finding.property for finding in findings) == expected
    assert [str(finding) for finding in findings if not finding.holds] == []


SIZES = [1e160, 1e-160, 1e300, 1e-300]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_points_of_any_size_give_finite_values_or_a_sentence(name: str, size: float):
    """And the values do not depend on the route: rounding must not decide."""
    kernel, x = KERNELS[name](), size * POINTS["ball"][:6]
    try:
        gram, block, diagonal = kernel(x), kernel(x, x[:4]), kernel.diagonal(x)
    except InputError as refused:
        assert size > 1
        assert re.search("overflow float64|must be finite|float64 holds|at most 1|too large|phases below", str(refused))
        return
    for values in (gram, block, diagonal):
        assert values.isfinite().all()
    torch.testing.assert_close(gram.diagonal(), diagonal, rtol=1e-9, atol=1e-310)
    torch.testing.assert_close(block, gram[:, :4], rtol=1e-9, atol=1e-310)


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
@pytest.mark.parametrize("name", KERNELS)
def test_points_that_are_no_numbers_are_refused(name: str, bad: float):
    kernel, x = KERNELS[name](), POINTS["ball"][:4].clone()
    x[2, 1] = bad
    good = POINTS["ball"][:4]
    for call in (lambda: kernel(x), lambda: kernel(x, good), lambda: kernel(good, x), lambda: kernel.diagonal(x)):
        refused(r"^x[12]? must be finite, got 1 infinite or NaN entries$", call)


@pytest.mark.parametrize("name", KERNELS)
def test_lists_of_numbers_are_not_rounded(name: str):
    """0.1 is another number in float32."""
    kernel, x = KERNELS[name](), 0.1 * torch.arange(1, 7, dtype=F64).reshape(3, 2) / 2
    assert torch.equal(kernel(x.tolist()), kernel(x))
    assert torch.equal(kernel(x.tolist(), x.numpy()), kernel(x, x))
    assert torch.equal(kernel.diagonal(tuple(map(tuple, x.tolist()))), kernel.diagonal(x))


def test_what_overflows_in_single_precision_is_told():
    network, x = FullyConnected(width=4), torch.full((2, 3), 1e30)
    params, buffers = network.init(3, 1, Stream(0))
    for gram in (tangent_gram, conjugate_gram):
        with pytest.raises(InputError, match=r"kernel overflow float32 at these points, whose entries reach 1e\+30"):
            gram(network, params, buffers, x, dtype=torch.float32)
    refused("the tangent kernel overflow float32", module_tangent_gram, torch.nn.Linear(3, 1), x, dtype=torch.float32)
    with pytest.raises(InputError, match="the conjugate features overflow float64"):
        conjugate_features(network, params, buffers, torch.full((2, 3), 1e308, dtype=F64))


@dataclass(frozen=True)
class Broken(Kernel):
    """The linear kernel plus one, as it should be; subclasses break one thing."""

    rotation_invariant = True

    def block(self, x1, x2):
        return x1 @ x2.T + 1

    def _diagonal(self, x):
        return x.square().sum(1) + 1


class Sound(Broken):
    """Nothing is broken."""


class Asymmetric(Broken):
    def block(self, x1, x2):
        return x1 @ x2.T + 1 + 1e-9 * (x1.square().sum(1)[:, None] - x2.square().sum(1))


class AsymmetricSquare(Broken):
    def square(self, x):
        gram = super().square(x)
        gram[0, -1] += 1e-14
        return gram


class SlightlyIndefinite(Broken):
    """An eigenvalue of −1e-8 times the largest."""

    def block(self, x1, x2):
        return super().block(x1, x2) - 1e-8 * 25 * (x1 == x2[:, None]).all(2).T.to(F64)

    def _diagonal(self, x):
        return super()._diagonal(x) - 1e-8 * 25


class Sigmoid(Broken):
    """The "sigmoid kernel" of many libraries, which is none."""

    def block(self, x1, x2):
        return torch.tanh(2 * x1 @ x2.T - 1)

    def _diagonal(self, x):
        return torch.tanh(2 * x.square().sum(1) - 1)


class WrongDiagonal(Broken):
    def _diagonal(self, x):
        return super()._diagonal(x) * (1 + 1e-9)


class ForgetfulSquare(Broken):
    """``kernel(x)`` without the constant."""

    def square(self, x):
        gram = (x @ x.T + 1) * (1 + 1e-9)
        gram = (gram + gram.T) / 2
        gram.diagonal().copy_(self.diagonal(x))
        return gram


class BatchDependent(Broken):
    def block(self, x1, x2):
        return super().block(x1, x2) * (1 + 1e-11 * abs(len(x1) - len(x2)))


class NotInvariant(Broken):
    def block(self, x1, x2):
        return super().block(x1, x2) + 1e-9 * x1[:, :1] * x2[:, 0]

    def _diagonal(self, x):
        return super()._diagonal(x) + 1e-9 * x[:, 0] ** 2


class NotReflected(Broken):
    """On a line: every rotation is none, and only the reflection tells."""

    def block(self, x1, x2):
        return (x1[:, :1] + 1) * (x2[:, 0] + 1)

    def _diagonal(self, x):
        return (x[:, 0] + 1) ** 2


class SinglePrecision(Broken):
    def block(self, x1, x2):
        return super().block(x1, x2).float()


class WrongShape(Broken):
    def _diagonal(self, x):
        return super()._diagonal(x)[:, None]

    def square(self, x):
        return self.block(x, x)


class NotFinite(Broken):
    def block(self, x1, x2):
        return super().block(x1, x2) / 0


class Remembering(Broken):
    """Keeps what it returned and returns it again."""

    kept: ClassVar[dict[str, torch.Tensor]] = {}

    def _diagonal(self, x):
        return self.kept.setdefault(str(x.tolist()), super()._diagonal(x))


class Meddling(Broken):
    """Writes to the points it was given."""

    def _diagonal(self, x):
        out = super()._diagonal(x)
        x[0, 0] = 0.5
        return out


BROKEN = {
    Sound: set(),
    Asymmetric: {"symmetric"},
    AsymmetricSquare: {"symmetric"},
    SlightlyIndefinite: {"positive semi-definite"},
    Sigmoid: {"positive semi-definite", "Cauchy-Schwarz"},
    WrongDiagonal: {"diagonal"},
    ForgetfulSquare: {"batches"},
    BatchDependent: {"batches"},
    NotInvariant: {"rotation-invariant"},
    NotReflected: {"rotation-invariant"},
    SinglePrecision: {"output"},
    WrongShape: {"output"},
    NotFinite: {"output"},
    Remembering: {"fresh"},
    Meddling: {"fresh"},
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_kernels_are_caught_by_the_right_finding(kind):
    findings = check_kernel(kind(), POINTS["a line" if kind is NotReflected else "ball"])
    failed = {finding.property for finding in findings if not finding.holds}
    assert failed == BROKEN[kind], "\n".join(map(str, findings))


def test_tolerances_are_the_callers_or_the_kernels():
    x = POINTS["ball"]
    assert not check_kernel(WrongDiagonal(), x)[3].holds
    assert check_kernel(WrongDiagonal(), x, tolerance=2e-9)[3].holds
    assert not check_kernel(SlightlyIndefinite(), x)[6].holds
    assert check_kernel(SlightlyIndefinite(), x, psd_tolerance=1e-7)[6].holds

    class Rough(WrongDiagonal):
        accuracy = 2e-9

    class Estimated(WrongDiagonal):
        def error(self, x1, x2=None):
            return 1e-9

    class TooSure(WrongDiagonal):
        def error(self, x1, x2=None):
            return 3e-10

    assert check_kernel(Rough(), x)[3].holds
    assert check_kernel(Estimated(), x)[3].holds
    assert not check_kernel(Estimated(), x, error=0.0)[3].holds
    assert not check_kernel(TooSure(), x)[3].holds
    assert "beyond the stated error (3e-10)" in check_kernel(TooSure(), x)[3].sentence


INDEFINITE = {
    (
        4.0,
        -1.0,
        2.0,
    ): r"−1 \(index 0, 1 of 3 below zero\), 0\.25 of the largest 4 in size; a kernel's must not lie below",
    (-4.0, -1.0): r"−4 \(index 0, 2 of 2 below zero\), 1 of the largest 4 in size",
    (1.0, -1.1e-10): r"−1\.1e-10 \(index 0, 1 of 2 below zero\), 1\.1e-10 of the largest 1 in size",
}


@pytest.mark.parametrize("diagonal", INDEFINITE)
def test_an_indefinite_matrix_is_refused_with_its_least_eigenvalue(diagonal):
    gram = torch.diag(torch.tensor(diagonal, dtype=F64))
    with pytest.raises(InputError, match="gram is indefinite: its smallest eigenvalue is " + INDEFINITE[diagonal]):
        spectrum(gram)
