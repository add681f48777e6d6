"""The learners: the paper's formulas neuron by neuron, and the moments of their initialisations."""

import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.overparam.networks import ThreeLayerLearner, TwoLayerLearner


def relu(z: float) -> float:
    return max(z, 0.0)


def test_two_layers_neuron_by_neuron():
    network = TwoLayerLearner(width=7, output_std=0.3)
    params, buffers = network.init(4, 2, Stream(0))
    x = Stream(1).normal(3, 4)
    W, b, a = params["W"].tolist(), buffers["b1"].tolist(), buffers["a"].tolist()
    for row, out in zip(x.tolist(), network.apply(params, buffers, x)[0].tolist(), strict=True):
        z = [sum(w * p for w, p in zip(W[i], row, strict=True)) + b[i] for i in range(7)]
        assert out == pytest.approx([sum(a[r][i] * relu(z[i]) for i in range(7)) for r in range(2)], abs=1e-5)


def test_three_layers_neuron_by_neuron():
    network = ThreeLayerLearner(width=5, second_width=6)
    params, buffers = network.init(4, 2, Stream(0))
    x = Stream(1).normal(3, 4)
    W, V = params["W"].tolist(), params["V"].tolist()
    b1, b2, a = (buffers[name].tolist() for name in ("b1", "b2", "a"))
    for row, out in zip(x.tolist(), network.apply(params, buffers, x)[0].tolist(), strict=True):
        first = [relu(sum(w * p for w, p in zip(W[i], row, strict=True)) + b1[i]) for i in range(5)]
        second = [relu(sum(v * h for v, h in zip(V[i], first, strict=True)) + b2[i]) for i in range(6)]
        assert out == pytest.approx([sum(a[r][i] * second[i] for i in range(6)) for r in range(2)], abs=1e-5)


@pytest.mark.parametrize(
    ("network", "layers"),
    [
        (TwoLayerLearner(20_000, 0.2), {"W": 20_000, "b1": 20_000, "a": 0.2}),
        (ThreeLayerLearner(1500, 0.1, second_width=900), {"W": 1500, "V": 900, "b1": 1500, "b2": 900, "a": 0.1}),
    ],
)
def test_initialisations(network, layers):
    """Standard deviations within six standard errors; half of the biases are zero."""
    params, buffers = network.init(5, 3, Stream(2))
    for name, number in layers.items():
        values = (params | buffers)[name].double().flatten()
        if name.startswith("b"):
            present = values[values != 0]
            n = len(values)
            assert abs(len(present) - n / 2) < 6 * math.sqrt(n) / 2
            values, std = present, math.sqrt(2 / number)
        else:
            std = number if name == "a" else math.sqrt(1 / number)
        assert abs(float(values.std()) / std - 1) < 6 / math.sqrt(2 * len(values))
        assert abs(float(values.mean())) < 6 * std / math.sqrt(len(values))


def test_intermediates_are_the_arguments_of_the_activation():
    network = ThreeLayerLearner(5)
    params, buffers = network.init(4, 1, Stream(0))
    x = Stream(1).normal(3, 4)
    seen = network.intermediates(params, buffers, x)
    first = x @ params["W"].T + buffers["b1"]
    torch.testing.assert_close(seen["W"][0], first)
    torch.testing.assert_close(seen["V"][0], torch.relu(first) @ params["V"].T + buffers["b2"])
