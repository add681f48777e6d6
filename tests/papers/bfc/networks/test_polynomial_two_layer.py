"""The two-layer network of trained polynomials, against polynomials summed term by term."""

import math

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.papers.bfc.networks import PolynomialTwoLayer


def drawn(network: PolynomialTwoLayer, in_dim: int = 3, out_dim: int = 1):
    params, _ = network.init(in_dim, out_dim, Stream(0))
    return {name: value + 0.3 * Stream(1).child(name).normal(*value.shape) for name, value in params.items()}


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("moments", [1.0, (0.5, 1.0, 2.0)])
def test_it_is_the_sum_of_its_polynomials(squares, moments):
    network = PolynomialTwoLayer(4, 5, squares, moments)
    params = drawn(network, out_dim=2)
    x = Stream(2).normal(6, 3, dtype=torch.float64)
    out, _ = network.apply(params, {}, x)
    z = torch.cat([x, x**2 - torch.tensor(moments, dtype=torch.float64)], 1) if squares else x
    c = params["output.weight"].view(2, 4, 5)
    for n in range(6):
        for k in range(2):
            total = float(params["output.bias"][k])
            for i in range(4):
                t = float(params["hidden.weight"][i] @ z[n] + params["hidden.bias"][i])
                for q in range(1, 6):
                    series = [0.0] * q + [1.0]
                    value = np.polynomial.hermite_e.hermeval(t, series) / math.sqrt(math.factorial(q))
                    total += float(c[k, i, q - 1]) * value
            assert float(out[n, k]) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(("squares", "degree"), [(True, 4), (False, 8)])
def test_its_degree_is_that_of_three_layers(squares, degree):
    """Differences of one order above the degree vanish along any line, those of the degree do not."""
    network = PolynomialTwoLayer(3, degree, squares)
    params = drawn(network)
    line = torch.arange(10, dtype=torch.float64)[:, None] * torch.tensor([[0.3, -1.0, 0.7]], dtype=torch.float64)
    values = network.apply(params, {}, line)[0][:, 0].numpy()
    assert abs(np.diff(values, 8)).min() > 1e-3
    assert abs(np.diff(values, 9)).max() < 1e-9 * abs(values).max()


def test_sentences():
    with pytest.raises(InputError, match=r"^second_moments must hold one number for each of the 3 coordinates, got"):
        PolynomialTwoLayer(2, 2, second_moments=(1.0, 2.0)).init(3, 1, Stream(0))
