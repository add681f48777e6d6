"""The dual maps of any activation by quadrature: every route, and an error that is honest."""

import math

import pytest
import torch

from beyondkernels.activations import (
    GELU,
    Activation,
    Cosine,
    Erf,
    FromFunction,
    ReLU,
    Sine,
    SmoothedReLU,
    Tanh,
    TruncatedReLU,
    quadratic,
    quadrature,
    quadrature_dual,
)
from beyondkernels.activations.plane import plane
from beyondkernels.activations.series import expand
from beyondkernels.core import Stream
from refusals import refused

CLOSED = [ReLU(), SmoothedReLU(0.2), Erf(), GELU(), Sine(), Cosine(), quadratic]


def shifted_relu(z: torch.Tensor) -> torch.Tensor:
    return torch.relu(z - 0.3)


def shifted_step(z: torch.Tensor) -> torch.Tensor:
    return (z > 0.3).to(z.dtype)


def gram(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    c = x @ x.T / x.shape[1]
    q = c.diagonal().clone()
    return q[:, None], q[None], c


def points(n: int, dim: int, shift: float = 0.0, name: str = "points") -> torch.Tensor:
    return Stream(41).child(name).normal(n, dim, dtype=torch.float64) + shift


def check(sigma: Activation, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, tolerance: float = 1e-10) -> float:
    """The actual error is below the stated one, which is below the tolerance."""
    value, slope, error = quadrature_dual(sigma, q1, q2, c, tolerance)
    exact, exact_slope = sigma.dual(q1, q2, c)
    assert slope is not None
    assert exact_slope is not None
    assert float((value - exact).abs().max()) <= error
    assert float((slope - exact_slope).abs().max()) <= error
    return error


@pytest.mark.parametrize("sigma", CLOSED, ids=str)
def test_general_points(sigma):
    x = points(25, 4)
    x[0], x[1], x[2], x[3] = 0, x[4], -2 * x[5], x[6] + 1e-4 * x[7]  # zero, equal, opposite and close points
    assert check(sigma, *gram(x)) <= 1.01e-10


@pytest.mark.parametrize("sigma", CLOSED, ids=str)
def test_points_on_a_sphere(sigma):
    """Enough of them for a table of the angle."""
    x = points(60, 3)
    x /= x.norm(dim=1, keepdim=True)
    x[1], x[2], x[3] = x[0], -x[0], (x[0] + 1e-3 * x[4]) / (x[0] + 1e-3 * x[4]).norm()
    q1, q2, c = gram(x * math.sqrt(3.0))
    assert c.numel() > quadrature._TABLE_PAIRS
    assert check(sigma, torch.ones_like(q1), torch.ones_like(q2), c) <= 1.01e-10


def test_table_and_single_pairs_agree():
    x = points(50, 5)
    x *= math.sqrt(5.0) / x.norm(dim=1, keepdim=True)
    q1, q2, c = gram(x)
    q1, q2 = torch.ones_like(q1), torch.ones_like(q2)
    value, slope, error = quadrature_dual(TruncatedReLU(), q1, q2, c)
    some, some_slope, some_error = quadrature_dual(TruncatedReLU(), q1[:7], q2, c[:7])
    assert slope is not None
    assert some_slope is not None
    assert max(error, some_error) <= 1.01e-10
    assert float((value[:7] - some).abs().max()) <= error + some_error
    assert float((slope[:7] - some_slope).abs().max()) <= error + some_error


@pytest.mark.parametrize("sigma", [ReLU(), Erf(), GELU()], ids=str)
@pytest.mark.parametrize("scale", [1e-6, 0.03, 30.0])
def test_scales(sigma, scale):
    q1, q2, c = gram(points(12, 3, 1.0))
    assert check(sigma, scale * q1, scale * q2, scale * c) <= 1.01e-10


def test_an_unreachable_tolerance_is_admitted():
    """1e-13 of the largest value is where rounding begins."""
    q1, q2, c = gram(1e4 * points(12, 3))
    error = check(ReLU(), q1, q2, c, 1e-12)
    assert 1e-12 < error < 1e-4


@pytest.mark.parametrize("on_sphere", [False, True])
def test_a_bend_that_was_not_told_shows_in_the_error(on_sphere):
    x = points(46, 3)
    if on_sphere:
        x *= math.sqrt(3.0) / x.norm(dim=1, keepdim=True)
    q1, q2, c = gram(x)
    if on_sphere:
        q1, q2 = torch.ones_like(q1), torch.ones_like(q2)
    told = quadrature_dual(FromFunction(shifted_relu, shifted_step, "told", (0.3,)), q1, q2, c)
    hidden = quadrature_dual(FromFunction(shifted_relu, shifted_step, "hidden"), q1, q2, c)
    assert told[2] <= 1.01e-10
    assert told[1] is not None
    assert hidden[1] is not None
    actual = max(float((told[0] - hidden[0]).abs().max()), float((told[1] - hidden[1]).abs().max()))
    assert 1e-6 < actual <= hidden[2]


def test_truncated_relu_is_a_difference_of_two_ramps():
    """E σσ for σ = r(z) − r(z − 1), with r a ReLU, as a linear combination in which r(z) r(z − 1) is read off twice."""
    q1, q2, c = gram(points(6, 3))
    ramps = [FromFunction(torch.relu, step, "ramp", (0.0,)), FromFunction(late_relu, late_step, "late", (1.0,))]
    both = FromFunction(both_ramps, both_steps, "both", (0.0, 1.0))
    first, second, total = (quadrature_dual(sigma, q1, q2, c)[0] for sigma in (*ramps, both))
    truncated = quadrature_dual(TruncatedReLU(), q1, q2, c)[0]
    assert torch.allclose(truncated + total, 2 * (first + second), rtol=0, atol=1e-9)


def step(z: torch.Tensor) -> torch.Tensor:
    return (z > 0).to(z.dtype)


def late_relu(z: torch.Tensor) -> torch.Tensor:
    return torch.relu(z - 1)


def late_step(z: torch.Tensor) -> torch.Tensor:
    return (z > 1).to(z.dtype)


def both_ramps(z: torch.Tensor) -> torch.Tensor:
    return torch.relu(z) + torch.relu(z - 1)


def both_steps(z: torch.Tensor) -> torch.Tensor:
    return step(z) + late_step(z)


@pytest.mark.parametrize("sigma", [ReLU(), GELU()], ids=str)
def test_the_plane_alone(sigma):
    rho = torch.tensor([-1.0, -0.99999, -0.7, 0.0, 0.5, 0.9, 0.9999999, 1.0], dtype=torch.float64)
    q1 = torch.linspace(0.2, 3, 8, dtype=torch.float64)
    q2 = q1.flip(0)
    found, errors = plane(sigma, q1, q2, rho, 1e-11, True)
    exact = torch.stack(list(sigma.dual(q1, q2, rho * (q1 * q2).sqrt())))  # pyright: ignore[reportArgumentType]
    # the closed form makes pairs more parallel by 1e-14, which counts as much more in small angles
    nudge = 2e-14 / (1 - rho**2).sqrt().clamp(min=1e-4)
    assert ((found - exact).abs().amax(0) <= errors + nudge).all()
    assert float(errors.max()) <= 1e-11
    assert plane(sigma, q1, q2, rho, 1e-11, False)[0].shape == (1, 8)


@pytest.mark.parametrize("sigma", [ReLU(), Erf()], ids=str)
def test_series_alone_keep_parsevals_bound(sigma):
    q = torch.tensor([0.1, 1.0, 4.0], dtype=torch.float64)
    i, j = torch.tensor([0, 1, 2, 0, 1]), torch.tensor([0, 1, 2, 2, 0])
    rho = torch.tensor([0.9, -0.95, 0.99, 0.7, 0.999], dtype=torch.float64)
    exact = sigma.dual(q[i], q[j], rho * (q[i] * q[j]).sqrt())
    for degree in (4, 20, 60):
        for expansion, truth in zip(expand(sigma, q, degree, True), exact, strict=True):
            missed = (expansion.sum(i, j, rho) - truth).abs()
            assert (missed <= expansion.bound(i, j, rho) + expansion.rounding).all()
            assert expansion.rounding < 1e-12
            if degree == 4:
                assert float(missed.max()) > 1e-6


def test_symmetric_and_without_slope():
    q1, q2, c = gram(points(15, 3))
    value, slope, _ = quadrature_dual(Tanh(), q1, q2, c)
    assert slope is not None
    assert torch.allclose(value, value.T, rtol=0, atol=1e-14)
    assert torch.allclose(slope, slope.T, rtol=0, atol=1e-14)
    alone, nothing, error = quadrature_dual(Tanh(), q1, q2, c, slope=False)
    assert nothing is None
    assert float((alone - value).abs().max()) <= error + 1e-10
    flat = quadrature_dual(Tanh(), q1[:, 0], q2[0], c.diagonal())[0]
    assert torch.allclose(flat, value.diagonal(), rtol=0, atol=1e-12)
    assert quadrature_dual(Tanh(), q1[:0], q2, c[:0])[0].shape == (0, 15)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"q1": -1.0}, "^q1 must hold finite variances that are not negative, got -1.0$"),
        ({"q2": math.nan}, "^q2 must hold finite variances that are not negative, got nan$"),
        ({"c": math.inf}, "^c must hold finite covariances, got NaN or infinity$"),
    ],
)
def test_bad_input(change, sentence):
    given = {"q1": 1.0, "q2": 1.0, "c": 0.5} | change
    q1, q2, c = (torch.tensor([[given[name]]], dtype=torch.float64) for name in ("q1", "q2", "c"))
    refused(sentence, quadrature_dual, Tanh(), q1, q2, c)
