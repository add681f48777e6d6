"""The linearised network against the Jacobian, entry by entry, and against finite differences."""

import itertools

import pytest
import torch

from beyondkernels.core import Stream, Tensors
from beyondkernels.networks import Linearised, Symmetric, TwoLayer

START = TwoLayer(pairs=3, initialisation=Symmetric(1.0, 0.5, 2.0))


def prepared(network: TwoLayer, out_dim: int) -> tuple[Tensors, Tensors, Tensors, torch.Tensor]:
    """Displacement, buffers, start and inputs in double precision; the start is not symmetric, so that g(θ₀) ≠ 0."""
    zero, buffers = Linearised(network).init(4, out_dim, Stream(0))
    assert all(float(value.abs().max()) == 0 for value in zero.values())
    start = {k: buffers[f"at.{k}"].double() + 0.2 * Stream(1).child(k).normal(*zero[k].shape) for k in zero}
    displacement = {
        name: Stream(2).child(name).normal(*value.shape, dtype=torch.float64) for name, value in zero.items()
    }
    return displacement, {f"at.{k}": v for k, v in start.items()}, start, Stream(3).normal(5, 4, dtype=torch.float64)


def test_start_is_that_of_the_network():
    displacement, buffers = Linearised(START).init(4, 2, Stream(6))
    params, _ = START.init(4, 2, Stream(6))
    assert displacement.keys() == params.keys()
    assert buffers.keys() == {f"at.{name}" for name in params}
    assert all(torch.equal(buffers[f"at.{name}"], params[name]) for name in params)


@pytest.mark.parametrize("std", [None, 0.3])
@pytest.mark.parametrize("out_dim", [1, 3])
def test_against_the_jacobian_entry_by_entry(std, out_dim):
    network = START if std is None else START.smoothed(std)
    displacement, buffers, start, x = prepared(network, out_dim)
    leaves = {name: value.clone().requires_grad_() for name, value in start.items()}
    out = network.apply(leaves, {}, x)[0]
    expected = out.detach().clone()
    for i, o in itertools.product(range(len(x)), range(out_dim)):
        jacobian = torch.autograd.grad(out[i, o], list(leaves.values()), retain_graph=True)
        for name, rows in zip(leaves, jacobian, strict=True):
            for entry, step in zip(rows.flatten().tolist(), displacement[name].flatten().tolist(), strict=True):
                expected[i, o] += entry * step
    found, after = Linearised(network).apply(displacement, buffers, x)
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    assert after is buffers
    assert float((found - out).detach().abs().min()) > 1e-3


def test_its_gradient_is_the_jacobian_at_the_start():
    """Also far from the start: gradient descent on it is gradient descent on the tangent kernel."""
    network = START.smoothed(0.3)
    displacement, buffers, start, x = prepared(network, 1)
    far = {name: 50 * step for name, step in displacement.items()}
    found = torch.func.grad(lambda p: Linearised(network).apply(p, buffers, x)[0].sum())(far)
    truth = torch.func.grad(lambda p: network.apply(p, {}, x)[0].sum())(start)
    for name in truth:
        assert torch.allclose(found[name], truth[name], rtol=0, atol=1e-12)


def test_expansion_point():
    """The gradient in Δ, anywhere, is that of the network at θ₀; buffers of the network stay, θ₀ leaves them."""
    network = START.smoothed(0.3)
    displacement, buffers, start, x = prepared(network, 3)
    noise = Stream(5).normal(5, 6, dtype=torch.float64)
    inner, params, rest = Linearised(network).expansion_point(displacement, buffers | {"noise": noise})
    assert inner is network
    assert params.keys() == start.keys()
    assert all(params[name] is start[name] for name in start)
    assert rest.keys() == {"noise"}
    assert rest["noise"] is noise
    found = torch.func.grad(lambda p: inner.apply(p, rest, x)[0].square().sum())(params)
    # at Δ = 0 values agree, so that the gradients of a nonlinear function of them do too
    zero = {name: torch.zeros_like(step) for name, step in displacement.items()}
    linearised = Linearised(network)
    truth = torch.func.grad(lambda p: linearised.apply(p, buffers | {"noise": noise}, x)[0].square().sum())(zero)
    for name in truth:
        assert torch.allclose(found[name], truth[name], rtol=0, atol=1e-12)
    assert inner.expansion_point(params, rest) == (inner, params, rest)


@pytest.mark.parametrize("out_dim", [1, 3])
def test_against_finite_differences(out_dim):
    network = START.smoothed(0.3)
    displacement, buffers, start, x = prepared(network, out_dim)
    h = 1e-5

    def value(t: float) -> torch.Tensor:
        return network.apply({name: start[name] + t * displacement[name] for name in start}, {}, x)[0]

    slope = (value(h) - value(-h)) / (2 * h)
    found = Linearised(network).apply(displacement, buffers, x)[0]
    assert torch.allclose(found, value(0) + slope, rtol=0, atol=1e-8)


def test_noise_reaches_the_network():
    displacement, buffers, start, x = prepared(START, 1)
    noise = Stream(5).normal(5, 6, dtype=torch.float64)
    zero = {name: torch.zeros_like(step) for name, step in displacement.items()}
    found = Linearised(START).apply(zero, buffers | {"noise": noise}, x)[0]
    assert torch.equal(found, START.apply(start, {"noise": noise}, x)[0])
