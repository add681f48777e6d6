"""The truncated square: its pieces, three continuous derivatives, and the bounds that it states."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from beyondkernels.activations import TruncatedSquare

BOUNDS = (0.3, 1.0, 7.0)
every_bound = pytest.mark.parametrize("bound", BOUNDS)


def derivatives(sigma, z, order):
    """σ̃ and its derivatives at points, by automatic differentiation."""
    functions = [lambda t: sigma.value(t)]
    for _ in range(order):
        functions.append(torch.func.grad(functions[-1]))
    return [torch.func.vmap(function)(z) for function in functions]


def conditions():
    """The polynomial f with f(0) = 1, f' = f'' = 2, f''' = 0 at 0 and flat at 1: rows and right sides."""
    rows, right = [], []
    for at, values in ((0, (1, 2, 2, 0)), (1, (None, 0, 0, 0))):
        for order, value in enumerate(values):
            if value is not None:
                row = [Fraction(0)] * 7
                for power in range(order, 7):
                    factor = Fraction(1)
                    for i in range(order):
                        factor *= power - i
                    row[power] = factor * (1 if power == order or at else 0)
                rows.append(row)
                right.append(Fraction(value))
    return rows, right


def test_the_transition_solves_its_seven_conditions():
    rows, right = conditions()
    f = np.linalg.solve(np.array(rows, dtype=float), np.array(right, dtype=float))
    t = np.linspace(0, 1, 21)
    expected = 9 * sum(a * t**i for i, a in enumerate(f))
    found = TruncatedSquare(3.0).value(torch.from_numpy(3 * (1 + t)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    assert f.sum() == pytest.approx(2.2)


@every_bound
def test_pieces(bound):
    sigma, z = TruncatedSquare(bound), torch.linspace(-1, 1, 41, dtype=torch.float64)
    assert torch.equal(sigma.value(bound * z), (bound * z) ** 2)
    assert torch.equal(sigma.derivative(bound * z), 2 * bound * z)
    far = torch.tensor([-1e9, -2.0, 2.0, 5.0, 1e200], dtype=torch.float64) * bound
    torch.testing.assert_close(sigma.value(far), torch.full_like(far, sigma.limit), rtol=1e-14, atol=0)
    assert not sigma.derivative(far).any()
    grown = sigma.value(bound * torch.linspace(0, 3, 4001, dtype=torch.float64)).diff()
    assert (grown >= -1e-12 * bound**2).all()
    assert (grown[:2660] > 0).all()  # up to the end of the transition


@every_bound
def test_three_derivatives_are_continuous(bound):
    sigma = TruncatedSquare(bound)
    for border in sigma.cuts:
        sides = torch.tensor([border * (1 - 1e-9), border * (1 + 1e-9)], dtype=torch.float64)
        for order, values in enumerate(derivatives(sigma, sides, 3)):
            size = bound ** (2 - order)
            assert abs(values[1] - values[0]) < 1e-6 * size, (border, order)
    fourth = derivatives(sigma, torch.tensor([bound * 0.999, bound * 1.001], dtype=torch.float64), 4)[4]
    assert abs(fourth[1] - fourth[0]) > bound**-2  # and no fourth


@every_bound
def test_the_derivative_by_three_routes(bound):
    sigma, z = TruncatedSquare(bound), bound * torch.linspace(-2.5, 2.5, 501, dtype=torch.float64)
    torch.testing.assert_close(sigma.derivative(z), derivatives(sigma, z, 1)[1], rtol=1e-12, atol=1e-12)
    h = 1e-5 * bound
    differences = (sigma.value(z + h) - sigma.value(z - h)) / (2 * h)
    torch.testing.assert_close(sigma.derivative(z), differences, rtol=1e-6, atol=1e-8 * bound)
