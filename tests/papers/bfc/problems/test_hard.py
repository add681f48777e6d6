"""The hard instances, against enumerated signs and written-out polynomials."""

import itertools
import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import even_target, sparse_target
from refusals import refused


def literal(dim, depth, alphas, weights, x):
    """G* by a loop over points and layers."""
    out = []
    for point in x.tolist():
        ground = [v * v - 1 for v in point]
        below, total = 0.0, 0.0
        for layer in range(2, depth + 1):
            linear = sum(w * v for w, v in zip(weights[layer, 0][0].tolist(), point, strict=True))
            squares = sum(w * v for w, v in zip(weights[layer, 1][0].tolist(), ground, strict=True))
            below = (linear + squares + (below if layer > 2 else 0.0)) ** 2
            total += alphas[layer - 2] * below
        out.append(total)
    return torch.tensor(out, dtype=torch.float64)


@pytest.mark.parametrize(("dim", "depth"), [(4, 2), (6, 3), (9, 4)])
def test_sparse_targets_are_what_they_say(dim, depth):
    alphas, p = (1.0, 0.3, 0.1)[: depth - 1], 2 ** (depth - 1)
    target = sparse_target(dim, depth, alphas, instance=5)
    x = target.sample(7, Stream(1)).x
    torch.testing.assert_close(target.target(x), literal(dim, depth, alphas, target.weights, x), rtol=1e-12, atol=0)
    for (_, j), w in target.weights.items():
        if j < 2:
            assert sorted(w[0].tolist())[-p:] == pytest.approx([p**-0.5] * p) and int((w != 0).sum()) == p
    assert target.weights[2, 0].tolist() != sparse_target(dim, depth, alphas, instance=6).weights[2, 0].tolist()


def test_chosen_places():
    target = sparse_target(6, 3, (1.0, 0.1), chosen=(5, 0, 2, 3))
    assert target.weights[2, 0][0].nonzero()[:, 0].tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize(("theorem", "depth"), list(itertools.product(("I.6", "I.7"), (2, 3))))
def test_the_highest_part_of_even_targets(theorem, depth):
    d, alphas = 3, (1.0, 0.2)[: depth - 1]
    target = even_target(d, depth, alphas, theorem)
    top = target.polynomials()[depth].squared_norm()
    assert top.degree == 2**depth
    x = target.sample(5, Stream(0)).x
    value = top.of_degree(2**depth)(x)[:, 0] * alphas[-1]
    if theorem == "I.6":
        p = 2 ** (depth - 2)
        wanted = alphas[-1] * x.pow(4).sum(1) ** p / (1 if depth == 2 else d ** (p / 2))
    else:
        p = 2 ** (depth - 1)
        wanted = alphas[-1] * x.square().sum(1) ** p / d ** (p / 2)
    torch.testing.assert_close(value, wanted, rtol=1e-12, atol=0)
    if theorem == "I.6" and depth == 3:  # the paper's (‖x‖₄⁴/d)^p is smaller by d^{p/2}
        assert float(value[0]) == pytest.approx(d * alphas[-1] * float((x[0].pow(4).sum() / d) ** 2))


def test_bad_input_is_told():
    refused(r"depth \(L\) must be from 2 to 7.*got 1", sparse_target, 4, 1, ())
    refused(r"dim \(d\) must be at least 2\^\(L−1\) = 8 for depth L = 4.*got 6", sparse_target, 6, 4, (1.0, 0.1, 0.01))
    refused("chosen must hold 2 different places from 0 to 3, got", sparse_target, 4, 2, (1.0,), chosen=(0, 4))
    refused("theorem must be 'I.6' or 'I.7', got 'I.8'", even_target, 3, 2, (1.0,), "I.8")
    refused("alphas must begin with 1 and decrease", even_target, 3, 3, (1.0, 2.0))
    assert math.isfinite(float(even_target(1, 2, (1.0,)).target(torch.ones(1, 1))[0]))
