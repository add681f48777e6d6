"""Infinite-width kernels: against sums over layers with scalar integrals, and against the mean over finite networks."""

import itertools
import math
from typing import Any

import pytest
import torch

from beyondkernels.activations import Polynomial, Sine, SmoothedReLU, activation
from beyondkernels.core import Stream
from beyondkernels.kernels.infinite.base import TILE
from beyondkernels.kernels.infinite.fully_connected import (
    InfiniteConjugate,
    InfiniteTangent,
    infinite_conjugate,
    infinite_tangent,
)
from beyondkernels.networks import FullyConnected, Parameterisation
from limits import PAIRS, check_against_means, erf_pair, layer_grams

F64 = torch.float64
SCALES = {
    "plain": Parameterisation(),
    "biases": Parameterisation(weight_variance=1.4, bias_variance=0.3, readout_variance=0.7, readout_bias_variance=0.2),
    "standard": Parameterisation("standard", weight_variance=1.7, readout_variance=0.6, input_fan_in=2),
    "standard, biases": Parameterisation("standard", weight_variance=1.2, bias_variance=0.0, readout_bias_variance=0.4),
}
WIDTH = 50
ONE = torch.ones(1, 1, dtype=F64)


def points(n=4, in_dim=3, seed=1):
    return Stream(seed).child("x").normal(n, in_dim, dtype=F64)


# ------------------------------------------------------------------------------------------------ the literal twin


def twin(x, y, depth, pair, scales, trained, width):
    """K and Θ of two points: the covariances layer by layer, then one product over layers for each trained one."""

    def v(layer):
        return scales.readout_variance if layer == depth else scales.weight_variance

    def v_b(layer):
        return scales.readout_bias_variance if layer == depth else scales.bias_variance

    p = scales.input_fan_in or len(x)
    mean = {0: [sum(a * b for a, b in zip(s, t, strict=True)) / p for s, t in ((x, x), (x, y), (y, y))]}
    slope = {}
    for layer in range(1, depth):
        qx, c, qy = (v(layer) * h + (v_b(layer) or 0.0) for h in mean[layer - 1])
        mean[layer] = [pair(qx, qx, qx)[0], pair(qx, qy, c)[0], pair(qy, qy, qy)[0]]
        slope[layer] = pair(qx, qy, c)[1]
    K = v(depth) * mean[depth - 1][1] + (v_b(depth) or 0.0)
    theta = 0.0
    for layer in trained:
        if scales.kind == "ntk":
            own = v(layer) * mean[layer - 1][1] + (v_b(layer) or 0.0)
        else:
            inputs = p if layer == 1 else width
            own = inputs * mean[layer - 1][1] + (0.0 if v_b(layer) is None else 1.0)
        theta += own * math.prod(v(above + 1) * slope[above] for above in range(layer, depth))
    return K, theta


@pytest.mark.parametrize("name", list(PAIRS))
@pytest.mark.parametrize("kind", list(SCALES))
def test_every_entry_is_the_sum_over_trained_layers(name, kind):
    scales, x = SCALES[kind], points()
    width = WIDTH if scales.kind == "standard" else None
    choices = {"all": (1, 2, 3), "hidden": (1, 2), "last": (3,), (2,): (2,), (3, 1): (1, 3)}
    tangent = {t: InfiniteTangent(3, name, scales, t, width)(x) for t in choices}
    conjugate = InfiniteConjugate(3, name, scales)(x)
    for i, j in itertools.combinations(range(4), 2):
        for chosen, layers in choices.items():
            K, theta = twin(x[i].tolist(), x[j].tolist(), 3, PAIRS[name], scales, layers, WIDTH)
            assert conjugate[i, j].item() == pytest.approx(K, rel=1e-9, abs=1e-9)
            assert tangent[chosen][i, j].item() == pytest.approx(theta, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("kind", list(SCALES))
def test_every_depth(depth, kind):
    scales, x = SCALES[kind], points()
    kernel = InfiniteTangent(depth, "erf", scales, width=WIDTH)
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        K, theta = twin(x[i].tolist(), x[j].tolist(), depth, erf_pair, scales, range(1, depth + 1), WIDTH)
        assert InfiniteConjugate(depth, "erf", scales)(x)[i, j].item() == pytest.approx(K, rel=1e-12)
        assert kernel(x)[i, j].item() == pytest.approx(theta, rel=1e-12)


# ------------------------------------------------------------------------------------------------ finite networks


@pytest.mark.parametrize(
    ("name", "kind", "bias"),
    [
        ("relu", "ntk", None),
        ("relu", "standard", 0.3),
        ("erf", "ntk", 0.2),
        ("truncated_relu", "standard", None),
        ("truncated_relu", "ntk", 0.3),
    ],
)
def test_the_mean_over_networks_tends_to_the_kernel(name, kind, bias):
    scales = Parameterisation(
        kind, weight_variance=2.0, bias_variance=bias, readout_variance=0.5, readout_bias_variance=bias
    )
    networks = [FullyConnected(width, 3, name, scales) for width in (32, 192)]
    groups = {
        "all": ("layer1", "layer2", "output"),
        "hidden": ("layer1", "layer2"),
        "last": ("output",),
        "layer1": ("layer1",),
        "layer2": ("layer2",),
    }
    check_against_means(networks, (150, 250), points(), groups)


@pytest.mark.parametrize("kind", ["ntk", "standard"])
@pytest.mark.parametrize(
    "sigma",
    ["quadratic", "gelu", Polynomial((0.2, -0.5, 0.1, 0.05)), Sine(frequency=1.7, amplitude=0.8), SmoothedReLU(0.4)],
    ids=str,
)
def test_two_layers_have_the_kernel_as_their_mean_at_every_width(sigma, kind):
    network = FullyConnected(1000, 2, sigma, Parameterisation(kind, weight_variance=1.0, bias_variance=0.5))
    x, draws = points(), 50
    layers = layer_grams(network, x, draws)
    for group, gram in (*layers.items(), ("all", layers["layer1"] + layers["output"])):
        error = gram.std(0) / draws**0.5
        limit = infinite_tangent(network, group)(x)
        assert (error / limit.abs().max()).max() < 0.03
        assert ((gram.mean(0) - limit).abs() <= 5 * error).all()


def test_the_conjugate_kernel_is_the_covariance_of_the_outputs():
    scales = Parameterisation(bias_variance=0.2, readout_variance=0.5, readout_bias_variance=0.3)
    network, x, draws = FullyConnected(256, 2, "erf", scales), points(), 40
    covariances = []
    for i in range(draws):
        params, _ = network.init(3, 200, Stream(0).child(str(i)))
        out, _ = network.apply({name: value.to(F64) for name, value in params.items()}, {}, x)
        covariances.append(out @ out.T / 200)
    error = torch.stack(covariances).std(0) / draws**0.5
    limit = infinite_conjugate(network)(x)
    assert error.max() < 0.02
    assert ((torch.stack(covariances).mean(0) - limit).abs() <= 5 * error).all()


# ------------------------------------------------------------------------------------------------ known values


def test_two_layers_of_relu_at_equal_points_and_at_right_angles():
    x = torch.eye(2, dtype=F64)
    scales = Parameterisation(input_fan_in=1)
    gram = InfiniteTangent(2, parameterisation=scales)(x)
    assert gram.tolist() == [[2.0, pytest.approx(1 / math.pi, rel=1e-13)], [pytest.approx(1 / math.pi, rel=1e-13), 2.0]]
    assert InfiniteTangent(2, parameterisation=scales)(x, x)[0, 0].item() == pytest.approx(2, abs=1e-7)
    assert InfiniteConjugate(2, parameterisation=scales)(-x[:1], x[:1]).item() == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("name", ["relu", "erf", "tanh", "truncated_relu"])
@pytest.mark.parametrize("kind", list(SCALES))
def test_the_point_zero_is_a_point(name, kind):
    x = torch.cat([torch.zeros(2, 3, dtype=F64), points(3)])
    for kernel in (InfiniteTangent(3, name, SCALES[kind], width=WIDTH), InfiniteConjugate(3, name, SCALES[kind])):
        assert torch.isfinite(kernel(x)).all()
        torch.testing.assert_close(kernel(x), kernel(x, x), rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------------------------ tiles and errors


@pytest.mark.parametrize("kernel", [InfiniteTangent(3), InfiniteConjugate(3, "erf", SCALES["biases"])])
def test_tiles_are_seamless(kernel):
    n = 2 * TILE + 17
    x = points(n, 5)
    gram = kernel(x)
    assert torch.equal(gram, gram.T)
    assert torch.equal(gram.diagonal(), kernel.diagonal(x))
    i, j = torch.arange(0, n, 7), torch.arange(3, n, 5)
    off = i[:, None] != j
    torch.testing.assert_close(kernel(x[i], x[j])[off], gram[i][:, j][off], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(kernel(x, x[:3])[3:], gram[3:, :3], rtol=1e-12, atol=1e-12)
    single = [[kernel(x[a : a + 1], x[b : b + 1]).item() for b in (1, n - 1)] for a in (0, TILE)]
    torch.testing.assert_close(torch.tensor(single, dtype=F64), gram[[0, TILE]][:, [1, n - 1]], rtol=1e-12, atol=1e-12)


def test_the_error_covers_what_a_coarse_tolerance_misses():
    x = points(6)
    for name in ("tanh", "truncated_relu"):
        coarse, fine = (InfiniteTangent(4, name, SCALES["biases"], tolerance=t) for t in (1e-3, 1e-12))
        missed = (coarse(x) - fine(x)).abs().max().item()
        assert 1e-8 < missed <= coarse.error(x) < 1
        assert fine.error(x) < 1e-8
        assert (coarse(x[:3], x[3:]) - fine(x[:3], x[3:])).abs().max() <= coarse.error(x[:3], x[3:]) <= coarse.error(x)


@pytest.mark.parametrize("angle", [1e-7, 1e-6, 1e-5, 1e-4])
def test_the_error_of_closed_forms_knows_points_that_almost_coincide(angle):
    kernel = InfiniteTangent(2, parameterisation=Parameterisation(input_fan_in=1))
    x = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=F64)
    away = math.pi - angle
    exact = (math.sin(angle) + 2 * away * math.cos(angle)) / math.pi
    missed = abs(kernel(x)[0, 1].item() - exact)
    assert missed <= kernel.error(x) < 1e-6


# ------------------------------------------------------------------------------------------------ words


def test_networks_name_their_kernels():
    scales = SCALES["standard"]
    network = FullyConnected(WIDTH, 3, "erf", scales)
    assert infinite_conjugate(network) == InfiniteConjugate(3, "erf", scales)
    assert infinite_tangent(network) == InfiniteTangent(3, "erf", scales, width=WIDTH)
    assert infinite_tangent(network, (2, 1)) == InfiniteTangent(3, "erf", scales, (1, 2), WIDTH)
    assert infinite_tangent(network, "output") == InfiniteTangent(3, "erf", scales, (3,), WIDTH)
    assert infinite_tangent(network, group=("output", "layer1")) == InfiniteTangent(3, "erf", scales, (1, 3), WIDTH)
    assert infinite_tangent(network, group="hidden") == InfiniteTangent(3, "erf", scales, "hidden", WIDTH)
    for group in network.groups():
        assert infinite_tangent(network, group=group) == InfiniteTangent(3, "erf", scales, group, WIDTH)
    assert infinite_tangent(FullyConnected(WIDTH, 2)) == InfiniteTangent(2)


@pytest.mark.parametrize("name", ["relu", "erf", "quadratic", "tanh"])
@pytest.mark.parametrize("kind", list(SCALES))
def test_layers_trained_alone_add_up(name, kind):
    scales, x = SCALES[kind], points(3)
    close: Any = {"rtol": 1e-12, "atol": 1e-12 if activation(name).closed_form else 1e-8}
    single = [InfiniteTangent(4, name, scales, (layer,), WIDTH)(x) for layer in (1, 2, 3, 4)]
    torch.testing.assert_close(sum(single), InfiniteTangent(4, name, scales, "all", WIDTH)(x), **close)
    torch.testing.assert_close(sum(single[:3]), InfiniteTangent(4, name, scales, "hidden", WIDTH)(x), **close)
    if scales.kind == "ntk":
        torch.testing.assert_close(single[3], InfiniteConjugate(4, name, scales)(x), rtol=1e-13, atol=1e-13)
