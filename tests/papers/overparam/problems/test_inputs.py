"""Inputs of norm 1 with last coordinate 1/2."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.data import Cube, Gaussian, Sphere
from beyondkernels.papers.overparam.problems import Padded, SignalInputs, UnitInputs, padded, require_unit_inputs

N = 20_000
INPUTS = {
    "unit": UnitInputs(6),
    "smallest": UnitInputs(2),
    "signal": SignalInputs(8, relevant=3, share=0.4),
    "padded": Padded.of(Cube(4, side=1.0), radius=2.5),
    "padded sphere": Padded.of(Sphere(3)),
}


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS)
def test_norm_and_last_coordinate(inputs):
    x = inputs.draw(50, Stream(1))
    assert x.shape == (50, inputs.dim)
    require_unit_inputs("x", x)
    assert inputs.length == 1


def test_unit_inputs_are_uniform():
    """Mean zero and covariance (3/4) I / (d − 1), within six standard errors."""
    x = UnitInputs(5).draw(N, Stream(2))[:, :-1]
    assert bool((x.mean(0).abs() < 6 * math.sqrt(0.75 / 4 / N)).all())
    products = torch.einsum("ni,nj->nij", x, x)
    exact = 0.75 / 4 * torch.eye(4, dtype=torch.float64)
    assert bool(((products.mean(0) - exact).abs() < 6 * products.std(0) / math.sqrt(N)).all())


def test_signals_do_not_depend_on_the_dimension():
    small, large = (SignalInputs(dim, relevant=3, share=0.4).draw(7, Stream(3)) for dim in (5, 40))
    torch.testing.assert_close(small[:, :3], large[:, :3])
    torch.testing.assert_close(small[:, :3].square().sum(1), torch.full((7,), 0.4, dtype=torch.float64))


def test_padding_keeps_inner_products():
    """⟨x, x′⟩ becomes (3/4)(⟨x, x′⟩ + what the second last coordinates add) + 1/4."""
    x = 0.3 * Stream(4).normal(6, 3, dtype=torch.float64)
    found = padded(x, radius=2.0)
    for i in range(6):
        for j in range(6):
            u, v = x[i] / 2, x[j] / 2
            rest = math.sqrt(1 - float(u @ u)) * math.sqrt(1 - float(v @ v))
            assert float(found[i] @ found[j]) == pytest.approx(0.75 * (float(u @ v) + rest) + 0.25)


def test_padded_inputs_list_their_points():
    listed: Any = Padded.of(Cube(3)).points(100)
    require_unit_inputs("x", listed)
    assert Padded.of(Gaussian(3), 4.0).points(100) is None


def test_arrays_lists_and_whole_numbers_are_padded_too():
    wanted = padded(torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    given: list[Any] = [[[0.0, 1.0]], torch.tensor([[0, 1]]), np.array([[0.0, 1.0]])]
    for x in given:
        torch.testing.assert_close(padded(x).double(), wanted)
