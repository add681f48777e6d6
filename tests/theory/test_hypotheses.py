"""Hypotheses: whether, by how much, and how they read."""

import math

import pytest

from beyondkernels.theory import Hypothesis


@pytest.mark.parametrize(
    ("measured", "bound", "at_least", "holds", "factor", "verdict"),
    [
        (300, 100, True, True, 3, "holds by a factor 3"),
        (100, 300, True, False, 1 / 3, "misses by a factor 3"),
        (100, 300, False, True, 3, "holds by a factor 3"),
        (300, 100, False, False, 1 / 3, "misses by a factor 3"),
        (5, 5, True, True, 1, "holds by a factor 1"),
        (5, 5, False, True, 1, "holds by a factor 1"),
        (0, 5, True, False, 0, "misses by a factor inf"),
        (5, 0, True, True, math.inf, "holds by a factor inf"),
        (0, 5, False, True, math.inf, "holds by a factor inf"),
        (5, 0, False, False, 0, "misses by a factor inf"),
    ],
)
def test_verdicts(measured, bound, at_least, holds, factor, verdict):
    hypothesis = Hypothesis("what is asked", measured, bound, at_least)
    assert hypothesis.holds is holds
    assert hypothesis.factor == pytest.approx(factor)
    assert str(hypothesis) == f"{verdict}: what is asked ({measured} against {bound})"
