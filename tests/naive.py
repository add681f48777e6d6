"""Formulas a second time: slow, literal, one number after the other."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad

Scalar = Callable[[float], float]


def truncated_relu(z: float) -> float:
    """min(1, max(z, 0))."""
    return min(1.0, max(z, 0.0))


def gaussian_mean(function: Scalar, kinks: Sequence[float], z: float, std: float) -> float:
    """E f(z + ξ), ξ ~ N(0, std²), by quadrature between the places where f bends."""
    bends = [(kink - z) / std for kink in kinks if abs(kink - z) < 38 * std]
    # The density lives within a few units of zero: short pieces keep the quadrature from missing it.
    others = [t for t in (-38.0, -8.0, -2.0, 0.0, 2.0, 8.0, 38.0) if all(abs(t - bend) > 1e-6 for bend in bends)]
    ends = sorted([*bends, *others])

    def integrand(t: float) -> float:
        return function(z + std * t) * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)

    pieces: list[Any] = [
        quad(integrand, low, high, epsabs=1e-14, epsrel=1e-10)[0] for low, high in itertools.pairwise(ends)
    ]
    return math.fsum(pieces)


def two_layer(
    w: Sequence[Sequence[float]],
    b: Sequence[float],
    a: Sequence[Sequence[float]],
    x: Sequence[Sequence[float]],
    sigma: Scalar,
    noise: Sequence[Sequence[float]] | None = None,
) -> list[list[float]]:
    """g(x) = Σ_i a_i σ(⟨w_i, x⟩ + b_i + ξ_i) for every point and output."""
    out = []
    for row, point in enumerate(x):
        values = []
        for readout in a:
            total = 0.0
            for i in range(len(w)):
                z = b[i]
                for j in range(len(point)):
                    z += w[i][j] * point[j]
                if noise is not None:
                    z += noise[row][i]
                total += readout[i] * sigma(z)
            values.append(total)
        out.append(values)
    return out


def cosine(w: Sequence[float], v: Sequence[float]) -> float:
    """⟨w, v⟩ / (‖w‖‖v‖), zero where a vector is."""
    length = math.hypot(*w) * math.hypot(*v)
    return math.fsum(p * q for p, q in zip(w, v, strict=True)) / length if length else 0.0


def width_sum(c: Sequence[float], epsilon: float, R: float, star: float) -> float:
    """ℭ_ε of a series, one coefficient after the other."""
    total = 2 * abs(c[0])
    for i in range(1, len(c)):
        second = math.sqrt(math.log(1 / epsilon)) / math.sqrt(i) * star * R
        total += ((star * R) ** i + second**i) * abs(c[i])
    return total


def ridge_with_intercept(K: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """α and b of the least Σ (y_i − b − [Kα]_i)² + ridge αᵀKα: (K + ridge) α + b = y and Σ α_i = 0, as one system."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K + ridge * np.eye(n)
    system[n, :n] = system[:n, n] = 1
    solved = np.linalg.solve(system, np.concatenate([y, np.zeros_like(y[:1])]))
    return solved[:n], solved[n]
