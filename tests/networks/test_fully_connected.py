"""Fully connected networks against loops over neurons."""

import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import FiniteTangent, infinite_tangent
from beyondkernels.networks import FullyConnected, Parameterisation
from refusals import refused

F64 = torch.float64


def by_loops(params, point, depth, sigma, parameterisation):
    """f(x) for one point: every neuron a sum, every scale written out."""
    h, scales = point, parameterisation
    for layer in range(1, depth + 1):
        last = layer == depth
        name = "output" if last else f"layer{layer}"
        w, b = params[f"{name}.weight"].tolist(), params.get(f"{name}.bias")
        v = scales.readout_variance if last else scales.weight_variance
        p = scales.input_fan_in if layer == 1 and scales.input_fan_in else len(h)
        bias = scales.readout_bias_variance if last else scales.bias_variance
        ntk = scales.kind == "ntk"
        z = []
        for i, row in enumerate(w):
            total = math.fsum(weight * value for weight, value in zip(row, h, strict=True))
            total *= math.sqrt(v / p) if ntk else 1.0
            if b is not None:
                total += b[i].item() * (math.sqrt(bias) if ntk else 1.0)
            z.append(total)
        h = z if last else [sigma(value) for value in z]
    return h


@pytest.mark.parametrize("kind", ["ntk", "standard"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("depth", "width", "input_fan_in"), [(2, 5, None), (3, 4, 1), (5, 3, 2), (3, 1, None)])
@pytest.mark.parametrize("out_dim", [1, 3])
@pytest.mark.parametrize("name", ["relu", "truncated_relu"])
def test_against_loops(kind, biased, depth, width, input_fan_in, out_dim, name):
    extra = {"bias_variance": 0.3, "readout_bias_variance": 0.2} if biased else {}
    scales = Parameterisation(kind, 1.7, readout_variance=0.6, input_fan_in=input_fan_in, **extra)
    network = FullyConnected(width, depth, name, scales)
    params, buffers = network.init(4, out_dim, Stream(2))
    params = {key: value.double() for key, value in params.items()}
    assert len(params) == depth * (2 if biased else 1)
    assert buffers == {}
    x = Stream(3).normal(6, 4, dtype=F64)
    sigma = {"relu": lambda z: max(z, 0.0), "truncated_relu": lambda z: min(1.0, max(z, 0.0))}[name]
    expected = [by_loops(params, row, depth, sigma, scales) for row in x.tolist()]
    out, after = network.apply(params, buffers, x)
    assert torch.allclose(out, torch.tensor(expected, dtype=F64), rtol=0, atol=1e-13)
    assert after is buffers


def test_groups():
    plain = FullyConnected(3, depth=3)
    assert plain.groups() == {
        "hidden": ("layer1.weight", "layer2.weight"),
        "last": ("output.weight",),
        "layer1": ("layer1.weight",),
        "layer2": ("layer2.weight",),
        "output": ("output.weight",),
    }
    for bias, readout_bias in ((0.1, None), (None, 0.1), (0.1, 0.1)):
        scales = Parameterisation(bias_variance=bias, readout_bias_variance=readout_bias)
        network = FullyConnected(3, depth=2, parameterisation=scales)
        params, _ = network.init(4, 2, Stream(0))
        assert ("layer1.bias" in params, "output.bias" in params) == (bias is not None, readout_bias is not None)
        assert network.trained("hidden", params) + network.trained("last", params) == tuple(params)
        assert network.trained("layer1", params) == network.trained("hidden", params)
    refused(r"^unknown parameter group 'layer3', did you mean layer\d or layer\d", plain.trained, "layer3", {})


def test_depth_and_width_change_the_start_of_no_other_layer():
    """Layers are drawn from streams of their own name."""
    shallow, _ = FullyConnected(4, depth=2).init(5, 2, Stream(0))
    deep, _ = FullyConnected(4, depth=4).init(5, 2, Stream(0))
    for name, value in shallow.items():
        assert torch.equal(deep[name], value)


@pytest.mark.parametrize(("kind", "size"), [("ntk", 1.0), ("standard", math.sqrt(0.6 / 8))])
def test_signs_are_half_of_each_in_every_output(kind, size):
    scales = Parameterisation(kind, readout_variance=0.6, readout_bias_variance=0.2)
    network = FullyConnected(8, depth=3, parameterisation=scales, readout="signs")
    params, buffers = network.init(4, 50, Stream(3))
    plain, _ = FullyConnected(8, depth=3, parameterisation=scales).init(4, 50, Stream(3))
    assert buffers == {}
    assert {name for name in params if not torch.equal(params[name], plain[name])} == {"output.weight"}
    rows = params["output.weight"].tolist()
    for row in rows:
        assert [abs(weight) for weight in row] == pytest.approx([size] * 8, rel=1e-6)
        assert sum(weight > 0 for weight in row) == 4
    # the arrangement differs between outputs: 70 are equally likely
    assert len({tuple(weight > 0 for weight in row) for row in rows}) > 20
    x = Stream(5).normal(3, 4)
    out, _ = network.apply(params, buffers, x)
    expected = by_loops(params, x[0].tolist(), 3, lambda z: max(z, 0.0), scales)
    assert out[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_every_arrangement_of_signs_is_as_likely():
    network = FullyConnected(4, depth=2, readout="signs")
    params, _ = network.init(2, 6000, Stream(1))
    counts = torch.unique(params["output.weight"] > 0, dim=0, return_counts=True)[1]
    assert len(counts) == 6
    # a count is binomial, 6000 draws with probability 1/6: 5 standard deviations
    assert (counts - 1000).abs().max() < 5 * math.sqrt(6000 / 6 * 5 / 6)


def test_balanced_signs_take_the_mean_of_the_neurons_out():
    """The covariance of outputs at the start: E[σσ′] with normal weights, Cov(σ, σ′) with balanced signs."""
    x = torch.tensor([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    scales, m, n = Parameterisation("standard", 1.0, input_fan_in=1), 100, 20_000
    u = Stream(8).normal(400_000, 3) @ x.T
    h = torch.relu(u).double()
    raw = float((h[:, 0] * h[:, 1]).mean())
    normal = FullyConnected(m, depth=2, parameterisation=scales)
    signs = FullyConnected(m, depth=2, parameterisation=scales, readout="signs")
    for network, expected in ((normal, raw), (signs, raw - float(h[:, 0].mean() * h[:, 1].mean()))):
        params, _ = network.init(3, n, Stream(7))
        W = Stream(9).normal(n, m, 3)  # fresh hidden weights for every output, so that outputs are independent
        out = (torch.relu(torch.einsum("njd,id->nij", W, x)) * params["output.weight"][:, None]).sum(-1).double()
        products = out[:, 0] * out[:, 1]
        error = float(products.std()) / math.sqrt(n)
        assert abs(float(products.mean()) - expected) < 5 * error
    assert raw - expected > 20 * error  # the two are far apart


def test_the_tangent_kernel_does_not_mind_the_signs():
    x = torch.tensor([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    scales = Parameterisation(input_fan_in=1)
    limit = infinite_tangent(FullyConnected(6, depth=3, parameterisation=scales))(x)
    for readout in ("normal", "signs"):
        network = FullyConnected(300, depth=3, parameterisation=scales, readout=readout)
        assert infinite_tangent(network) == infinite_tangent(FullyConnected(300, depth=3, parameterisation=scales))
        found = torch.stack([FiniteTangent(network, seed)(x) for seed in range(20)])
        error = found.std(0) / math.sqrt(20)
        assert ((found.mean(0) - limit).abs() < 5 * error).all()
        assert error.max() < 0.05 * limit.max()
