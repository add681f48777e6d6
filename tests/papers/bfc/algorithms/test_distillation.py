"""Reg against loops over entries, the objective (2.3), and INITIAL-DISTILL."""

import itertools

import pytest
import torch

from beyondkernels.algorithms import CrossEntropy, Squared
from beyondkernels.core import Sample, Stream
from beyondkernels.papers.bfc.algorithms import Penalties, initial_distill, regularised, regulariser
from beyondkernels.papers.bfc.networks import DistilledDenseNet

GRAPH, M, D = ((1,), (2, 0), (3, 1, 0)), 6, 4
NETWORK = DistilledDenseNet(GRAPH, M, (1.0, 0.3, 0.1), (2, 2, 1), truncation=0.5)
PENALTIES = Penalties(
    {2: 0.3, 3: 0.5, 4: 0.7}, {2: 1.1, 3: 1.3, 4: 1.7}, {2: 0.2, 3: 0.4, 4: 0.6}, {2: 0.01, 3: 0.02, 4: 0.03}
)


def drawn(seed=0):
    return NETWORK.init(D, 1, Stream(seed))


def difference(params, layer, j, i):
    """‖K_jᵀ K_i − W_jᵀ W_i‖² of two blocks, entry by entry."""
    total = 0.0
    Kj, Ki, Wj, Wi = (params[f"{letter}{layer}.{source}"] for letter in "KW" for source in (j, i))
    for a, b in itertools.product(range(Kj.shape[1]), range(Ki.shape[1])):
        k = sum(float(Kj[r, a] * Ki[r, b]) for r in range(Kj.shape[0]))
        w = sum(float(Wj[r, a] * Wi[r, b]) for r in range(Wj.shape[0]))
        total += (k - w) ** 2
    return total


def literal(params, penalties):
    total = 0.0
    for layer, sources in enumerate(GRAPH, 2):
        own, others = layer - 1, [j for j in sources if j != layer - 1]
        total += penalties.cross[layer] * sum(difference(params, layer, own, j) for j in others)
        total += penalties.own[layer] * difference(params, layer, own, own)
        total += penalties.whole[layer] * sum(difference(params, layer, j, i) for j in sources for i in sources)
        blocks = [params[f"{letter}{layer}.{j}"] for letter in "KW" for j in sources]
        total += penalties.decay[layer] * sum(v**2 for block in blocks for v in block.flatten().tolist())
    return total


def test_regulariser_against_loops():
    params, _ = drawn()
    assert regulariser(NETWORK, params, PENALTIES).item() == pytest.approx(literal(params, PENALTIES), rel=1e-12)
    nothing = {2: 0.0, 3: 0.0, 4: 0.0}
    for name in Penalties._fields:  # each of the four by itself
        one = Penalties(*(getattr(PENALTIES, each) if each == name else nothing for each in Penalties._fields))
        found = regulariser(NETWORK, params, one).item()
        assert found == pytest.approx(literal(params, one), rel=1e-12)
        assert found > 1e-4


def test_regulariser_of_layers_that_have_no_k():
    params, _ = drawn()
    some = {name: value for name, value in params.items() if name[1] in "23" and name[:2] != "K3"}
    part = Penalties({2: 0.3}, {2: 1.1}, {2: 0.2}, {2: 0.01, 3: 0.02})
    whole = Penalties({2: 0.3}, {2: 1.1}, {2: 0.2}, {2: 0.01})
    wide = sum(float(params[name].square().sum()) for name in ("W3.2", "W3.0"))
    expected = regulariser(NETWORK, some, whole).item() + 0.02 * wide
    assert regulariser(NETWORK, some, part).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize(("loss", "scale"), [(Squared(), 1.0), (CrossEntropy(2.5), 2.5)])
def test_the_objective_is_a_mean_and_a_penalty(truncate, loss, scale):
    params, buffers = drawn()
    x = Stream(2).normal(9, D, dtype=torch.float64)
    y = x[:, 0].sign()
    found = regularised(NETWORK, params, buffers, Sample(x, y), PENALTIES, loss, scale, truncate)
    out = [NETWORK.apply(params, buffers, x[i : i + 1], train=truncate)[0].item() for i in range(9)]
    if scale == 1.0:
        each = [(o - t) ** 2 for o, t in zip(out, y.tolist(), strict=True)]
    else:
        each = [torch.log1p(torch.exp(torch.tensor(-2.5 * o * t))).item() for o, t in zip(out, y.tolist(), strict=True)]
    assert found.item() == pytest.approx(sum(each) / 9 + scale * literal(params, PENALTIES), rel=1e-6)


def made_of(layer, K):
    """W of a layer with WᵀW = KᵀK: K turned by columns that are orthonormal."""
    k = len(next(iter(K.values())))
    Q = torch.linalg.qr(Stream(5).normal(M, k, dtype=torch.float64))[0]
    return {name.replace("K", "W"): Q @ block for name, block in K.items()}


def test_distilling_the_second_layer_recovers_it():
    true = {"K2.1": Stream(3).normal(2, D, dtype=torch.float64)}
    found = initial_distill(NETWORK, made_of(2, true), 2, cut=0.05)
    assert found.keys() == true.keys()
    assert found["K2.1"].shape == (2, D)
    torch.testing.assert_close(found["K2.1"].mT @ found["K2.1"], true["K2.1"].mT @ true["K2.1"])


def test_distilling_a_higher_layer_recovers_the_product_and_the_features():
    """Blocks with orthogonal rows of one length are recovered up to one rotation, others up to the product."""
    own = torch.linalg.qr(Stream(3).normal(3, 2, dtype=torch.float64))[0].mT
    rest = torch.linalg.qr(Stream(4).normal(4 + 3, 2, dtype=torch.float64))[0].mT
    true = {"K4.3": own, "K4.1": rest[:, :4], "K4.0": rest[:, 4:]}
    found = initial_distill(NETWORK, made_of(4, true), 4, cut=0.05)
    assert found.keys() == true.keys()
    for name, other in itertools.product(true, true):
        torch.testing.assert_close(found[name].mT @ found[other], true[name].mT @ true[other])
    stretched = true | {"K4.3": torch.diag(torch.tensor([2.0, 0.5], dtype=torch.float64)) @ own}
    found = initial_distill(NETWORK, made_of(4, stretched), 4, cut=0.05)
    torch.testing.assert_close(found["K4.3"].mT @ found["K4.1"], stretched["K4.3"].mT @ stretched["K4.1"])
    assert not torch.allclose(found["K4.3"].mT @ found["K4.3"], stretched["K4.3"].mT @ stretched["K4.3"])


def test_the_rank_counts_singular_values_that_reach_the_cut():
    values = torch.tensor([2.0, 0.5, 0.1], dtype=torch.float64)
    W = {"W2.1": torch.linalg.qr(Stream(3).normal(M, 3, dtype=torch.float64))[0] * values.sqrt()}
    W["W2.1"] = torch.nn.functional.pad(W["W2.1"], (0, 1))
    for cut, rank in ((0.0999, 3), (0.11, 2), (0.6, 1), (2.1, 0)):
        K = initial_distill(NETWORK, W, 2, cut)["K2.1"]
        assert K.shape == (rank, D)
        torch.testing.assert_close((K.mT @ K).diagonal()[:rank], values[:rank])
    for cut, rank in ((0.049, 3), (0.06, 2), (0.26, 1), (1.0, 1)):  # in units of the largest, 2
        assert len(initial_distill(NETWORK, W, 2, cut, relative=True)["K2.1"]) == rank
    assert initial_distill(NETWORK, W, 2, 0.1, rank=1)["K2.1"].shape == (1, D)
    nothing = {"W2.1": torch.zeros(M, D, dtype=torch.float64)}
    assert initial_distill(NETWORK, nothing, 2, 0.1, relative=True)["K2.1"].shape == (0, D)
