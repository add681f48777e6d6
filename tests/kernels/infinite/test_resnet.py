"""Infinite-width kernels of the three-layer ResNet: against scalar integrals and the mean over finite networks."""

import itertools
import math

import pytest
import torch

from beyondkernels.core import Stream, build, describe
from beyondkernels.kernels.infinite.fully_connected import infinite_conjugate, infinite_tangent
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent
from beyondkernels.networks import Parameterisation, ThreeLayerResNet
from limits import PAIRS, check_against_means
from naive import gaussian_mean, truncated_relu

F64 = torch.float64
SCALES = {
    "plain": Parameterisation(),
    "biases": Parameterisation(weight_variance=1.4, bias_variance=0.3, readout_variance=0.7),
    "standard": Parameterisation("standard", weight_variance=1.7, readout_variance=0.6, input_fan_in=2),
    "standard, biases": Parameterisation("standard", weight_variance=1.2, bias_variance=0.0),
}
MEANS = {
    "relu": lambda q: gaussian_mean(lambda z: max(z, 0.0), [0.0], 0.0, math.sqrt(q)),
    "erf": lambda _: 0.0,
    "quadratic": lambda q: q,
    "truncated_relu": lambda q: gaussian_mean(truncated_relu, [0.0, 1.0], 0.0, math.sqrt(q)),
}
WIDTH = 50


def points(n=4, in_dim=3):
    return Stream(1).child("x").normal(n, in_dim, dtype=F64)


def twin(x, y, name, scales, width):
    """The conjugate kernel and the parts of W, U and A in the tangent kernel, of two points."""
    pair, mean = PAIRS[name], MEANS[name]
    v, v_b, p = scales.weight_variance, scales.bias_variance or 0.0, scales.input_fan_in or len(x)
    xx, xy, yy = (sum(a * b for a, b in zip(s, t, strict=True)) for s, t in ((x, x), (x, y), (y, y)))
    q1x, c1, q1y = (v * inner / p + v_b for inner in (xx, xy, yy))
    S1, D1 = pair(q1x, q1y, c1)
    q2x, q2y = (v * pair(q, q, q)[0] + v_b for q in (q1x, q1y))
    S2, D2 = pair(q2x, q2y, v * S1 + v_b)
    # E (h₁ + h₂)(h₁′ + h₂′), its four terms one by one
    H = S1 + S2 + mean(q1x) * mean(q2y) + mean(q2x) * mean(q1y)
    v_A = scales.readout_variance
    if scales.kind == "ntk":
        W, U, A = v * xy / p + v_b, v * S1 + v_b, v_A * H
    else:
        bias = 0.0 if scales.bias_variance is None else 1.0
        W, U, A = xy + bias, width * S1 + bias, width * H
    # the two ways from h₁ to the output: past the second layer, and through it
    return v_A * H, {"W": v_A * W * (D1 + D1 * v * D2), "U": v_A * U * D2, "A": A}


@pytest.mark.parametrize("name", list(MEANS))
@pytest.mark.parametrize("kind", list(SCALES))
def test_every_entry_is_the_sum_over_trained_matrices(name, kind):
    scales, x = SCALES[kind], points()
    width = WIDTH if scales.kind == "standard" else None
    choices = {"all": "WUA", "hidden": "WU", "last": "A", ("W",): "W", ("U",): "U", ("A", "W"): "WA"}
    tangent = {t: InfiniteResNetTangent(name, scales, t, width)(x) for t in choices}
    conjugate = InfiniteResNetConjugate(name, scales)(x)
    for i, j in itertools.combinations(range(4), 2):
        K, parts = twin(x[i].tolist(), x[j].tolist(), name, scales, WIDTH)
        assert conjugate[i, j].item() == pytest.approx(K, rel=1e-9, abs=1e-9)
        for chosen, letters in choices.items():
            theta = sum(parts[letter] for letter in letters)
            assert tangent[chosen][i, j].item() == pytest.approx(theta, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "kind", "bias"),
    [("relu", "ntk", None), ("relu", "standard", 0.3), ("erf", "ntk", 0.2), ("truncated_relu", "standard", 0.3)],
)
def test_the_mean_over_networks_tends_to_the_kernel(name, kind, bias):
    scales = Parameterisation(kind, weight_variance=2.0, bias_variance=bias, readout_variance=0.5)
    networks = [ThreeLayerResNet(width, "full", name, scales) for width in (32, 192)]
    groups = {"all": "WUA", "hidden": "WU", "last": "A", "W": "W", "U": "U"}
    check_against_means(networks, (150, 250), points(), groups)


def test_known_values_of_relu_at_equal_unit_points():
    scales = Parameterisation(input_fan_in=1)
    x = torch.eye(3, dtype=F64)
    # S₁ = S₂ = 1, μ₁ = μ₂ = 1/√π for pre-activations of variance 2
    assert InfiniteResNetConjugate(parameterisation=scales)(x)[0, 0].item() == pytest.approx(2 + 2 / math.pi)
    # W: 2 · ½ · (1 + 2 · ½) = 2, U: ½ · 2 = 1
    assert InfiniteResNetTangent(parameterisation=scales)(x)[0, 0].item() == pytest.approx(5 + 2 / math.pi)


def test_the_error_covers_what_a_coarse_tolerance_misses():
    x = points(6)
    coarse, fine = (InfiniteResNetTangent("truncated_relu", SCALES["biases"], tolerance=t) for t in (1e-3, 1e-11))
    assert 1e-8 < (coarse(x) - fine(x)).abs().max() <= coarse.error(x) < 0.1
    assert fine.error(x) < 1e-8
    assert InfiniteResNetTangent().error(x) < 1e-11


def test_networks_name_their_kernels_and_kernels_say_what_they_are():
    scales = SCALES["standard"]
    network = ThreeLayerResNet(WIDTH, "full", "erf", scales)
    assert infinite_conjugate(network) == InfiniteResNetConjugate("erf", scales)
    assert infinite_tangent(network, "hidden") == InfiniteResNetTangent("erf", scales, "hidden", WIDTH)
    assert infinite_tangent(ThreeLayerResNet(WIDTH), "U") == InfiniteResNetTangent(group=("U",))
    assert InfiniteResNetTangent(group=(1, "U")) == InfiniteResNetTangent(group=("U", "W"))
    tangent = InfiniteResNetTangent("erf", scales, ("U", "W"), WIDTH)
    assert build(describe(tangent)) == tangent
