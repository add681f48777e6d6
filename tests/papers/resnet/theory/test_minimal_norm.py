"""The least weights of a parity, against enumerations, searches and integrals."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from beyondkernels.core import Stream
from beyondkernels.papers.resnet.problems import Monomial
from beyondkernels.papers.resnet.theory.minimal_norm import least_norm, minimal_network, parity_norm
from refusals import refused

F64 = torch.float64


def correlation(w: list[float], degree: int) -> float:
    """E[σ(w·x) y] by going through all points; the first coordinates are relevant."""
    d = len(w)
    total = 0.0
    for signs in itertools.product((1, -1), repeat=d):
        u = math.fsum(weight * sign for weight, sign in zip(w, signs, strict=True)) / math.sqrt(d)
        total += max(u, 0.0) * math.prod(signs[:degree])
    return total / 2**d


def network(W: torch.Tensor, a: torch.Tensor):
    return lambda x: torch.relu(x @ W.T) @ a


@pytest.mark.parametrize(("degree", "constant"), [(2, 2 * math.sqrt(2)), (4, 8.0), (6, math.sqrt(6) * 16 / 3)])
def test_constants(degree, constant):
    assert parity_norm(degree) == pytest.approx(constant, rel=1e-14)


@pytest.mark.parametrize("degree", [2, 4, 6])
def test_equal_weights_reach_the_bound(degree):
    w = [1 / math.sqrt(degree)] * degree
    assert abs(correlation(w, degree)) == pytest.approx(1 / (parity_norm(degree) * math.sqrt(degree)), rel=1e-12)


@pytest.mark.parametrize(("degree", "dim"), [(2, 2), (2, 5), (4, 4), (4, 7), (6, 6), (6, 8)])
def test_no_neuron_correlates_more(degree, dim):
    """Random directions, near ones to the best, and sparse ones."""
    bound = 1 / (parity_norm(degree) * math.sqrt(dim))
    best = torch.zeros(1, dim, dtype=F64)
    best[:, :degree] = degree**-0.5
    tried = torch.cat(
        [
            Stream(0).normal(300, dim, dtype=F64),
            best + 0.05 * Stream(1).normal(300, dim, dtype=F64),
            Stream(2).normal(300, dim, dtype=F64) ** 5,
            best,
        ]
    )
    tried /= tried.norm(dim=1, keepdim=True)
    x = torch.tensor(list(itertools.product((1.0, -1.0), repeat=dim)), dtype=F64) / math.sqrt(dim)
    y = (x * math.sqrt(dim))[:, :degree].prod(1)
    values = (torch.relu(tried @ x.T) * y).mean(1).abs()
    assert values[:-1].max() <= bound * (1 + 1e-12)
    assert values[-1] == pytest.approx(bound, rel=1e-12)
    assert values[:5].tolist() == pytest.approx([abs(correlation(w, degree)) for w in tried[:5].tolist()], abs=1e-14)


def test_the_integral_of_the_proof():
    w = [0.3, -0.5, 0.2, 0.6, 0.4, 0.25, 0.15, 0.1]

    def integrand(t):
        return np.prod(np.sin(t * np.array(w[:6]))) * np.prod(np.cos(t * np.array(w[6:]))) / t**2

    pieces = [quad(integrand, 20 * i, 20 * (i + 1), limit=200)[0] for i in range(1, 400)]
    whole = quad(integrand, 1e-9, 20, limit=200)[0] + math.fsum(pieces)
    assert correlation(w, 6) == pytest.approx(whole / (math.pi * math.sqrt(8)), abs=1e-5)


@pytest.mark.parametrize("degree", [2, 4, 6])
@pytest.mark.parametrize("fit", [1.0, 0.6])
def test_the_least_network(degree, fit):
    W, a = minimal_network(degree, fit)
    m = 2**degree
    assert W.shape == (m, degree)
    assert sorted(set((a * math.sqrt(m)).round(decimals=12).tolist())) == [-1.0, 1.0]
    assert a.sum() == pytest.approx(0, abs=1e-12)
    problem = Monomial(degree, degree)
    for signs in itertools.product((1, -1), repeat=degree):
        x = [sign / math.sqrt(degree) for sign in signs]
        hidden = [max(0.0, math.fsum(w * c for w, c in zip(row, x, strict=True))) for row in W.tolist()]
        f = math.fsum(h * readout for h, readout in zip(hidden, a.tolist(), strict=True))
        assert f == pytest.approx(fit * math.prod(signs), abs=1e-11)
    risk = problem.risk(network(W, a), dtype=F64)
    assert risk.exact
    assert risk.value == pytest.approx((1 - fit) ** 2, abs=1e-12)
    assert float(W.norm()) / math.sqrt(degree) == pytest.approx(least_norm(risk.value, degree), rel=1e-6)


@pytest.mark.parametrize("dim", [8, 9, 12])
def test_padding_changes_neither_the_function_nor_the_norm(dim):
    """Exactly, by enumeration; of a network that is no minimum either."""
    small = Monomial(6)
    W = Stream(4).normal(10, 6, dtype=F64)
    a = torch.tensor([1.0, -1.0] * 5, dtype=F64) / math.sqrt(10)
    for weights, readout in ((W, a), minimal_network(6, 0.7)):
        problem = Monomial(dim, instance=3)
        padded = problem.padded(weights)
        risk = problem.risk(network(padded, readout), dtype=F64)
        assert risk.exact
        assert risk.value == pytest.approx(small.risk(network(weights, readout), dtype=F64).value, abs=1e-11)
        assert padded.norm() / math.sqrt(dim) == pytest.approx(float(weights.norm()) / math.sqrt(6), rel=1e-12)


def test_odd_parities_do_not_correlate():
    assert correlation([0.4, -0.2, 0.7], 3) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("fit", [-0.5, -1e-9, math.inf, math.nan])
def test_fits_outside(fit):
    """Of a negative one the sign would be lost: negating W permutes its rows."""
    refused(rf"^fit must be at least 0 and finite, got {fit}; for the opposite parity", minimal_network, 4, fit)
    W, a = minimal_network(4)
    x = torch.tensor(list(itertools.product((0.5, -0.5), repeat=4)), dtype=F64)
    assert network(-W, a)(x).tolist() == pytest.approx(network(W, a)(x).tolist(), abs=1e-12)
    assert network(W, -a)(x).tolist() == pytest.approx((-16 * x.prod(1)).tolist(), abs=1e-12)
    assert float(minimal_network(4, 0)[0].norm()) == 0


def test_no_network_found_by_descent_is_smaller():
    """Gradient descent on all points with weight decay stays above the bound, and comes near it."""
    x = torch.tensor(list(itertools.product((1.0, -1.0), repeat=4)), dtype=F64) / 2
    y = (2 * x).prod(1)
    a = torch.tensor([1.0, -1.0] * 30, dtype=F64) / math.sqrt(60)
    W = Stream(5).normal(60, 4, dtype=F64) * 0.3
    for _ in range(6000):
        h = x @ W.T
        residual = torch.relu(h) @ a - y
        gradient = 2 / 16 * ((residual[:, None] * (h > 0)) * a).T @ x
        W = W - 2.0 * (gradient + 1e-3 * W)
    risk = float((torch.relu(x @ W.T) @ a - y).square().mean())
    ratio = float(W.norm()) / 2 / least_norm(risk, 4)
    assert risk < 0.02  # decay leaves (1 − 1/(1 + 64·4·λ/2))² = 0.013 at least
    assert 1 <= ratio < 1.25
