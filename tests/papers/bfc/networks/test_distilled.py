"""(2.1) and (2.2) against loops over neurons, with and without truncation."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import tangent_gram
from beyondkernels.papers.bfc.networks import DistilledDenseNet, QuadraticDenseNet
from refusals import refused

GRAPH, ALPHAS, RANKS, M, D = ((1,), (2, 0), (3, 1)), (1.0, 0.3, 0.1), (3, 2, 1), 5, 4
NETWORK = DistilledDenseNet(GRAPH, M, ALPHAS, RANKS, truncation=(0.4, 0.2, 0.1), second_moments=1.5, scale=2.0)


def drawn(network=NETWORK, seed=0):
    return network.init(D, 1, Stream(seed))


def bent(z, bound):
    """σ̃ by its definition: the square, then its slope added up, then a constant."""
    z = abs(z)
    if z <= bound:
        return z**2
    t = min(z / bound - 1, 1.0)
    return bound**2 * (1 + 2 * t + t**2 - 8 * t**4 + 9.2 * t**5 - 3 * t**6)


def literal(params, buffers, x, truncation):
    """S_ℓ and α_ℓ Sum(F_ℓ) of one point, number by number."""
    below = {0: list(x), 1: [value**2 - 1.5 for value in x]}
    hidden, added = {}, {}

    def mapped(letter, layer, i):
        blocks = [(params[f"{letter}{layer}.{j}"], below[j]) for j in GRAPH[layer - 2]]
        return sum(float(block[i, a]) * value for block, values in blocks for a, value in enumerate(values))

    for layer, k in enumerate(RANKS, 2):
        added[layer] = ALPHAS[layer - 2] * sum(mapped("W", layer, i) ** 2 for i in range(M))
        S = hidden[layer] = [mapped("K", layer, i) for i in range(k)]
        R = buffers[f"R{layer}"]
        spread = [sum(float(R[i, a]) * S[a] for a in range(k)) for i in range(k * (k + 1) // 2)]
        below[layer] = [z**2 if truncation is None else bent(z, truncation[layer - 2]) for z in spread]
    return hidden, added


@pytest.mark.parametrize("truncate", [False, True])
def test_against_loops(truncate):
    params, buffers = drawn()
    x = 2 * Stream(1).normal(6, D, dtype=torch.float64)
    hidden = NETWORK.hidden(params, buffers, x, truncate)
    added = NETWORK.contributions(params, buffers, x, truncate)
    out = NETWORK.apply(params, buffers, x, train=truncate)[0]
    for i, point in enumerate(x.tolist()):
        S, parts = literal(params, buffers, point, NETWORK.truncation if truncate else None)
        for layer in (2, 3, 4):
            assert hidden[layer][i].tolist() == pytest.approx(S[layer], rel=1e-11)
            assert added[layer][i].item() == pytest.approx(parts[layer], rel=1e-11)
        assert out[i].item() == pytest.approx(sum(parts.values()), rel=1e-11)
    other = NETWORK.contributions(params, buffers, x, not truncate)
    assert torch.equal(added[2], other[2])  # nothing is truncated below the second layer's W
    assert not torch.allclose(added[3], other[3])


def test_it_is_the_plain_learner_where_the_paper_says_so():
    """With W = K and R with orthonormal columns, M = RK gives F = G."""
    params, buffers = drawn()
    buffers = {name: torch.linalg.qr(value)[0] for name, value in buffers.items()}
    network = DistilledDenseNet(GRAPH, 3, ALPHAS, second_moments=1.5)
    same = {name: value for name, value in params.items() if name[0] == "K"}
    same |= {name.replace("K", "W"): value for name, value in same.items()}
    plain = QuadraticDenseNet(GRAPH, tuple(k * (k + 1) // 2 for k in RANKS), ALPHAS, second_moments=1.5)
    M_ = {f"M{name[1:]}": buffers[f"R{name[1]}"] @ value for name, value in params.items() if name[0] == "K"}
    x = Stream(1).normal(6, D, dtype=torch.float64)
    torch.testing.assert_close(network.apply(same, buffers, x)[0], plain.apply(M_, {}, x)[0], rtol=1e-11, atol=1e-11)


def test_layers_that_are_missing():
    params, buffers = drawn()
    x = Stream(1).normal(6, D, dtype=torch.float64)
    first, nothing = DistilledDenseNet(GRAPH, M, ALPHAS).init(D, 1, Stream(0))
    assert nothing == {}
    assert list(first) == ["W2.1"]
    assert torch.equal(first["W2.1"] * 2, params["W2.1"])
    assert NETWORK.hidden(first, {}, x) == {}
    assert NETWORK.contributions(first, {}, x).keys() == {2}
    lower = {name: value for name, value in params.items() if name[1] in "23" and name[:2] != "K3"}
    assert NETWORK.hidden(lower, buffers, x).keys() == {2}
    parts = NETWORK.contributions(lower, buffers, x)
    assert torch.equal(parts[3], NETWORK.contributions(params, buffers, x)[3])
    assert torch.equal(NETWORK.apply(lower, buffers, x)[0][:, 0], parts[2] + parts[3])


def test_the_start():
    network = DistilledDenseNet(((1,), (2, 0)), 300, (1.0, 0.1), (20, 4), scale=(2.0, 0.5))
    params, buffers = network.init(50, 1, Stream(0))
    assert all(value.dtype == torch.float64 for value in (params | buffers).values())
    assert params["W2.1"].std().item() == pytest.approx(2 / (300 * 50) ** 0.5, rel=0.03)
    assert params["W3.2"].std().item() == pytest.approx(0.5 / (300 * 210) ** 0.5, rel=0.03)
    assert buffers["R2"].shape == (210, 20)
    assert buffers["R2"].std().item() == pytest.approx(1 / 20, rel=0.05)


def test_as_a_network():
    groups = NETWORK.groups()
    assert groups["layer3"] == ("W3.2", "W3.0", "K3.2", "K3.0")
    assert groups["K4"] == ("K4.3", "K4.1")
    leading = DistilledDenseNet(GRAPH, M, ALPHAS, RANKS, second_moments=1.5, leading=True)
    params, buffers = drawn()
    x = Stream(1).normal(6, D + 1, dtype=torch.float64)
    expected = x[:, :1] + NETWORK.apply(params, buffers, x[:, 1:])[0]
    torch.testing.assert_close(leading.apply(params, buffers, x)[0], expected)
    assert NETWORK.intermediates(params, buffers, x[:, 1:])["K4.3"][0].shape == (6, 1)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"ranks": (2, 2)}, r"ranks must hold 3 values, one for each layer of the graph, got \(2, 2\)"),
        ({"graph": ((1,), (2, 0), (4, 1))}, "graph must list layers below 4 in 𝒥₄"),
    ],
)
def test_refused(fields, sentence):
    given = {"graph": GRAPH, "width": M, "alphas": ALPHAS} | fields
    refused(sentence, DistilledDenseNet, **given)


@pytest.mark.parametrize(
    "network", [NETWORK, QuadraticDenseNet(((1,), (2, 0), (3, 1, 0)), (3, 2, 1), ALPHAS, (0.5, 1.0, 1.5, 0.25))]
)
def test_its_tangent_kernel(network):
    """The structured route against derivatives in every parameter."""
    params, buffers = drawn(network)
    x = Stream(1).normal(5, D, dtype=torch.float64)
    jacobians = torch.func.jacrev(lambda p: network.apply(p, buffers, x)[0][:, 0])(params)
    expected = sum(each.flatten(1) @ each.flatten(1).T for each in jacobians.values())
    torch.testing.assert_close(tangent_gram(network, params, buffers, x), expected, rtol=1e-9, atol=1e-9)
