"""Hypotheses: whether, by how much, and how they read."""

import math

import pytest

from beyondkernels.core import Hypothesis


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


@pytest.mark.parametrize("at_least", [True, False])
def test_a_strict_one_does_not_hold_at_equality(at_least):
    away = 0.1 if at_least else -0.1
    assert not Hypothesis("what is asked", 5, 5, at_least, strict=True).holds
    assert not Hypothesis("what is asked", 5 * (1 + 1e-15), 5, True, strict=True).holds
    assert Hypothesis("what is asked", 5 + away, 5, at_least, strict=True).holds
    assert not Hypothesis("what is asked", 5 - away, 5, at_least, strict=True).holds


@pytest.mark.parametrize(("measured", "holds"), [(0, True), (1e-15, True), (0.085, False)])
def test_what_must_vanish(measured, holds):
    hypothesis = Hypothesis("nothing is there", measured, 0, at_least=False)
    assert hypothesis.holds is holds
    assert str(hypothesis) == f"{'holds' if holds else 'fails'}: nothing is there ({measured:.4g})"


@pytest.mark.parametrize("scale", [1e-300, 1e-13, 1.0, 1e13, 1e300])
@pytest.mark.parametrize("at_least", [True, False])
def test_rounding_is_relative_to_the_bound(scale, at_least):
    worse = -1 if at_least else 1
    for part, holds in [(0.0, True), (1e-13, True), (1e-11, False), (0.5, False)]:
        hypothesis = Hypothesis("tiny or huge", scale * (1 + worse * part), scale, at_least)
        assert hypothesis.holds is holds
        assert Hypothesis("the other side", -hypothesis.measured, -scale, not at_least).holds is holds


@pytest.mark.parametrize(
    ("measured", "bound", "at_least", "holds"),
    [
        (5, math.inf, True, False),
        (5, math.inf, False, True),
        (math.inf, math.inf, True, True),
        (math.inf, 5, False, False),
        (math.nan, 5, True, False),
        (5, math.nan, False, False),
        (0.0, 1e-14, True, False),
    ],
)
def test_what_is_no_number_to_compare_with(measured, bound, at_least, holds):
    assert Hypothesis("strange", measured, bound, at_least).holds is holds
