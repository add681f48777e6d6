"""Two-layer maps and maps of general complexity against loops, their norms, and Lemma A.2."""

import math

import pytest
import torch

from beyondkernels.activations import Cosine, Exponential, Polynomial, Sigmoid, Sine, identity, quadratic
from beyondkernels.core import Stream
from beyondkernels.data import CircleMap, DrawnMap, GivenMap, absorbed
from beyondkernels.papers.resnet.problems import DrawnGeneralMap, GeneralForm

MIXED = GivenMap(
    weights=[[[1.0, 2.0, 0.0], [0.5, -0.5, 0.1]], [[0.0, 0.0, 3.0], [1.0, 1.0, 1.0]]],  # pyright: ignore[reportArgumentType]
    readout=[[0.3, -4.0], [1.0, 2.0]],  # pyright: ignore[reportArgumentType]
    function=((Sine(), quadratic), (Exponential(), Sine())),
)
MAPS = {
    "mixed": MIXED,
    "absorbed": absorbed(MIXED),
    "scaled": MIXED.scaled(-2.0, inside=0.5),
    "drawn": DrawnMap(dim=5, outputs=3, count=4, function=Polynomial((1.0, 2.0, 3.0, -1.0)), instance=7),
    "circles": CircleMap(dim=4, outputs=6, frequency=3.0),
    "general": DrawnGeneralMap(dim=4, outputs=2, count=3, function=Sine(2.0)),
    "form of drawn": GeneralForm(DrawnMap(5, 3, 4, Exponential(1.5), 1)),
    "form of circles": GeneralForm(CircleMap(4, 6, 3.0)),
    "form of mixed": GeneralForm(absorbed(MIXED)),
}
every = pytest.mark.parametrize("source", MAPS.values(), ids=MAPS.keys())


@every
def test_values_are_those_of_the_loop(source, literal):
    x = Stream(3).normal(6, source.in_dim, dtype=torch.float64)
    expected = torch.tensor([literal(source, row.tolist()) for row in x], dtype=torch.float64)
    torch.testing.assert_close(source(x), expected, rtol=1e-12, atol=1e-12)
    assert source(x[:0]).shape == (0, source.out_dim)


def test_absorbed_has_the_norms_and_the_values():
    """Footnote 10."""
    tidy = absorbed(MIXED)
    for r in range(2):
        for i in range(2):
            assert math.hypot(*tidy.weights[r][i]) == pytest.approx(1 / math.sqrt(2))
            assert abs(tidy.readout[r][i]) <= 1
    x = Stream(0).normal(20, 3, dtype=torch.float64)
    torch.testing.assert_close(tidy(x), MIXED(x))


def test_drawn_norms():
    drawn = DrawnMap(dim=5, outputs=3, count=4, function=identity)
    torch.testing.assert_close(drawn.directions.norm(dim=2), torch.full((3, 4), math.sqrt(0.5), dtype=torch.float64))
    assert float(drawn.coefficients.abs().max()) <= 1
    assert float(drawn.coefficients.min()) < 0
    assert not torch.equal(drawn.directions, DrawnMap(5, 3, 4, identity, instance=1).directions)
    general = MAPS["general"]
    for which in (general.first, general.second):
        torch.testing.assert_close(which.norm(dim=2), torch.ones(2, 3, dtype=torch.float64))
    assert not torch.equal(general.first, general.second)


def test_circles_have_length_one_everywhere():
    x = 5 * Stream(0).normal(50, 4, dtype=torch.float64)
    torch.testing.assert_close(CircleMap(4, 6, 3.0)(x).norm(dim=1), torch.ones(50, dtype=torch.float64))


@pytest.mark.parametrize("function", [Exponential(1.5), Sigmoid(), Cosine(2.0), Polynomial((1.0, 2.0, 3.0, 4.0, 5.0))])
def test_lemma_a2(function):
    """F′ = F at unit vectors, and only there; twice as many terms; directions of length one; a* in [−1, 1]."""
    plain = DrawnMap(dim=5, outputs=3, count=2, function=function, instance=4)
    form = GeneralForm(plain)
    x = Stream(1).normal(40, 5, dtype=torch.float64)
    unit = x / x.norm(dim=1, keepdim=True)
    torch.testing.assert_close(form(unit), plain(unit), rtol=0, atol=1e-12)
    assert float((form(2 * unit) - plain(2 * unit)).abs().max()) > 1e-3
    assert form.terms == 2 * plain.terms
    for which in (form.first, form.second):
        torch.testing.assert_close(which.norm(dim=2), torch.ones(3, 4, dtype=torch.float64))
    assert float(form.coefficients.abs().max()) <= 1
