"""Lemma A.4's properties, and the parts of Lemma 5.2 neuron by neuron and on average."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from beyondkernels.activations import Polynomial
from beyondkernels.core import InputError, Stream
from beyondkernels.problems.overparam import IntervalFunction, TwoLayerTruth, UnitInputs
from beyondkernels.runs import RunSpec
from beyondkernels.runs.perform import perform
from beyondkernels.theory.overparam import (
    IntervalPartition,
    RandomFirstLayers,
    decompose,
    indicator_function,
    scale_of,
)

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


def test_the_printed_choice_for_small_means_is_biased():
    """With E[|g| | |g| ≤ e] = y, as the proof has it, the mean over I(y) is y·Pr[|g| ≤ e]/τ."""
    y = PARTITION.turning / 2
    e = 2 * y  # nearly uniform there, so that the mean of |g| is e/2
    assert (norm.cdf(e) - norm.cdf(-e)) / 0.01 * y == pytest.approx(y / 2, rel=1e-3)


def first_layer(m: int, seed: int):
    random = Stream(seed).generator()
    W = random.standard_normal((m, 4)) / math.sqrt(m)
    b = np.where(random.random(m) < 0.5, 0.0, math.sqrt(2 / m) * random.standard_normal(m))
    return W, b, random.standard_normal(m)


X = UnitInputs(4).draw(5, Stream(100)).numpy()
DIRECTION = np.array([0.6, 0.0, 0.8, 0.0])


def test_parts_neuron_by_neuron():
    W, b, v = first_layer(600, 100)
    found = decompose(LINEAR, DIRECTION, W, b, v, X, PARTITION)
    C, m = scale_of(LINEAR), 600
    s = [
        float(PARTITION.signs(2 * LINEAR(math.sqrt(m) * W[i] @ DIRECTION, math.sqrt(m) * b[i]) / C, v[i]))
        for i in range(m)
    ]
    chosen = [i for i in range(m) if s[i]]
    assert 0 < len(chosen) < 20
    alpha = sum(s[i] * W[i, 3] for i in chosen) / math.sqrt(len(chosen))
    assert found.rho == pytest.approx(math.sqrt(0.01 * m) / C * alpha)
    for n, x in enumerate(X):
        whole = sum(v[i] * max(W[i] @ x + b[i], 0) for i in range(m))
        without = 0.0
        for i in range(m):
            less = alpha * s[i] / math.sqrt(len(chosen)) * x[3]  # the direction has no last coordinate: 𝒮′ = 𝒮
            without += v[i] * max(W[i] @ x + b[i] - less, 0)
        assert found.whole[n] == pytest.approx(whole)
        assert found.background[n] == pytest.approx(without)
    assert found.rest(np.ones(5)) == pytest.approx(found.whole - found.rho - found.background)


def test_moments():
    """ρ has the variance τ/C² and is uncorrelated with B; the rest is small beside the whole."""
    draws = [decompose(LINEAR, DIRECTION, *first_layer(1000, seed), X, PARTITION) for seed in range(1000, 1600)]
    rho, background = np.array([each.rho for each in draws]), np.array([each.background for each in draws])
    variance = 0.01 / scale_of(LINEAR) ** 2
    assert rho.var() / variance == pytest.approx(1, abs=5 * math.sqrt(2 / 600))
    assert abs(rho.mean()) < 5 * math.sqrt(variance / 600)
    for n in range(5):
        assert abs(np.corrcoef(rho, background[:, n])[0, 1]) < 5 / math.sqrt(600)
    rest = np.array([each.rest(X @ DIRECTION) for each in draws])
    assert np.sqrt((rest**2).mean()) < 2 / math.sqrt(1000)


def test_a_run_takes_moments_of_many_layers():
    problem = IntervalFunction(Polynomial((0.0, 1.0)))
    narrow, wide = (
        perform([RunSpec(problem, RandomFirstLayers(m, draws=150, points=3), 1, 0, 100)])[0].scalars
        for m in (1000, 9000)
    )
    assert narrow["rest"] / wide["rest"] == pytest.approx(3, rel=0.2)  # √9
    # E n₁² = E Σ σ(⟨w, x⟩ + b)² = ½ (½ · 1 + ½ · 3)
    assert wide["whole"] == pytest.approx(1, rel=0.15)
    # φ_ε is a little below φ = x, whose mean square over −√3/2, 0, √3/2 is 1/2
    assert wide["signal"] == pytest.approx(math.sqrt(0.01 / 2) / scale_of(LINEAR), rel=0.25)
    assert wide["variance"] == pytest.approx(1, abs=5 * math.sqrt(2 / 149))
    assert wide["correlation"] < 5 / math.sqrt(150)
    with pytest.raises(InputError, match="problem must be an IntervalFunction"):
        RandomFirstLayers(10).check(TwoLayerTruth(UnitInputs(3)), 1, 1)


def test_bad_input():
    with pytest.raises(InputError, match=r"y must lie in \[−1, 1\], got 1\.5"):
        PARTITION.signs(np.array([1.5]), np.array([0.0]))


def test_a_layer_of_which_no_neuron_is_chosen():
    """The direction is another one that does not depend on W; the network's input is all background."""
    W, b, v = first_layer(3, 100)
    v = 5 + 0 * v  # outside of every set I(y)
    found = decompose(LINEAR, DIRECTION, W, b, v, X, PARTITION)
    assert found.rho == pytest.approx(math.sqrt(0.01 * 3) / scale_of(LINEAR) * W[0, -1])
    np.testing.assert_allclose(found.background, found.whole)
    np.testing.assert_allclose(found.rest(np.ones(len(X))), -found.rho)
