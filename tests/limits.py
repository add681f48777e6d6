"""Infinite-width limits a second time: scalar dual maps, and means over finite networks by autograd."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy.integrate import quad
from torch.func import jacrev, vmap

from beyondkernels.core import Stream
from beyondkernels.kernels.infinite.fully_connected import infinite_tangent

Pair = Callable[[float, float, float], tuple[float, float]]
"""E[σ(u)σ(v)] and E[σ′(u)σ′(v)] of the variances of u and v and their covariance."""


def density(z: float) -> float:
    """Of a standard normal number."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def cumulative(z: float) -> float:
    """Of a standard normal number."""
    return math.erfc(-z / math.sqrt(2)) / 2


def relu_pair(q1: float, q2: float, c: float) -> tuple[float, float]:
    """The angle and its sine."""
    theta = math.acos(max(-1.0, min(1.0, c / math.sqrt(q1 * q2))))
    value = math.sqrt(q1 * q2) * (math.sin(theta) + (math.pi - theta) * math.cos(theta)) / (2 * math.pi)
    return value, (math.pi - theta) / (2 * math.pi)


def erf_pair(q1: float, q2: float, c: float) -> tuple[float, float]:
    """Two arcs."""
    value = 2 / math.pi * math.asin(2 * c / math.sqrt((1 + 2 * q1) * (1 + 2 * q2)))
    return value, 4 / math.pi / math.sqrt((1 + 2 * q1) * (1 + 2 * q2) - 4 * c * c)


def quadratic_pair(q1: float, q2: float, c: float) -> tuple[float, float]:
    """Wick's formula."""
    return q1 * q2 + 2 * c * c, 4 * c


def tanh_pair(q1: float, q2: float, c: float) -> tuple[float, float]:
    """The double integral by the trapezoidal rule, which converges geometrically for analytic functions."""
    z, h = np.linspace(-9, 9, 241, retstep=True)
    w = h * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    u = np.tanh(math.sqrt(q1) * z)
    v = np.tanh(c / math.sqrt(q1) * z[:, None] + math.sqrt(max(0.0, q2 - c * c / q1)) * z)
    return float(w * u @ (v @ w)), float(w * (1 - u**2) @ ((1 - v**2) @ w))


def truncated_relu_pair(q1: float, q2: float, c: float) -> tuple[float, float]:
    """The integral over v in closed form, for every u; the integral over u by quadrature."""
    a, s = c / q1, math.sqrt(max(1e-300, q2 - c * c / q1))

    def positive_part(m: float) -> float:
        return m * cumulative(m / s) + s * density(m / s)

    def value(z: float) -> float:
        u = math.sqrt(q1) * z
        return density(z) * min(1.0, max(0.0, u)) * (positive_part(a * u) - positive_part(a * u - 1))

    def slope(z: float) -> float:
        u = math.sqrt(q1) * z
        return density(z) * (cumulative(a * u / s) - cumulative((a * u - 1) / s))

    one = 1 / math.sqrt(q1)
    exact: Any = {"epsabs": 1e-13, "epsrel": 1e-13, "limit": 200}
    inner = quad(value, 0, one, **exact)[0]
    return inner + quad(value, one, one + 12, **exact)[0], quad(slope, 0, one, **exact)[0]


PAIRS: dict[str, Pair] = {
    "relu": relu_pair,
    "erf": erf_pair,
    "quadratic": quadratic_pair,
    "tanh": tanh_pair,
    "truncated_relu": truncated_relu_pair,
}


def layer_grams(network: Any, x: torch.Tensor, draws: int) -> dict[str, torch.Tensor]:
    """The tangent kernels of each layer of freshly drawn networks, by automatic differentiation: (draws, n, n)."""
    drawn = [network.init(x.shape[1], 1, Stream(0).child(str(i)))[0] for i in range(draws)]
    params = {name: torch.stack([draw[name] for draw in drawn]).to(torch.float64) for name in drawn[0]}

    def grams(params: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        jacobian = jacrev(lambda p: network.apply(p, {}, x)[0][:, 0])(params)
        return {name: part.flatten(1) @ part.flatten(1).T for name, part in jacobian.items()}

    layers: dict[str, Any] = {}
    for name, gram in vmap(grams, chunk_size=25)(params).items():
        layer = name.split(".")[0]
        layers[layer] = layers.get(layer, 0) + gram
    return layers


def check_against_means(
    networks: Sequence[Any], draws: Sequence[int], x: torch.Tensor, groups: Mapping[str, Sequence[str]]
) -> None:
    """The limit from two widths, whose means are off by the same constant over the width, within 5 standard errors.

    All is measured in units of the limit's largest entry; the error must stay small enough for the test to mean much.
    """
    off, errors = {}, {}
    for network, count in zip(networks, draws, strict=True):
        layers = layer_grams(network, x, count)
        for group, members in groups.items():
            limit = infinite_tangent(network, group)(x)
            grams = sum(layers[name] for name in members) / limit.abs().max()
            off[network, group] = grams.mean(0) - limit / limit.abs().max()
            errors[network, group] = grams.std(0) / count**0.5
    for group in groups:
        narrow, wide = networks
        r = wide.width / narrow.width
        difference = (r * off[wide, group] - off[narrow, group]) / (r - 1)
        error = ((r * errors[wide, group]) ** 2 + errors[narrow, group] ** 2).sqrt() / (r - 1)
        assert error.max() < 0.03
        assert (difference.abs() <= 5 * error).all(), (group, (difference / error).abs().max())
