"""What infinite-width kernels state of themselves holds: errors on and off the diagonal, and overflow said aloud."""

import math
from typing import Any

import pytest
import torch

from beyondkernels.activations import Activation, FromFunction
from beyondkernels.core import Stream
from beyondkernels.kernels.infinite.fully_connected import InfiniteConjugate, InfiniteTangent
from beyondkernels.kernels.infinite.pairs import Ball
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent
from beyondkernels.networks import Parameterisation
from refusals import refused

F64 = torch.float64
SCALES = Parameterisation(weight_variance=1.4, bias_variance=0.3)


def points(n=3, in_dim=3, seed=1):
    return Stream(seed).child("x").normal(n, in_dim, dtype=F64)


def ramp(z):
    return torch.relu(z - 0.3)


def step(z):
    return (z > 0.3).to(z.dtype)


def softplus(z):
    return torch.nn.functional.softplus(1000 * z, threshold=700) / 1000


def sigmoid(z):
    return torch.sigmoid(1000 * z)


TURNS = tuple(turn / 1000 for turn in (-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40))
HIDDEN = [
    (FromFunction(ramp, step, "ramp", (0.3,)), FromFunction(ramp, step, "a bend nobody told of")),
    (FromFunction(softplus, sigmoid, "softplus", TURNS), FromFunction(softplus, sigmoid, "a turn nobody told of")),
]
"""With all cuts and without."""


def kernels(sigma: Activation) -> list[Any]:
    return [
        InfiniteTangent(2, sigma, SCALES),
        InfiniteTangent(3, sigma, SCALES),
        InfiniteTangent(3, sigma, SCALES, "last"),
        InfiniteConjugate(4, sigma, SCALES),
        InfiniteResNetTangent(sigma, SCALES),
        InfiniteResNetConjugate(sigma, SCALES),
    ]


@pytest.mark.parametrize(("told", "hidden"), HIDDEN, ids=lambda sigma: sigma.name)
def test_the_error_on_the_diagonal_covers_what_hidden_bends_do(told, hidden):
    for exact, kernel in zip(kernels(told), kernels(hidden), strict=True):
        for one in points(1).split(1):
            error, rounding = kernel.error(one), exact.error(one)
            assert (kernel.diagonal(one) - exact.diagonal(one)).abs().item() <= error + rounding
            assert rounding < 2e-12
            assert error > 1e-6


def test_the_error_off_the_diagonal_covers_what_hidden_bends_do():
    x, (told, hidden) = points(2), HIDDEN[0]
    for exact, kernel in list(zip(kernels(told), kernels(hidden), strict=True))[1::3]:
        assert exact.error(x) < 1e-8
        assert (kernel(x) - exact(x)).abs().max() <= kernel.error(x) + exact.error(x)
        one, two = x.split(1)
        assert (kernel(one, two) - exact(one, two)).abs().max() <= kernel.error(one, two) + exact.error(one, two)


@pytest.mark.parametrize("sigma", ["relu", "erf", "gelu", "sine", "cosine", "quadratic", "tanh"])
@pytest.mark.parametrize("size", [1e-4, 1.0, 300.0])
def test_the_error_on_the_diagonal_is_rounding_where_that_is_all(sigma, size):
    x = size * points(1)
    for kernel in (InfiniteTangent(3, sigma), InfiniteConjugate(3, sigma), InfiniteResNetTangent(sigma)):
        assert 0 < kernel.error(x) <= 1e-11 * kernel(x).item()


def test_errors_of_variances_reach_later_layers():
    """An activation that lies about nothing but its error."""

    class Off(FromFunction):
        def moments_error(self, q):
            error = torch.full_like(q, 1e-5)
            return error, error, error

    x = points()
    for depth in (2, 3, 4):
        off, sound = (InfiniteConjugate(depth, kind(torch.tanh, slope, "tanh"), SCALES) for kind in (Off, FromFunction))
        assert off.error(x[:1]) >= 1e-5
        assert sound.error(x[:1]) < 1e-12
        if depth > 2:  # pairs of two points know of variances from the second layer on
            assert off.error(x[:1], x[1:]) > 1e-6
        assert sound.error(x[:1], x[1:]) < 1e-8


def slope(z):
    return 1 - torch.tanh(z) ** 2


def test_an_error_that_nobody_knows_is_infinite():
    """The variance of the first layer is so large that e^{2u} has its mass beyond all nodes."""
    kernel = InfiniteConjugate(2, FromFunction(torch.exp, torch.exp, "exponential"), Parameterisation(input_fan_in=1))
    x = torch.tensor([[7.5, 0.0], [0.1, 0.1]], dtype=F64)
    assert kernel.error(x[:1]) == math.inf
    assert kernel.error(x) == math.inf
    assert kernel.error(x[1:]) < 1e-12


def test_balls_multiply_and_add():
    one = Ball(torch.tensor([2.0, -1.0]), torch.tensor([0.1, 0.2]))
    two = Ball(torch.tensor([3.0]), torch.tensor([0.5]))
    product = one.outer(two)
    assert product.middle.tolist() == [[6.0], [-3.0]]
    assert product.radius.flatten().tolist() == pytest.approx([2.1 * 3.5 - 6, 1.2 * 3.5 - 3])
    assert one[1:].middle.tolist() == [-1.0]


# ------------------------------------------------------------------------------------------------ large and small


@pytest.mark.parametrize(
    "call",
    [
        lambda: InfiniteTangent(12, "quadratic")(10 * points()),
        lambda: InfiniteTangent(12, "quadratic").diagonal(10 * points()),
        lambda: InfiniteTangent(12, "quadratic").error(10 * points()),
        lambda: InfiniteConjugate(8, "quadratic")(torch.full((1, 1), 17.0, dtype=F64)),
        lambda: InfiniteTangent(3, "tanh")(1e200 * points()),
        lambda: InfiniteResNetTangent("quadratic")(1e50 * points()),
        lambda: InfiniteResNetConjugate("quadratic").error(1e50 * points()),
    ],
)
def test_overflow_gets_a_sentence(call):
    refused(r"^values of the infinite-width .* overflow float64; smaller inputs.* would do$", call)


def test_sums_that_overflow_are_no_overflow():
    x = torch.full((3, 1), 1e154, dtype=F64)
    kernel = InfiniteConjugate(1, parameterisation=Parameterisation(readout_variance=1.0))
    assert torch.equal(kernel(x), torch.full((3, 3), 1e154 * 1e154, dtype=F64))


@pytest.mark.parametrize("power", [-150, -82, -40, 40, 78, 150])
def test_relu_kernels_scale_with_their_inputs(power):
    """Without biases K(sx, sx′) = s² K(x, x′), as far as numbers reach."""
    x, s = points(4), 10.0**power
    for kernel in (InfiniteTangent(3), InfiniteConjugate(3), InfiniteResNetTangent()):
        torch.testing.assert_close(kernel(s * x), s * s * kernel(x), rtol=1e-10, atol=0)
        assert kernel.error(s * x) == pytest.approx(s * s * kernel.error(x), rel=0.01)
