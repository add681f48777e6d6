"""Directions that a network uses: known ones, and gradients point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from audited import Toy, attentive, convolutional, dense, ended, grouped, of, tokens, words
from beyondkernels.core import Stream, shape_of
from beyondkernels.engine import Predictor
from beyondkernels.measure import Ansatz
from beyondkernels.measure.audit import input_gradients, moments, outer_cosine, root_cosine, sees_all, sensitivity
from beyondkernels.measure.audit.moments import chosen
from beyondkernels.networks import FromCopy, FullyConnected, TwoLayer


def drawn(network, problem: Toy) -> tuple[Predictor, torch.Tensor]:
    """A network in float64, and points."""
    params, buffers = network.init(shape_of(problem.shape), problem.out_dim, Stream(1))
    return Predictor(network, params, buffers), problem.sample(9, Stream(2)).x


def product(found) -> np.ndarray:
    return (found.factor.T @ found.factor).numpy()


def naive_product(function, x: torch.Tensor) -> np.ndarray:
    """(1/n) Σ_x Σ_o ∇f_o ∇f_oᵀ, one backward pass for each point and output."""
    total = np.zeros((x[0].numel(), x[0].numel()))
    for point in x:
        leaf = point[None].clone().requires_grad_()
        for o in function(leaf)[0]:
            (g,) = torch.autograd.grad(o, leaf, retain_graph=True)
            total += np.outer(g.flatten().double().numpy(), g.flatten().double().numpy())
    return total / len(x)


@pytest.mark.parametrize("network", [of(dense), FullyConnected(width=10, depth=2)])
def test_vectors_against_gradients_in_the_points(network):
    at, x = drawn(network, Toy())
    found: Any = sensitivity(at, x)
    expected = naive_product(lambda leaf: at.network.apply(at.params, at.buffers, leaf)[0], x)
    scale = np.trace(expected) / np.trace(product(found))  # a parameterisation may scale the points first
    assert scale * product(found) == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.trace(expected))
    assert scale == pytest.approx(1, rel=1e-4) or isinstance(network, FullyConnected)
    assert (found.shape, found.patches) == ((6,), False)
    gradients: Any = input_gradients(at, x)
    J = gradients.flatten(0, 1).numpy()
    assert J.T @ J / len(x) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_a_network_that_starts_as_zero_uses_no_direction():
    """Pairs of neurons cancel each other, and what rounding leaves of their gradients is no direction."""
    at, x = drawn(TwoLayer(5), Toy(kind="signs"))
    assert np.abs(at(x).numpy()).max() < 1e-6
    found: Any = sensitivity(at, x)
    assert found.weight is not None
    assert not product(found).any()
    assert outer_cosine(found.factor, found.weight) == 0


@pytest.mark.parametrize("factory", [convolutional, grouped])
def test_patches_against_gradients_in_each_patch(factory):
    """Every patch becomes an input of its own: the convolution is done by a product with patches cut out beforehand."""
    at, x = drawn(of(factory), Toy(shape=(4, 5, 5)))
    module = at.module((4, 5, 5), 3).eval()
    layers = list(module)  # pyright: ignore[reportArgumentType]
    first = layers[0]
    assert isinstance(first, nn.Conv2d)
    size, groups = first.weight[0].numel(), first.groups
    side = module(x).shape and first(x).shape[-1]
    total = np.zeros((size, size))
    for point in x:
        cut = nn.functional.unfold(point[None], 3, padding=first.padding, stride=first.stride).detach()  # pyright: ignore[reportArgumentType]
        patches = cut[0].view(groups, size, -1).clone().requires_grad_()  # (groups, numbers, positions)
        filters = first.weight.view(groups, -1, size)
        assert first.bias is not None
        z = (filters @ patches).flatten(0, 1) + first.bias[:, None]
        h = z.view(1, -1, side, side)
        for layer in layers[1:]:
            h = layer(h)
        for o in h[0]:
            (g,) = torch.autograd.grad(o, patches, retain_graph=True)
            for group in range(groups):
                for q in range(g.shape[2]):
                    total += np.outer(g[group, :, q].double().numpy(), g[group, :, q].double().numpy())
    found: Any = sensitivity(at, x)
    assert product(found) == pytest.approx(total / len(x), rel=1e-3, abs=1e-5 * np.trace(total))
    assert (found.shape, found.patches) == ((4 // groups, 3, 3), True)


def test_tokens_are_patches():
    at, x = drawn(of(tokens), Toy(shape=(3, 6)))
    module = at.module((3, 6), 3)
    total = np.zeros((6, 6))
    for point in x:
        leaf = point[None].clone().requires_grad_()
        for o in module(leaf)[0]:
            (g,) = torch.autograd.grad(o, leaf, retain_graph=True)
            total += sum(np.outer(row, row) for row in g[0].double().numpy())
    found: Any = sensitivity(at, x)
    assert product(found) == pytest.approx(total / len(x), rel=1e-3, abs=1e-5 * np.trace(total))
    assert (found.shape, found.patches) == ((6,), True)


def test_the_measurement_is_made_of_these():
    run = ended(of(dense), Toy())
    found = Ansatz(points=25, top=3).measure(run)
    at, x = moments(run), chosen(run, "train", 25).x
    seen = [sensitivity(one, x) for one in at.values()]
    assert found.series["ansatz/step"].tolist() == [0, 10, 20]
    for name, cosine in (("correlation", outer_cosine), ("root_correlation", root_cosine)):
        expected = [cosine(one.factor, one.weight) for one in seen if one is not None and one.weight is not None]
        assert found.series[f"ansatz/{name}"] == pytest.approx(expected)
        assert (found.scalars[f"ansatz/{name}_start"], found.scalars[f"ansatz/{name}_end"]) == (
            pytest.approx(expected[0]),
            pytest.approx(expected[-1]),
        )
    assert (found.scalars["ansatz/defined"], found.scalars["ansatz/patches"]) == (1, 0)
    end: Any = seen[-1]
    values, vectors = np.linalg.eigh(product(end))
    assert found.arrays["ansatz/end/shares"] == pytest.approx(values[::-1][:3] / values.sum())
    directions = found.arrays["ansatz/end/directions"]
    assert directions.shape == found.arrays["ansatz/start/weight_directions"].shape == (3, 6)
    assert [abs(d @ v) for d, v in zip(directions, vectors.T[::-1], strict=False)] == pytest.approx([1, 1, 1], abs=1e-4)


def test_images():
    found = Ansatz(points=10).measure(ended(of(convolutional), Toy(shape=(2, 6, 6)), steps=4))
    assert found.arrays["ansatz/end/directions"].shape == found.arrays["ansatz/end/weight_directions"].shape
    assert found.arrays["ansatz/end/directions"].shape[1:] == (2, 3, 3)
    flat = Ansatz(points=10).measure(ended(FullyConnected(width=8, depth=2), Toy(shape=(2, 3, 3)), steps=4))
    assert flat.arrays["ansatz/end/directions"].shape == (8, 2, 3, 3)


def test_where_the_first_layer_is_not_linear():
    run = ended(of(attentive), Toy(shape=(3, 6)), steps=4)
    found = Ansatz(points=10).measure(run)
    assert (dict(found.series), dict(found.scalars)) == ({}, {"ansatz/defined": 1, "ansatz/patches": 0})
    assert found.arrays["ansatz/end/directions"].shape == (8, 3, 6)
    x, end = chosen(run, "train", 10).x, moments(run)[4]
    expected = naive_product(lambda leaf: end.network.apply(end.params, end.buffers, leaf)[0], x)
    values = np.linalg.eigvalsh(expected)[::-1]
    assert found.arrays["ansatz/end/shares"] == pytest.approx(values[:8] / values.sum(), abs=1e-5)


def test_numbers_of_words_have_no_directions():
    found = Ansatz(points=10).measure(ended(of(words), Toy(tokens=True), steps=4))
    assert (dict(found.scalars), dict(found.series), dict(found.arrays)) == ({"ansatz/defined": 0}, {}, {})


class Past(nn.Module):
    """The first layer is not all that sees the point, or does not see it as it is."""

    def __init__(self, in_dim: int, out_dim: int, way: str) -> None:
        super().__init__()
        self.way = way
        half = in_dim // 2 if way == "parts" else in_dim
        self.a, self.b, self.skip = nn.Linear(half, 8), nn.Linear(half, 8), nn.Linear(in_dim, out_dim)
        self.read = nn.Linear(8, out_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.way == "parts":
            return self.read(self.a(x[:, :3]).tanh() * self.b(x[:, 3:]).tanh())
        if self.way == "same layer twice":
            return self.read(self.a(x).tanh() * self.a(x.flip(1)).tanh())
        if self.way == "skip":
            return self.read(self.a(x).tanh()) + self.skip(x)
        if self.way == "zero skip":
            return self.read(self.a(x).tanh()) + x.sum(1, keepdim=True) * self.skip.bias
        return self.read(self.a(x.flip(1)).tanh())


class Straight(nn.Module):
    """All of the point passes the first layer, in a way that is easily missed."""

    def __init__(self, in_dim: int, out_dim: int, way: str) -> None:
        super().__init__()
        self.way, self.first, self.read = way, nn.Linear(in_dim, 8), nn.Linear(8, out_dim)
        self.relu = nn.ReLU(inplace=way == "in place")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.way == "scaled":
            x = (x - 1) / 255
        if self.way == "twice":
            return self.read(self.first(x).relu() + self.first(x).tanh())
        return self.read(self.relu(self.first(x)))


@pytest.mark.parametrize("way", ["parts", "same layer twice", "skip", "reordered"])
def test_where_the_first_layer_does_not_see_all(way):
    at, x = drawn(FromCopy.of(Past(6, 3, way)), Toy())
    found = sensitivity(at, x)
    assert found is not None and found.weight is None
    expected = naive_product(lambda leaf: at.network.apply(at.params, at.buffers, leaf)[0], x)
    assert product(found) == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (sees_all(at, x), found.shape, found.patches) == (False, (6,), False)


@pytest.mark.parametrize("way", ["in place", "scaled", "twice"])
def test_where_the_first_layer_sees_all(way):
    at, x = drawn(FromCopy.of(Straight(6, 3, way)), Toy())
    found = sensitivity(at, x)
    assert found is not None and found.weight is not None
    expected = naive_product(lambda leaf: at.network.apply(at.params, at.buffers, leaf)[0], x)
    factor = 1 / 255**2 if way == "scaled" else 1
    assert factor * product(found) == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.trace(expected))


def test_one_matrix_for_all_steps():
    """A skip connection that starts at zero shows only later, and then no step has correlations."""
    module = Past(6, 2, "zero skip")
    nn.init.zeros_(module.skip.bias)
    run = ended(FromCopy.of(module, fresh_start=False), Toy(kind="numbers"), steps=8)
    at, x = moments(run), chosen(run, "train", 10).x
    assert [sees_all(one, x) for one in at.values()] == [True, False, False]
    found = Ansatz(points=10).measure(run)
    assert dict(found.scalars) == {"ansatz/defined": 1, "ansatz/patches": 0, "ansatz/elsewhere": 1}
    assert not found.series
    assert {name.split("/")[-1] for name in found.arrays} == {"directions", "shares"}
