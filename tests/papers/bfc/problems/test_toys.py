import json
import math

import pytest
import torch

from beyondkernels.core import Stream, build, canonical_json
from beyondkernels.papers.bfc.problems import FirstToy, SecondToy, UniformInputs, drawn_mixture, require_graph
from refusals import refused


@pytest.mark.parametrize("toy", [FirstToy(), FirstToy(5, 0.3), SecondToy(), SecondToy(6, 0.02, UniformInputs())])
def test_formulas(toy, literal):
    sample = toy.sample(20, Stream(0))
    for n, point in enumerate(sample.x.tolist()):
        x1, x2, x3 = point[:3]
        if isinstance(toy, FirstToy):
            low, features = x1**4 + 2 * x2**4, [x1**4 + 2 * x2**4 + x3**2]
        else:
            low, features = x1**4 + x2**4, [x1**4 + x3, x2**4 + point[3]]
        high = toy.alpha * sum(s**2 for s in features)
        assert float(sample.y[n, 0]) == pytest.approx(low + high, rel=1e-12)
        assert toy.features(sample.x)[3][n].tolist() == pytest.approx(features, rel=1e-12)
        assert [float(part[n]) for part in toy.contributions(sample.x).values()] == pytest.approx([low, high])
        assert literal(toy, point)[1] == pytest.approx(low + high, rel=1e-12)
    assert build(json.loads(canonical_json(toy))) == toy
    assert toy.second_moments == (0.0,) * toy.in_dim
    assert toy.widths == tuple(s.shape[1] for s in toy.features(sample.x).values())


def test_moments_of_the_first_toy(quadrature):
    """E x⁴ = 3, E x⁸ = 105: the mean of layer 2 is 9, its variance is (1 + 4)·(105 − 9)."""
    toy = FirstToy()
    assert toy.layer_means[2].value == pytest.approx(9)
    assert toy.layer_stds[2].value == pytest.approx(math.sqrt(5 * 96))
    # E(a + 2b + c)² for independent a, b = x⁴ and c = x²
    assert toy.layer_means[3].value == pytest.approx(105 + 4 * 105 + 3 + 2 * (2 * 9 + 3 + 2 * 3))
    x, p = quadrature(toy.inputs, toy.dim, 9)
    g = toy.target(x)
    mean = float(p @ g)
    assert toy.target_mean.value == pytest.approx(mean, rel=1e-10)
    assert toy.target_std.value == pytest.approx(math.sqrt(float(p @ (g - mean).square())), rel=1e-10)


def test_what_layer_two_may_learn_instead():
    x = Stream(0).normal(30, 4, dtype=torch.float64)
    first, second = FirstToy(4), SecondToy()
    wrong = first.overfitted_features(x).square().sum(1)
    torch.testing.assert_close(wrong, (x[:, 0] ** 2 + math.sqrt(0.1) * x[:, 2] ** 2) ** 2 + 2 * x[:, 1] ** 4)
    rotated = second.rotated_features(x)
    torch.testing.assert_close(rotated[:, 0] ** 2, (x[:, 0] ** 2 + 2 * x[:, 1] ** 2) ** 2 / 5)
    torch.testing.assert_close(rotated[:, 1] ** 2, (2 * x[:, 0] ** 2 - x[:, 1] ** 2) ** 2 / 5)
    torch.testing.assert_close(rotated.square().sum(1), second.outputs(x)[2].sum(1))
    torch.testing.assert_close(second.rotated_features(x, 0.0).square(), second.outputs(x)[2])


def test_toys_are_exempt_from_validation():
    refused("must not connect layer 3 to layer 1", require_graph, FirstToy().graph)
    require_graph(SecondToy().graph)
    for make, sentence in (
        (lambda: FirstToy(2), "dim must be at least 3"),
        (lambda: SecondToy(3), "dim must be at least 4"),
        (lambda: SecondToy(4, 0.0), "alpha must be positive"),
        (lambda: FirstToy(3, 0.1, drawn_mixture(4)), "roots must be 3 × 3"),
    ):
        refused(sentence, make)
