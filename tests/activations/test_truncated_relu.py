"""The truncated ReLU: what is special about it."""

import math

import pytest
import torch

from beyondkernels.activations import SmoothedTruncatedReLU, TruncatedReLU

HUGE = [2.0**24 + 2, 1e9, 1e30, 3e38, math.inf]


def test_values_of_the_plain_one():
    z = torch.tensor([-math.inf, -2.0, 0.0, 0.25, 1.0, 1.5, math.inf])
    assert TruncatedReLU().value(z).tolist() == [0, 0, 0, 0.25, 1, 1, 1]
    assert TruncatedReLU().derivative(z).tolist() == [0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("std", [1e-6, 0.04, 3.0])
def test_huge_arguments_are_flat(std, dtype):
    """z − (z − 1) is one, also where a float cannot tell z from z − 1."""
    sigma, z = SmoothedTruncatedReLU(std), torch.tensor(HUGE, dtype=dtype)
    assert sigma.value(z).tolist() == [1.0] * len(HUGE)
    assert sigma.value(-z).tolist() == [0.0] * len(HUGE)
    assert sigma.derivative(z).tolist() == sigma.derivative(-z).tolist() == [0.0] * len(HUGE)
    assert torch.func.vmap(torch.func.grad(sigma.value))(z).tolist() == [0.0] * len(HUGE)
    assert sigma.value(torch.tensor([math.nan])).isnan().all()


def test_far_left_tail_keeps_its_leading_digits():
    """At u = z/s the value is about s·φ(u)/u², which rounding of z·Φ(u) + s·φ(u) must not drown before u = −8."""
    s = 0.04
    for u in (-4.0, -6.0, -8.0):
        phi = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        series = s * phi / u**2 * (1 - 3 / u**2 + 15 / u**4 - 105 / u**6 + 945 / u**8)
        value = float(SmoothedTruncatedReLU(s).value(torch.tensor(s * u, dtype=torch.float64)))
        assert value == pytest.approx(series, rel=abs(10_000 / u**10) + 1e-6)
