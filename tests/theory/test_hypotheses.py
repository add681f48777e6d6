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
        (0, 5, False, True, math.inf, "holds by a factor inf"),
    ],
)
def test_verdicts(measured, bound, at_least, holds, factor, verdict):
    hypothesis = Hypothesis("what is asked", measured, bound, at_least)
    assert hypothesis.holds is holds
    assert hypothesis.factor == pytest.approx(factor)
    assert str(hypothesis) == f"{verdict}: what is asked ({measured} against {bound})"


@pytest.mark.parametrize(("measured", "holds"), [(0, True), (1e-15, True), (0.085, False)])
def test_what_must_vanish(measured, holds):
    hypothesis = Hypothesis("nothing is there", measured, 0, at_least=False)
    assert hypothesis.holds is holds
    assert str(hypothesis) == f"{'holds' if holds else 'fails'}: nothing is there ({measured:.4g})"
