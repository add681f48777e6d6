"""The two-layer network and its initialisation, by loops and by statistics."""

import functools
import math

import pytest
import torch

import naive
from beyondkernels.core import Stream
from beyondkernels.networks import Symmetric, TwoLayer


@pytest.mark.parametrize("std", [None, 0.3])
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("out_dim", [1, 3])
def test_against_a_double_loop(std, noisy, out_dim):
    plain = TwoLayer(pairs=4, initialisation=Symmetric(1.0, 0.5, 2.0))
    network = plain if std is None else plain.smoothed(std)
    params, _ = network.init(5, out_dim, Stream(1))
    params = {name: value.double() + 0.3 * Stream(2).child(name).normal(*value.shape) for name, value in params.items()}
    x = Stream(3).normal(6, 5, dtype=torch.float64)
    noise = Stream(4).normal(6, 8, dtype=torch.float64)
    sigma = naive.truncated_relu
    if std is not None:
        sigma = functools.partial(naive.gaussian_mean, naive.truncated_relu, (0.0, 1.0), std=std)
    expected = naive.two_layer(
        params["hidden.weight"].tolist(),
        params["hidden.bias"].tolist(),
        params["output.weight"].tolist(),
        x.tolist(),
        sigma,
        noise.tolist() if noisy else None,
    )
    buffers = {"noise": noise} if noisy else {}
    out, after = network.apply(params, buffers, x)
    assert torch.allclose(out, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)
    assert after is buffers
    hidden = network.hidden(params, buffers, x)
    assert hidden.shape == (6, 8)
    assert torch.allclose(hidden @ params["output.weight"].T, out, rtol=0, atol=1e-12)


def test_smoothing_is_the_mean_over_drawn_noise():
    """Eq. (3): g(x; ξ) averaged over ξ, within five standard errors."""
    n, std, pairs = 4000, 0.4, 3
    network = TwoLayer(pairs, initialisation=Symmetric(1.0, 0.5, 1.0))
    params, _ = network.init(4, 1, Stream(0))
    params["output.weight"] = Stream(7).normal(1, 2 * pairs)
    for seed in range(5):
        x = Stream(seed).normal(1, 4)
        noise = std * Stream(8).at(seed).normal(n, 2 * pairs)
        drawn = network.apply(params, {"noise": noise}, x.expand(n, 4))[0]
        exact = network.smoothed(std).apply(params, {}, x)[0].item()
        assert drawn.mean().item() == pytest.approx(exact, abs=5 * drawn.std().item() / math.sqrt(n))


@pytest.mark.parametrize("out_dim", [1, 3])
@pytest.mark.parametrize("pairs", [1, 8, 300])
def test_symmetric_start(pairs, out_dim):
    """Twin neurons with opposite readout: the network is zero up to the rounding of its sum."""
    params, buffers = TwoLayer(pairs).init(10, out_dim, Stream(pairs))
    w, b, a = params["hidden.weight"], params["hidden.bias"], params["output.weight"]
    assert w.shape == (2 * pairs, 10)
    assert b.shape == (2 * pairs,)
    assert a.shape == (out_dim, 2 * pairs)
    assert torch.equal(w[:pairs], w[pairs:])
    assert torch.equal(b[:pairs], b[pairs:])
    assert torch.equal(a[:, :pairs], -a[:, pairs:])
    assert len(w[:pairs].unique(dim=0)) == pairs
    assert buffers == {}
    out = TwoLayer(pairs).apply(params, buffers, Stream(0).normal(50, 10))[0]
    assert float(out.abs().max()) <= 1e-6 * float(a.abs().sum(1).max())


@pytest.mark.parametrize(
    ("scales", "expected"),
    [
        (Symmetric(), (1 / math.sqrt(40), 1 / math.sqrt(40), 1 / math.sqrt(800))),
        (Symmetric(weight_std=0.5), (0.5, 0.5, 1 / math.sqrt(800))),
        (Symmetric(0.2, 0.04, 25.0), (0.2, 0.04, 25.0)),
    ],
    ids=["default", "weight", "all"],
)
def test_scales_of_the_draws(scales, expected):
    """The mean square over n independent draws has a relative standard error of √(2/n)."""
    m, d = 400, 40
    params, _ = TwoLayer(m, initialisation=scales).init(d, 3, Stream(5))
    halves = (params["hidden.weight"][:m], params["hidden.bias"][:m], params["output.weight"][:, :m])
    for drawn, std in zip(halves, expected, strict=True):
        n = drawn.numel()
        unit = drawn.double() / std
        assert (unit**2).mean().item() == pytest.approx(1, abs=4 * math.sqrt(2 / n))
        assert unit.mean().item() == pytest.approx(0, abs=4 / math.sqrt(n))
        assert (unit**4).mean().item() == pytest.approx(3, abs=4 * math.sqrt(96 / n))
    w, b = halves[0].double(), halves[1].double()
    correlation = (w[:, 0] * b).mean().item() / (expected[0] * expected[1])
    assert correlation == pytest.approx(0, abs=4 / math.sqrt(m))
