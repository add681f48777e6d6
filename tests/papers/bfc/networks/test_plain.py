"""The learner of squares against loops over neurons, and what it does when layers are missing."""

import math

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.networks import NetworkModule
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from refusals import refused

GRAPH, WIDTHS, ALPHAS = ((1,), (2, 0), (3, 1, 0)), (3, 2, 1), (1.0, 0.3, 0.05)
NETWORK = QuadraticDenseNet(GRAPH, WIDTHS, ALPHAS, second_moments=(0.5, 1.0, 1.5, 0.25))
D = 4


def drawn(network=NETWORK, seed=0, in_dim=D):
    return network.init(in_dim, 1, Stream(seed))[0]


def literal(params, x, moments, alphas=ALPHAS):
    """S_ℓ and α_ℓ Sum(G_ℓ) of one point, number by number."""
    below = {0: list(x), 1: [value**2 - mean for value, mean in zip(x, moments, strict=True)]}
    hidden, added = {}, {}
    for layer, sources in enumerate(GRAPH, 2):
        S = [
            sum(float(params[f"M{layer}.{j}"][i, a]) * v for j in sources for a, v in enumerate(below[j]))
            for i in range(WIDTHS[layer - 2])
        ]
        hidden[layer], below[layer] = S, [s**2 for s in S]
        added[layer] = alphas[layer - 2] * sum(below[layer])
    return hidden, added


def test_against_loops():
    params, x = drawn(), Stream(1).normal(5, D, dtype=torch.float64)
    hidden, added = NETWORK.hidden(params, {}, x), NETWORK.contributions(params, {}, x)
    out = NETWORK.apply(params, {}, x)[0]
    assert hidden.keys() == added.keys() == {2, 3, 4}
    for i, point in enumerate(x.tolist()):
        S, parts = literal(params, point, (0.5, 1.0, 1.5, 0.25))
        for layer in (2, 3, 4):
            assert hidden[layer][i].tolist() == pytest.approx(S[layer], rel=1e-12)
            assert added[layer][i].item() == pytest.approx(parts[layer], rel=1e-12)
        assert out[i].item() == pytest.approx(sum(parts.values()), rel=1e-12)
    sums = NETWORK.features(params, {}, x)
    torch.testing.assert_close(sums @ torch.tensor(ALPHAS, dtype=torch.float64), out[:, 0])


def test_the_degree_doubles_with_each_layer():
    """Along a line the ℓ-th layer is a polynomial of degree 2^ℓ, so its difference of order 2^ℓ is constant."""
    network = QuadraticDenseNet(((1,), (2, 0)), (2, 2), (1.0, 0.3))
    params, t = drawn(network), torch.arange(12, dtype=torch.float64) / 4
    x = t[:, None] * Stream(3).normal(1, D, dtype=torch.float64)
    for layer, part in network.contributions(params, {}, x).items():
        order, differences = 2**layer, part
        for _ in range(order):
            differences = differences.diff()
        expected = differences[0] / math.factorial(order)
        assert abs(expected) > 1e-8
        torch.testing.assert_close(differences, differences[:1].expand_as(differences), rtol=1e-5, atol=1e-9)


def test_a_missing_layer_adds_what_a_layer_of_zeros_adds():
    params, x = drawn(), Stream(1).normal(5, D, dtype=torch.float64)
    lower = {name: value for name, value in params.items() if name[1] in "23"}
    zeros = {name: value if name in lower else torch.zeros_like(value) for name, value in params.items()}
    torch.testing.assert_close(NETWORK.apply(lower, {}, x)[0], NETWORK.apply(zeros, {}, x)[0], rtol=0, atol=0)
    assert NETWORK.hidden(lower, {}, x).keys() == {2, 3}


def test_the_start():
    params = drawn(QuadraticDenseNet(((1,), (2, 0)), (400, 300), (1.0, 0.1), scale=(2.0, 0.5)), in_dim=50)
    assert all(value.dtype == torch.float64 for value in params.values())
    stds = {name: value.std().item() for name, value in params.items()}
    assert stds["M2.1"] == pytest.approx(2 / 50**0.5, rel=0.03)
    assert stds["M3.2"] == pytest.approx(0.5 / 400**0.5, rel=0.03)
    assert stds["M3.0"] == pytest.approx(0.5 / 50**0.5, rel=0.03)
    assert not torch.equal(params["M2.1"], drawn(QuadraticDenseNet(((1,),), (400,), (1.0,)), 1, 50)["M2.1"])


def test_a_leading_coordinate_is_added_and_not_seen():
    params, x = drawn(), Stream(1).normal(5, D + 1, dtype=torch.float64)
    leading = QuadraticDenseNet(GRAPH, WIDTHS, ALPHAS, NETWORK.second_moments, leading=True)
    assert {name: value.shape for name, value in leading.init(D + 1, 1, Stream(0))[0].items()} == {
        name: value.shape for name, value in params.items()
    }
    torch.testing.assert_close(leading.apply(params, {}, x)[0], x[:, :1] + NETWORK.apply(params, {}, x[:, 1:])[0])


def test_as_a_network():
    params, x = drawn(), Stream(1).normal(5, D)
    assert NETWORK.apply(params, {}, x)[0].dtype == torch.float64  # points of another precision are converted
    assert NETWORK.groups() == {"layer2": ("M2.1",), "layer3": ("M3.2", "M3.0"), "layer4": ("M4.3", "M4.1", "M4.0")}
    assert NETWORK.trained("layer3+layer2", params) == ("M3.2", "M3.0", "M2.1")
    assert NETWORK.footprint == 6
    module = NetworkModule(NETWORK, D, 1, Stream(0))
    torch.testing.assert_close(module(x.double()), NETWORK.apply(params, {}, x.double())[0])
    assert NETWORK.intermediates(params, {}, x)["M4.3"][0].shape == (5, 1)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"graph": ()}, "graph must hold at least 𝒥₂, got no set"),
        ({"graph": ((1,), (3, 0), (3,))}, r"graph must list layers below 3 in 𝒥₃, .*, got \(3, 0\)"),
        ({"widths": (2, 2)}, r"widths must hold 3 values, one for each layer of the graph, got \(2, 2\)"),
        ({"alphas": (1.0, -0.5, 0.1)}, "alphas must be positive, got -0.5"),
    ],
)
def test_refused(fields, sentence):
    given = {"graph": GRAPH, "widths": WIDTHS, "alphas": ALPHAS} | fields
    refused(sentence, QuadraticDenseNet, **given)


def test_refused_data():
    refused("predicts one number, got out_dim=2", NETWORK.init, D, 2, Stream(0))
    refused("second_moments must hold one number for each of the 5 coordinates", NETWORK.init, 5, 1, Stream(0))
    with pytest.raises(InputError, match="a coordinate besides the leading one, got in_dim=1"):
        QuadraticDenseNet(GRAPH, WIDTHS, ALPHAS, leading=True).init(1, 1, Stream(0))
