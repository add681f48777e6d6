"""Every activation and its smoothed versions: value and derivative by a second route, and all ways to differentiate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

import naive
from beyondkernels.activations import NAMED, Activation, SmoothedReLU, SmoothedTruncatedReLU, activation
from beyondkernels.core import Stream
from refusals import refused


@dataclass(frozen=True)
class Twin:
    """An activation as plain Python: its value, its derivative, and where it bends."""

    value: naive.Scalar
    derivative: naive.Scalar
    kinks: tuple[float, ...]


def normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


TWINS = {
    "relu": Twin(lambda z: max(z, 0.0), lambda z: 1.0 if z > 0 else 0.0, (0.0,)),
    "erf": Twin(math.erf, lambda z: 2 / math.sqrt(math.pi) * math.exp(-z * z), ()),
    "identity": Twin(lambda z: z, lambda _: 1.0, ()),
    "quadratic": Twin(lambda z: z * z, lambda z: 2 * z, ()),
    "tanh": Twin(math.tanh, lambda z: 1 / math.cosh(z) ** 2 if abs(z) < 300 else 0.0, ()),
    "gelu": Twin(lambda z: z * normal_cdf(z), lambda z: normal_cdf(z) + z * normal_density(z), ()),
    "sine": Twin(math.sin, math.cos, ()),
    "cosine": Twin(math.cos, lambda z: -math.sin(z), ()),
    "truncated_relu": Twin(naive.truncated_relu, lambda z: 1.0 if 0 < z < 1 else 0.0, (0.0, 1.0)),
}
STDS = (1e-4, 0.01, 1 / 25, 0.3, 1.0, 4.0)
NOT_SMOOTHED = ("tanh", "gelu")
WITH_NOISE = [name for name in NAMED if name not in NOT_SMOOTHED]
SMOOTHED = [(name, std) for name in WITH_NOISE for std in (STDS if name == "truncated_relu" else STDS[1::2])]
ALL = [(name, None) for name in NAMED] + SMOOTHED
STRAIGHT = ("relu", "truncated_relu")
"""Straight between the kinks, so that little noise changes nothing far from them."""


def made(name: str, std: float | None) -> Activation:
    return NAMED[name] if std is None else NAMED[name].smoothed(std)


def places(name: str, std: float | None) -> list[float]:
    """Points around every kink on the scale of the noise, between the kinks, and far away."""
    unit = std or 0.1
    near = [kink + unit * t for kink in TWINS[name].kinks or (0.0,) for t in (-9, -3.1, -1, -0.4, 0.3, 1.2, 2.9, 8)]
    return [*near, -1000.5, -30.0, -3.0, -0.7, 0.21, 0.5, 0.83, 1.9, 17.0, 1000.25]


def expected(name: str, std: float | None, z: float) -> tuple[float, float]:
    twin = TWINS[name]
    if std is None:
        return twin.value(z), twin.derivative(z)
    return naive.gaussian_mean(twin.value, twin.kinks, z, std), naive.gaussian_mean(twin.derivative, twin.kinks, z, std)


def away_from_kinks(name: str, z: torch.Tensor, gap: float) -> torch.Tensor:
    far = torch.ones_like(z, dtype=torch.bool)
    for kink in TWINS[name].kinks:
        far &= (z - kink).abs() > gap
    return z[far]


def close(name: str, found: torch.Tensor, truth: torch.Tensor, size: torch.Tensor | float = 1.0) -> bool:
    """The same bits, or a few roundings apart where two routes may take different steps."""
    if name == "truncated_relu":
        return torch.equal(found, truth)
    return bool(((found - truth).abs() <= 8 * torch.finfo(truth.dtype).eps * (1 + truth.abs()) * size).all())


def test_every_activation_has_a_twin():
    assert NAMED.keys() == TWINS.keys()
    for name, twin in TWINS.items():
        assert NAMED[name].kinks == twin.kinks


@pytest.mark.parametrize(("name", "std"), ALL)
def test_value_and_derivative_by_quadrature(name, std):
    z = places(name, std)
    sigma, at = made(name, std), torch.tensor(z, dtype=torch.float64)
    truth = torch.tensor([expected(name, std, point) for point in z], dtype=torch.float64)
    # Rounding grows with the values, and with z, which enters as z − (z − 1), within 40 std of the kinks only.
    size = 1 + at.clamp(-40 * (std or 0), 1 + 40 * (std or 0)).abs() + truth[:, 0].abs()
    assert ((sigma.value(at) - truth[:, 0]).abs() <= 1e-14 * size).all()
    assert ((sigma.derivative(at) - truth[:, 1]).abs() <= 1e-14 * (1 + truth[:, 1].abs())).all()


@pytest.mark.parametrize(("name", "std"), ALL)
def test_single_precision_agrees_with_double(name, std):
    # Points that are float32 already, so that only the computation rounds.
    z = away_from_kinks(name, torch.tensor(places(name, std)), 1e-6)
    sigma = made(name, std)
    single, double = sigma.value(z), sigma.value(z.double())
    assert single.dtype == torch.float32
    assert double.dtype == torch.float64
    assert sigma.derivative(z).dtype == torch.float32
    assert ((single - double).abs() <= 3e-7 * (1 + 40 * (std or 0) + double.abs())).all()
    # The derivative is as steep as 1/std, so rounding z / std shows.
    slope = sigma.derivative(z.double())
    assert ((sigma.derivative(z) - slope).abs() <= 1e-6 * (1 + slope.abs())).all()


@pytest.mark.parametrize(("name", "std"), ALL)
def test_derivative_is_the_slope_of_the_value(name, std):
    sigma, h = made(name, std), 1e-4 * (std or 1)
    z = away_from_kinks(name, torch.tensor(places(name, std), dtype=torch.float64), h if std is None else 0)
    slope = (sigma.value(z + h) - sigma.value(z - h)) / (2 * h)
    # Third derivatives of at most 1/std² (six, without noise) give 1e-8, rounding of z and the value 1e-16 / h.
    size = 1 + (std or 1) + sigma.value(z).abs() + (z * sigma.derivative(z)).abs()
    assert ((slope - sigma.derivative(z)).abs() <= 1e-8 + 1e-15 * size / h).all()


@pytest.mark.parametrize(("name", "std"), SMOOTHED)
def test_smoothing_by_monte_carlo(name, std):
    """The mean of the plain activation over drawn noise, within five standard errors."""
    n = 40_000
    noise = std * Stream(21).child(name).normal(n, dtype=torch.float64)
    plain, smooth = NAMED[name], made(name, std)
    for z in (-std, 0.0, 0.4 * std, 0.5, 1 - std, 1 + 2 * std):
        at = torch.tensor(z, dtype=torch.float64)
        for drawn, exact in (
            (plain.value(at + noise), float(smooth.value(at))),
            (plain.derivative(at + noise), float(smooth.derivative(at))),
        ):
            spread = float(drawn.std())
            if set(drawn.tolist()) <= {0.0, 1.0}:  # a rare event that was never drawn has a spread all the same
                spread = math.sqrt(exact * (1 - exact))
            assert float(drawn.mean()) == pytest.approx(exact, abs=5 * spread / math.sqrt(n) + 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("name", "std"), ALL)
def test_every_way_to_differentiate(name, std, dtype):
    sigma = made(name, std)
    z = away_from_kinks(name, torch.tensor(places(name, std), dtype=dtype), 0)
    truth = sigma.derivative(z)
    tangent = Stream(22).normal(*z.shape, dtype=dtype)

    gradient = torch.func.vmap(torch.func.grad(sigma.value))(z)
    value, pushed = torch.func.jvp(sigma.value, (z,), (tangent,))  # pyright: ignore[reportAssignmentType]
    leaf = z.clone().requires_grad_()
    sigma.value(leaf).backward(tangent)
    assert leaf.grad is not None
    assert close(name, gradient, truth)
    assert torch.equal(value, sigma.value(z))
    assert close(name, pushed, tangent * truth, 1 + tangent.abs())
    assert close(name, leaf.grad, tangent * truth, 1 + tangent.abs())


@pytest.mark.parametrize(("name", "std"), ALL)
def test_vmapped_derivatives(name, std):
    """Gradients, forward derivatives and gradients of forward derivatives of many members are those of each."""
    sigma = made(name, std)
    z = 0.5 + Stream(23).normal(3, 2, 5, dtype=torch.float64)
    v = Stream(24).normal(3, 2, 5, dtype=torch.float64)

    def pushed(z: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(sigma.value, (z,), (v,))[1].sum()

    def pulled(z: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda z: sigma.value(z).sum())(z)

    assert torch.equal(torch.func.vmap(sigma.value)(z), sigma.value(z))
    assert close(name, torch.func.vmap(pulled)(z), sigma.derivative(z))
    assert torch.allclose(torch.func.vmap(pushed)(z, v), (v * sigma.derivative(z)).sum((1, 2)), rtol=1e-14, atol=1e-14)
    by_tangent = torch.func.vmap(torch.func.grad(pushed, argnums=1))(z, v)
    assert close(name, by_tangent, sigma.derivative(z))


@pytest.mark.parametrize(("name", "std"), SMOOTHED)
def test_second_derivatives(name, std):
    """Through the derivative's own derivative, backward on backward and forward on backward."""
    sigma = made(name, std)
    z = torch.tensor(places(name, std), dtype=torch.float64)
    h = 1e-4 * std
    truth = (sigma.derivative(z + h) - sigma.derivative(z - h)) / (2 * h)
    twice = torch.func.vmap(torch.func.grad(torch.func.grad(sigma.value)))(z)
    mixed = torch.func.vmap(
        lambda z: torch.func.jvp(torch.func.grad(sigma.value), (z,), (torch.ones((), dtype=z.dtype),))[1]
    )(z)
    assert torch.allclose(twice, truth, rtol=1e-7, atol=1e-7 / std)
    assert torch.allclose(mixed, truth, rtol=1e-7, atol=1e-7 / std)


@pytest.mark.parametrize("name", WITH_NOISE)
def test_noise_on_noise_adds_variances(name):
    twice, once = NAMED[name].smoothed(0.3).smoothed(0.4), NAMED[name].smoothed(0.5)
    z = torch.tensor(places(name, 0.5), dtype=torch.float64)
    assert torch.allclose(twice.value(z), once.value(z), rtol=1e-14, atol=1e-14)
    assert torch.allclose(twice.derivative(z), once.derivative(z), rtol=1e-14, atol=1e-14)
    first = NAMED[name].smoothed(0.3)

    def value(t: float) -> float:
        return float(first.value(torch.tensor(t, dtype=torch.float64)))

    for point in (-0.6, 0.1, 0.5, 1.2):
        by_hand = naive.gaussian_mean(value, (), point, 0.4)
        assert float(twice.value(torch.tensor(point, dtype=torch.float64))) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("name", WITH_NOISE)
def test_little_noise_changes_little(name):
    """The value moves by s/√(2π) at a kink where the slope jumps by one, and by less elsewhere."""
    plain, z = NAMED[name], torch.linspace(-2, 3, 1001, dtype=torch.float64)
    for s in (1e-1, 1e-3, 1e-6, 1e-12):
        smooth = plain.smoothed(s)
        assert float((smooth.value(z) - plain.value(z)).abs().max()) <= s / math.sqrt(2 * math.pi) + 1e-15
        if name not in STRAIGHT:
            continue
        far = away_from_kinks(name, z, 9 * s)
        assert torch.allclose(smooth.value(far), plain.value(far), rtol=0, atol=1e-15)
        assert torch.allclose(smooth.derivative(far), plain.derivative(far), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", NOT_SMOOTHED)
def test_noise_without_a_closed_form(name):
    refused(f"^{type(NAMED[name]).__name__} has no closed form under noise of std 0.3; draw", NAMED[name].smoothed, 0.3)


@pytest.mark.parametrize("name", NAMED)
def test_names(name):
    assert activation(name) is NAMED[name]
    assert activation(NAMED[name]) is NAMED[name]
    refused(f"unknown activation '{name}x', did you mean {name}", activation, f"{name}x")


def test_noise_must_be_positive():
    for sigma in (*(NAMED[name] for name in WITH_NOISE), SmoothedReLU(0.2), SmoothedTruncatedReLU(0.2)):
        for std in (0, -0.1, math.nan):
            refused(f"^std must be positive, got {std}$", sigma.smoothed, std)
