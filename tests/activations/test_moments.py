"""Moments state errors that hold: hidden bends, sharp turns, heavy tails; closed forms keep their digits everywhere."""

import math

import pytest
import torch

from beyondkernels.activations import (
    GELU,
    NAMED,
    Activation,
    Cosine,
    Erf,
    FromFunction,
    Polynomial,
    ReLU,
    Sine,
    quadrature_dual,
)
from beyondkernels.activations.moments import line_moments

F64 = torch.float64


def ramp(bend: float, told: bool = False) -> FromFunction:
    """max(z − bend, 0)."""
    return FromFunction(
        lambda z: torch.relu(z - bend), lambda z: (z > bend).to(z.dtype), "ramp", (bend,) if told else ()
    )


def of_ramp(bend: float, q: float) -> tuple[float, float, float]:
    """Its moments by the normal distribution function and density."""
    s = math.sqrt(q)
    k = bend / s
    above, density = math.erfc(k / math.sqrt(2)) / 2, math.exp(-k * k / 2) / math.sqrt(2 * math.pi)
    return s * (density - k * above), q * ((1 + k * k) * above - k * density), above


def softplus(beta: float, told: bool) -> FromFunction:
    """log(1 + e^{βz}) / β."""
    return FromFunction(
        lambda z: torch.nn.functional.softplus(beta * z, threshold=700) / beta,
        lambda z: torch.sigmoid(beta * z),
        "softplus",
        tuple(turn / beta for turn in (-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40)) if told else (),
    )


def stacked(moments: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.stack(tuple(moments))


@pytest.mark.parametrize("told", [False, True])
def test_the_error_covers_a_bend(told):
    """Also a bend just inside the end of a piece, where nodes of every order of one rule miss it."""
    q = torch.tensor([0.05, 0.7, 1.0, 3.0, 20.0], dtype=F64)
    for bend in (0.0, 0.3, -0.8, 0.9999, -1.0002, 1.9998, 2.5, 4.0003, 6.0):
        sigma = ramp(bend, told)
        found, error = stacked(sigma.moments(q)), stacked(sigma.moments_error(q))
        truth = torch.tensor([of_ramp(bend, each) for each in q.tolist()], dtype=F64).T
        rounding = 1e-15 * (1 + bend**2 + q)  # of the truth, which is a difference
        assert ((found - truth).abs() <= error + rounding).all(), bend
        assert (error <= (4e-14 if told else 0.02) * (1 + q)).all()


def test_the_error_of_a_hidden_bend_is_no_smaller_than_what_it_does():
    """The case of a review: off by 1e-3 where rounding was stated."""
    q = torch.linspace(0.5, 2, 50, dtype=F64)
    truth = torch.tensor([of_ramp(0.3, float(each)) for each in q], dtype=F64).T
    missed = (stacked(ramp(0.3).moments(q)) - truth).abs()
    assert missed[2].max() > 5e-4
    assert (missed <= stacked(ramp(0.3).moments_error(q))).all()


@pytest.mark.parametrize("beta", [3.0, 30.0, 300.0, 1e3, 1e4, 1e6])
def test_the_error_covers_a_sharp_turn(beta):
    q = torch.tensor([0.01, 0.3, 1.0, 4.0, 50.0], dtype=F64)
    sharp, told = softplus(beta, told=False), softplus(beta, told=True)
    exact = stacked(told.moments_error(q))
    assert (exact <= 3e-14 * (1 + q)).all()
    missed = (stacked(sharp.moments(q)) - stacked(told.moments(q))).abs()
    assert (missed <= stacked(sharp.moments_error(q)) + exact).all()


def test_the_error_covers_tails():
    """E e^{az} has its mass at a: inside the pieces, at their end, and beyond, where nothing is known."""
    sigma = FromFunction(torch.exp, torch.exp, "exponential")
    for q, largest in ((1.0, 1e-13), (9.0, 1e-11), (25.0, 2e-3), (50.0, 10.0), (100.0, math.inf)):
        at = torch.tensor([q], dtype=F64)
        second, error = sigma.moments(at)[1].item(), sigma.moments_error(at)[1].item()
        assert abs(second - math.exp(2 * q)) <= error <= largest * math.exp(2 * q)
        assert math.isinf(error) == math.isinf(largest)
    for std in (1.0, 3.0, 4.0, 5.0, 6.0):
        q = torch.tensor([[std**2]], dtype=F64)
        for rho in (0.0, 0.5, 0.9, 0.999, 1.0):
            value, _, stated = quadrature_dual(sigma, q, q, rho * q)
            truth = math.exp(std**2 * (1 + rho))
            assert abs(value.item() - truth) <= stated + 1e-13 * truth


@pytest.mark.parametrize(
    "sigma", [ReLU(), Erf(), Erf(0.3), GELU(), Sine(), Cosine(0.5), Polynomial((1.0, -2.0, 1.0, 0.5))], ids=str
)
def test_closed_forms_keep_their_digits_at_all_scales(sigma: Activation):
    """Against the line, within the errors that both state; both are small against the moments themselves."""
    q = torch.logspace(-12, 10, 89, dtype=F64)
    line, error = line_moments(sigma.value, sigma.derivative, sigma.cuts, q)
    closed, rounding = stacked(sigma.moments(q)), stacked(sigma.moments_error(q))
    assert ((closed - line).abs() <= error + rounding).all()
    if not isinstance(sigma, Polynomial):
        assert (rounding <= 2e-14 * closed.abs()).all()


@pytest.mark.parametrize("name", list(NAMED))
def test_dual_maps_at_equal_arguments_are_the_moments(name):
    sigma, q = NAMED[name], torch.logspace(-6, 2, 20, dtype=F64)
    if sigma.closed_form:
        value, slope = sigma.dual(q, q, q)
        assert slope is not None
        _, second, slope_second = sigma.moments(q)
        assert ((value - second).abs() <= 1e-12 * second).all()
        assert ((slope - slope_second).abs() <= 1e-12 * slope_second).all()


def test_waves_of_small_arguments_keep_their_digits():
    """sin u sin v is about u v, not a difference of two numbers close to one."""
    c = torch.tensor([1e-12, -3e-9, 0.0, 2e-6], dtype=F64)
    q = torch.full_like(c, 2e-6)
    value, _ = Sine().dual(q, q, c)
    _, slope = Cosine().dual(q, q, c)
    truth = [math.exp(-2e-6) * math.sinh(each) for each in c.tolist()]
    assert slope is not None
    assert value.tolist() == pytest.approx(truth, rel=1e-14)
    assert slope.tolist() == pytest.approx(truth, rel=1e-14)


def test_gelu_of_large_variances_keeps_its_digits():
    """The dual of σ′ is that of the ReLU up to terms of the order of 1/q."""
    q = torch.tensor([1e4, 1e8, 1e12], dtype=F64)
    _, slope = GELU().dual(q, q, 0.999 * q)
    _, limit = ReLU().dual(q, q, 0.999 * q)
    assert slope is not None
    assert limit is not None
    assert ((slope - limit).abs() <= 10 / q + 1e-13).all()


@pytest.mark.parametrize("power", [-160, -100, -82, 0, 78, 100, 150])
def test_relu_at_every_scale(power):
    """The arc-cosine kernels are homogeneous: scaling both variables scales the dual of σ and not that of σ′."""
    q, s = torch.tensor([0.3, 1.0, 7.0], dtype=F64), 10.0**power
    c = 0.4 * torch.outer(q.sqrt(), q.sqrt())
    value, slope = ReLU().dual(q[:, None], q[None], c)
    for one, two, both in ((s, s, s), (s, 1 / s, 1.0)):  # of the same size, or as different as can be
        scaled, same = ReLU().dual(one * q[:, None], two * q[None], both * c)
        torch.testing.assert_close(scaled, both * value, rtol=1e-13, atol=0)
        torch.testing.assert_close(same, slope, rtol=1e-13, atol=0)
        only, nothing = ReLU().dual(one * q[:, None], two * q[None], both * c, slope=False)
        assert nothing is None
        assert torch.equal(only, scaled)


def test_relu_with_zeros_among_small_and_large_variances():
    q = torch.tensor([0.0, 1e-200, 1.0, 1e200], dtype=F64)
    c = 0.5 * torch.outer(q.sqrt(), q.sqrt())
    value, slope = ReLU().dual(q[:, None], q[None], c)
    one = torch.ones(1, dtype=F64)
    unit, angle = ReLU().dual(one, one, 0.5 * one)
    assert slope is not None
    assert angle is not None
    torch.testing.assert_close(value, unit * torch.outer(q.sqrt(), q.sqrt()), rtol=1e-12, atol=0)
    expected = torch.full((4, 4), angle.item(), dtype=F64)
    expected[0] = expected[:, 0] = 0
    torch.testing.assert_close(slope, expected, rtol=1e-12, atol=0)
    empty = torch.empty(0, 4, dtype=F64)
    assert ReLU().dual(empty[:, :1], q[None], empty)[0].shape == (0, 4)
