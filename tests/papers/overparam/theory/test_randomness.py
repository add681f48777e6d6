"""Lemma A.4's properties, and the parts of Lemma 5.2 neuron by neuron and on average."""

import itertools
import math
from typing import cast

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from beyondkernels.activations import Polynomial
from beyondkernels.core import Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.papers.overparam.problems import IntervalFunction, TwoLayerTruth, UnitInputs
from beyondkernels.papers.overparam.theory import (
    IntervalPartition,
    RandomFirstLayers,
    decompose,
    indicator_function,
    scale_of,
    slope_excess,
)
from beyondkernels.papers.overparam.theory.expectation import gated_mean, sloped_mean
from beyondkernels.store import RunSpec
from refusals import refused

PARTITION = IntervalPartition(0.01)
EDGE = PARTITION.edge
LINEAR = indicator_function(Polynomial((0.0, 1.0)), epsilon=0.1, reach=1.0)


def pieces(y: float) -> list[tuple[float, float, float]]:
    """The intervals on which the sign is constant, and the sign, by a fine grid and bisection between its points."""
    grid = np.unique(np.concatenate([centre + np.linspace(-2.5 * EDGE, 2.5 * EDGE, 4001) for centre in (-y, y)]))
    values = PARTITION.signs(np.full(len(grid), y), grid)
    cuts = [grid[0]]
    for i in np.flatnonzero(values[1:] != values[:-1]):
        low, high = grid[i], grid[i + 1]
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if PARTITION.signs(np.array(y), np.array(middle)) == values[i] else (low, middle)
        cuts.append(low)
    cuts.append(grid[-1])
    middles = (np.array(cuts[1:]) + np.array(cuts[:-1])) / 2
    return list(zip(cuts[:-1], cuts[1:], PARTITION.signs(np.full(len(middles), y), middles), strict=True))


@pytest.mark.parametrize("y", [0.0, 1e-4, 0.002, 0.0061, 0.0063, 0.1, -0.003, -0.7, 1.0])
def test_interval_partition(y):
    found = pieces(y)
    mass = {sign: sum(norm.cdf(b) - norm.cdf(a) for a, b, s in found if s == sign) for sign in (-1.0, 1.0)}
    assert mass[1.0] + mass[-1.0] == pytest.approx(0.01, rel=1e-8)  # balanced
    assert mass[1.0] == pytest.approx(mass[-1.0], rel=1e-8)  # symmetric
    mean = sum(s * quad(lambda g: g * norm.pdf(g), a, b, epsabs=1e-14)[0] for a, b, s in found) / 0.01
    assert mean == pytest.approx(y, abs=1e-9)  # unbiased
    assert max(b - a for a, b, s in found if s != 0) <= 0.1  # each part is short


def printed_mean(y: float) -> float:
    """The mean of 𝔰(y, g) g given I(y) for a small y, with e, c and d as (66) to (68) have them."""
    tau = 0.01

    def first(e: float) -> float:
        return float((norm.pdf(0) - norm.pdf(e)) / (norm.cdf(e) - 0.5))

    e = cast(float, brentq(lambda e: first(e) - y, 1e-9, 1.0))
    c = norm.ppf(0.5 + tau / 2)
    d = norm.ppf((norm.cdf(e) + norm.cdf(c)) / 2)
    signs = {(0, e): 1, (e, d): 1, (-d, -e): 1, (-e, 0): -1, (d, c): -1, (-c, -d): -1}
    assert sum(norm.cdf(b) - norm.cdf(a) for a, b in signs) == pytest.approx(tau)
    return float(sum(sign * (norm.pdf(a) - norm.pdf(b)) for (a, b), sign in signs.items())) / tau


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_the_printed_choice_for_small_means_is_biased(share):
    """With E[|g| | |g| ≤ e] = y, as the proof has it, the mean over I(y) is y Pr[|g| ≤ e]/τ, about y²/y₀."""
    y = share * PARTITION.turning
    assert printed_mean(y) == pytest.approx(share * y, rel=1e-3)
    ours = sum(sign * (norm.pdf(a) - norm.pdf(b)) for a, b, sign in pieces(y)) / 0.01
    assert ours == pytest.approx(y, rel=1e-6)


def apart(y: float, z: float) -> float:
    """|I(y) △ I(z)|, from the ends of the pieces."""
    sets = [[(a, b) for a, b, sign in pieces(each) if sign] for each in (y, z)]
    ends = sorted({end for each in sets for piece in each for end in piece})
    return sum(
        high - low
        for low, high in itertools.pairwise(ends)
        if len({any(a < (low + high) / 2 < b for a, b in each) for each in sets}) == 2  # in one of them alone
    )


@pytest.mark.parametrize(("y", "step"), [(-0.5, 1e-4), (0.003, 1e-3), (0.0059, 1e-3), (0.0064, 1e-4), (0.99, 5e-3)])
def test_sets_move_with_their_mean(y, step):
    """Property 6: I(y) has at most four ends, which move by about the difference of the means."""
    found = apart(y, y + step)
    assert found <= 4.2 * step
    if abs(y) > PARTITION.turning:
        assert found >= 3.8 * step


def first_layer(m: int, seed: int):
    random = Stream(seed).generator()
    W = random.standard_normal((m, 4)) / math.sqrt(m)
    b = np.where(random.random(m) < 0.5, 0.0, math.sqrt(2 / m) * random.standard_normal(m))
    return W, b, random.standard_normal(m)


X = UnitInputs(4).draw(5, Stream(100)).numpy()
DIRECTION, TILTED = np.array([0.6, 0.0, 0.8, 0.0]), np.array([0.6, 0.0, 0.0, 0.8])


@pytest.mark.parametrize("direction", [DIRECTION, TILTED], ids=["across", "tilted"])
def test_parts_neuron_by_neuron(direction):
    W, b, v = first_layer(1500, 100)
    found = decompose(LINEAR, direction, W, b, v, X, PARTITION)
    C, m = scale_of(LINEAR), 1500

    def signs(W) -> np.ndarray:
        return PARTITION.signs(2 * LINEAR(math.sqrt(m) * W @ direction, math.sqrt(m) * b) / C, v)

    s = signs(W)
    chosen = [i for i in range(m) if s[i]]
    assert found.chosen == len(chosen)
    assert 5 < len(chosen) < 30
    alpha = sum(s[i] * W[i, 3] for i in chosen) / math.sqrt(len(chosen))
    assert found.rho == pytest.approx(math.sqrt(0.01 * m) / C * alpha)
    beta = [W[i] - alpha * s[i] / math.sqrt(len(chosen)) * np.eye(4)[3] for i in range(m)]
    again = np.flatnonzero(signs(np.array(beta)))
    assert found.lost == len(set(chosen) ^ set(again))
    assert (found.lost == 0) == (direction is DIRECTION)
    for n, x in enumerate(X):
        whole = sum(v[i] * max(W[i] @ x + b[i], 0) for i in range(m))
        background = sum(v[i] * max(W[i] @ x + b[i], 0) for i in set(range(m)) - set(chosen))
        background += sum(v[i] * max(beta[i] @ x + b[i], 0) for i in again)
        assert found.whole[n] == pytest.approx(whole)
        assert found.background[n] == pytest.approx(background)
    assert found.rest(np.ones(5)) == pytest.approx(found.whole - found.rho - found.background)


def test_slopes_on_rho():
    """n₁ − B has the slope φ_ε on ρ at every point; B, without what is outside of 𝒮, much less than that."""
    draws = [decompose(LINEAR, DIRECTION, *first_layer(2000, seed), X, PARTITION) for seed in range(1000, 1500)]
    rho = np.array([each.rho for each in draws])
    signal = gated_mean(LINEAR, X @ DIRECTION)
    slopes = rho @ np.array([each.whole - each.background for each in draws]) / (rho @ rho)
    rest = np.array([each.rest(signal) for each in draws])
    error = rest.std(0) / (rho.std() * math.sqrt(500))
    assert error.max() < 0.1 * np.abs(signal).max()
    assert (np.abs(slopes - signal) < 4 * error).all()
    kept = np.array([each.kept for each in draws]) @ signal / (signal @ signal)
    error = kept.std() / (rho.std() * math.sqrt(500))
    assert error < 0.3
    assert abs(rho @ kept / (rho @ rho)) < 3 * error


class Careless:
    """Sets that do not depend on y, and signs that do: ρ is not independent of W⁽⁰⁾."""

    probability = 0.01

    def signs(self, y, g):
        return np.where(np.abs(g) <= EDGE, np.where(y < 0, -1.0, 1.0), 0.0)


def test_the_partition_makes_rho_gaussian():
    """With a last coordinate of w*, E ρ² = τ/C² needs that 𝒮 and the signs are independent of W⁽⁰⁾."""

    def mean_square(partition) -> float:
        draws = [decompose(LINEAR, TILTED, *first_layer(2000, seed), X, partition) for seed in range(1000, 1300)]
        return float(np.mean([each.rho**2 for each in draws])) * scale_of(LINEAR) ** 2 / 0.01

    error = 4 * math.sqrt(2 / 300)
    assert mean_square(PARTITION) == pytest.approx(1, abs=error)
    assert mean_square(Careless()) > 1 + 2 * error


@pytest.mark.parametrize("function", [Polynomial((0.0, 1.0)), Polynomial((0.3, -1.0, 0.5, 0.4))])
@pytest.mark.parametrize("direction", [DIRECTION, TILTED], ids=["across", "tilted"])
def test_excess(function, direction):
    """E[ρ n₁]/E[ρ²] = 2 E[h σ(⟨g, x⟩ + b) g_d] with a normal vector g, without Stein's identity."""
    h, n = indicator_function(function, epsilon=0.1, reach=1.0), 400_000
    random = Stream(100).generator()
    g = random.standard_normal((n, 4))
    b = np.where(random.random(n) < 0.5, 0.0, math.sqrt(2) * random.standard_normal(n))
    for x in X:
        terms = 2 * h(g @ direction, b) * np.maximum(g @ x + b, 0) * g[:, 3]
        inner = np.atleast_1d(x @ direction)
        wanted = (gated_mean(h, inner) + slope_excess(h, inner, direction[3])).item()
        assert terms.mean() == pytest.approx(wanted, abs=4 * terms.std() / math.sqrt(n))
    assert np.abs(slope_excess(h, X @ direction, direction[3])).max() > 0.3 or direction is DIRECTION


@pytest.mark.parametrize("x", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_sloped_mean(x):
    """By draws, with the slope of h as a difference."""
    h, n, step = indicator_function(Polynomial((0.2, 1.0, 0.5, -0.5)), 0.05, reach=1.0), 400_000, 1e-5
    random = Stream(101).generator()
    alpha, beta = random.standard_normal((2, n))
    b = np.where(random.random(n) < 0.5, 0.0, math.sqrt(2) * random.standard_normal(n))
    slope = (h(alpha + step, b) - h(alpha - step, b)) / (2 * step)
    terms = slope * np.maximum(alpha * x + beta * math.sqrt(1 - x**2) + b, 0)
    assert sloped_mean(h, np.array([x])).item() == pytest.approx(terms.mean(), abs=4 * terms.std() / math.sqrt(n))


def run(width: int, tilt: float = 0.0, draws: int = 150) -> dict[str, float]:
    learner = RandomFirstLayers(width, draws, points=3, tilt=tilt)
    return perform([RunSpec(IntervalFunction(Polynomial((0.0, 1.0))), learner, 1, 0, 100)])[0].scalars


def test_a_run_takes_moments_of_many_layers():
    narrow, wide = run(1000, draws=600), run(9000)
    assert narrow["rest"] / wide["rest"] == pytest.approx(3, rel=0.2)  # √9
    # E n₁² = E Σ σ(⟨w, x⟩ + b)² = ½ (½ · 1 + ½ · 3)
    assert wide["whole"] == pytest.approx(1, rel=0.15)
    # φ_ε is a little below φ = x, whose mean square over −√3/2, 0, √3/2 is 1/2
    assert wide["signal"] == pytest.approx(math.sqrt(0.01 / 2) / scale_of(LINEAR), rel=0.25)
    assert wide["variance"] == pytest.approx(1, abs=4 * math.sqrt(2 / 150))
    assert wide["carried"] == pytest.approx(1, abs=0.1)
    assert abs(narrow["leak"]) < 0.7  # three standard errors
    assert wide["excess"] == wide["lost"] == 0
    refused("problem must be an IntervalFunction", RandomFirstLayers(10).check, TwoLayerTruth(UnitInputs(3)), 1, 1)


def test_a_run_with_a_tilt():
    found = run(3000, tilt=0.8)
    inner = 0.6 * math.sqrt(3) / 2 * np.array([-1, 0, 1]) + 0.4
    signal = gated_mean(LINEAR, inner)
    assert found["excess"] == pytest.approx(slope_excess(LINEAR, inner, 0.8) @ signal / (signal @ signal))
    assert 1 < found["excess"] < 3
    assert 5 < found["lost"] < 30
    assert found["rest"] > 5 * run(3000)["rest"]


def test_a_layer_of_which_no_neuron_is_chosen():
    """The direction is another one that does not depend on W; the network's input is all background."""
    W, b, v = first_layer(3, 100)
    v = 5 + 0 * v  # outside of every set I(y)
    found = decompose(LINEAR, DIRECTION, W, b, v, X, PARTITION)
    assert found.rho == pytest.approx(math.sqrt(0.01 * 3) / scale_of(LINEAR) * W[0, -1])
    np.testing.assert_allclose(found.background, found.whole)
    np.testing.assert_allclose(found.rest(np.ones(len(X))), -found.rho)
