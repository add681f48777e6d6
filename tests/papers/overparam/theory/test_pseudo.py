"""Pseudo networks against sums over neurons."""

import pytest
import torch

from beyondkernels.core import Stream, Tensors
from beyondkernels.papers.overparam import ThreeLayerLearner, TwoLayerLearner, UnitInputs
from beyondkernels.papers.overparam.theory import (
    pseudo_three_layer,
    pseudo_two_layer,
    smoothed_pseudo,
    stronger_coupling,
    three_layer_gates,
)

X = UnitInputs(5).draw(4, Stream(100))
NEAR = 1e-12


def drawn(network) -> tuple[Tensors, Tensors]:
    params, buffers = network.init(5, 2, Stream(101))
    return {k: v.double() for k, v in params.items()}, {k: v.double() for k, v in buffers.items()}


def noise(params: Tensors, name: str, size: float) -> Tensors:
    return {
        key: size * Stream(102).child(name, key).normal(*value.shape, dtype=torch.float64)
        for key, value in params.items()
    }


def noise_of(params: Tensors, seed: int) -> Tensors:
    generator = Stream(seed).generator()
    return {key: torch.from_numpy(generator.standard_normal(tuple(value.shape))) for key, value in params.items()}


def test_two_layers():
    network = TwoLayerLearner(30)
    start, buffers = drawn(network)
    W = start["W"] + noise(start, "move", 0.2)["W"]
    found = pseudo_two_layer(X, W, start["W"], buffers)
    for n, x in enumerate(X):
        for r in range(2):
            total = 0.0
            for i in range(30):
                if float(start["W"][i] @ x + buffers["b1"][i]) >= 0:
                    total += float(buffers["a"][r, i] * (W[i] @ x + buffers["b1"][i]))
            assert float(found[n, r]) == pytest.approx(total, abs=NEAR)
    real = network.apply({"W": W}, buffers, X)[0]
    assert not torch.allclose(real, found)
    assert torch.allclose(network.apply(start, buffers, X)[0], pseudo_two_layer(X, start["W"], start["W"], buffers))


@pytest.mark.parametrize("biases", [(True, True), (True, False), (False, False)])
def test_three_layers(biases):
    network = ThreeLayerLearner(8, second_width=6)
    start, buffers = drawn(network)
    now = {key: start[key] + value for key, value in noise(start, "move", 0.3).items()}
    fixed = three_layer_gates(X, start["W"], start["V"], buffers)
    found = pseudo_three_layer(X, now["W"], now["V"], fixed, buffers, biases)
    for n, x in enumerate(X):
        at_start = start["W"] @ x + buffers["b1"]
        D_w = torch.diag((at_start >= 0).double())
        D_v = torch.diag((start["V"] @ (D_w @ at_start) + buffers["b2"] >= 0).double())
        b1, b2 = (buffers[name] * on for name, on in zip(("b1", "b2"), biases, strict=True))
        literal = buffers["a"] @ D_v @ (now["V"] @ D_w @ (now["W"] @ x + b1) + b2)
        assert torch.allclose(found[n], literal, atol=NEAR)


def test_with_its_own_gates_the_pseudo_network_is_the_network():
    """(36)."""
    network = ThreeLayerLearner(8)
    params, buffers = drawn(network)
    own = three_layer_gates(X, params["W"], params["V"], buffers)
    found = pseudo_three_layer(X, params["W"], params["V"], own, buffers)
    assert torch.allclose(found, network.apply(params, buffers, X)[0], atol=NEAR)


def test_stronger_coupling():
    network = ThreeLayerLearner(8, second_width=6)
    start, buffers = drawn(network)
    moved = noise(start, "move", 0.3)
    signs = torch.tensor([1.0, -1, -1, 1, 1, -1, 1, -1], dtype=torch.float64)
    found = stronger_coupling(X, start, moved, buffers, signs)
    sigma = torch.diag(signs)
    at = {"W": start["W"] + sigma @ moved["W"], "V": start["V"] + moved["V"] @ sigma}
    real = network.apply(at, buffers, X)[0]
    for n, x in enumerate(X):
        z = start["W"] @ x + buffers["b1"]
        D_w = torch.diag((z >= 0).double())
        u = start["V"] @ D_w @ z + buffers["b2"]
        D_v = torch.diag((u >= 0).double())
        right = buffers["a"] @ D_v @ u + buffers["a"] @ D_v @ moved["V"] @ D_w @ moved["W"] @ x
        assert torch.allclose(found[n], real[n] - right, atol=NEAR)


def test_crossing_terms_vanish_on_average_over_signs():
    """With gates that do not change, what Lemma 5.8 leaves over has mean zero over all Σ."""
    network = ThreeLayerLearner(4, second_width=6)
    start, buffers = drawn(network)
    tiny = noise(start, "move", 1e-7)
    every = torch.cartesian_prod(*[torch.tensor([1.0, -1.0], dtype=torch.float64)] * 4)
    found = torch.stack([stronger_coupling(X, start, tiny, buffers, signs) for signs in every])
    assert found.abs().max() > 1e-8
    assert found.mean(0).abs().max() < 1e-14


def test_smoothed_pseudo():
    network = ThreeLayerLearner(8, second_width=6)
    now, buffers = drawn(network)
    rho, step = noise(now, "rho", 0.1), noise(now, "step", 1.0)
    after, before = smoothed_pseudo(X, now, rho, step, 0.3, buffers)
    at = {key: now[key] + rho[key] + 0.3 * step[key] for key in now}
    assert torch.allclose(after, network.apply(at, buffers, X)[0], atol=NEAR)
    old = three_layer_gates(X, now["W"] + rho["W"], now["V"] + rho["V"], buffers)
    assert torch.allclose(before, pseudo_three_layer(X, at["W"], at["V"], old, buffers), atol=NEAR)
    assert not torch.allclose(after, before)


def test_smoothing_makes_the_difference_of_second_order():
    """Lemma 5.7: averaged over the noise, the two differ by η² and not by η."""
    points = UnitInputs(5).draw(40, Stream(100))
    now, buffers = drawn(ThreeLayerLearner(6))
    step = noise(now, "step", 1.0)

    def difference(eta: float) -> float:
        total = 0.0
        for seed in range(1000):
            rho = {key: 0.5 * value for key, value in noise_of(now, seed).items()}
            after, before = smoothed_pseudo(points, now, rho, step, eta, buffers)
            total += float((after - before).abs().mean())
        return total

    assert 3.0 < difference(0.1) / difference(0.05) < 5.0
