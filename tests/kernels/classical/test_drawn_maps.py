"""Feature maps of Theorem 3: derivatives by automatic differentiation, parities by hand."""

import itertools

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.data.inputs import corners
from beyondkernels.kernels import DerivativeFeatures, ParityFeatures
from refusals import refused


@pytest.mark.parametrize("activation", ["relu", "sine"])
def test_derivatives_are_those_of_a_two_layer_network(activation):
    n, d, neurons, sigma = 5, 3, 2, {"relu": torch.relu, "sine": torch.sin}[activation]
    x = Stream(0).normal(n, d, dtype=torch.float64)
    stream = Stream(4)
    features = DerivativeFeatures(neurons * (d + 2), activation, weight_std=0.7, bias_std=0.5)
    w = 0.7 * stream.child("weights").normal(neurons, d, dtype=torch.float64)
    b = 0.5 * stream.child("biases").normal(neurons, dtype=torch.float64)

    one = torch.ones(neurons, dtype=torch.float64)
    params = [value.requires_grad_() for value in (one, b, w)]
    rows = []
    for point in x:
        a_, b_, w_ = torch.autograd.grad((one * sigma(w @ point + b)).sum(), params)
        rows.append(torch.cat([a_[:, None], b_[:, None], w_], 1).flatten())
    assert torch.allclose(features.draw(x, stream), torch.stack(rows), atol=1e-12)
    fewer = DerivativeFeatures(neurons * (d + 2) - 3, activation, weight_std=0.7, bias_std=0.5)
    assert torch.equal(fewer.draw(x, stream), features.draw(x, stream)[:, :-3])


def test_coordinates_and_then_parities():
    x = corners(5) / 5**0.5
    phi = ParityFeatures(5 + 10, 3).draw(x, Stream(1))
    assert torch.equal(phi[:, :5], corners(5))
    every = {tuple(corners(5)[:, list(S)].prod(1).tolist()) for S in itertools.combinations(range(5), 3)}
    assert {tuple(column.tolist()) for column in phi[:, 5:].T} == every
    assert torch.equal(ParityFeatures(7, 3).draw(x, Stream(1)), phi[:, :7])
    assert not torch.equal(ParityFeatures(7, 3).draw(x, Stream(2)), phi[:, :7])
    assert torch.equal(ParityFeatures(2, 3).draw(x, Stream(1)), phi[:, :2])
    refused("at most 15: 5 coordinates and 10 parities of degree 3, got 16", ParityFeatures(16, 3).draw, x, Stream(1))
