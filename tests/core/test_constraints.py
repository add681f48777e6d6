"""Each constraint: what it takes, and the sentence for what it does not."""

import math
from typing import Any

import pytest

from beyondkernels.core import constraints
from refusals import refused


@pytest.mark.parametrize(
    ("asked", "fine", "wrong", "sentence"),
    [
        (constraints.positive, (1, 1e-300, math.inf), 0, "must be positive, got 0"),
        (constraints.positive, (2,), math.nan, "must be positive, got nan"),
        (constraints.not_negative, (0, 0.0, 3), -1, "must not be negative, got -1"),
        (constraints.not_zero, (-1, 0.5), 0.0, "must be different from 0, got 0.0"),
        (constraints.at_least(2), (2, 3.5), 1, "must be at least 2, got 1"),
        (constraints.at_most(8), (8, -3), 9, "must be at most 8, got 9"),
        (constraints.between(0, 1), (0, 1, 0.5), 1.5, r"must lie in \[0, 1\], got 1.5"),
        (constraints.between(0, 1, "[)"), (0, 0.5), 1, r"must lie in \[0, 1\), got 1"),
        (constraints.between(0, 1, "()"), (0.5,), 0, r"must lie in \(0, 1\), got 0"),
        (constraints.even, (0, 2, -4), 3, "must be even, got 3"),
        (constraints.odd, (1, -3), 4, "must be odd, got 4"),
        (constraints.not_empty, ((1,), "a"), (), "must hold at least one value, got none"),
        (constraints.rising, ((), (1,), (1, 2, 2.5)), (1, 1), r"must hold increasing numbers, each once, got \(1, 1\)"),
        (constraints.rising, ((-1, 0),), (2, 1), r"must hold increasing numbers, each once, got \(2, 1\)"),
        (constraints.distinct, ((), (2, 1)), (1, 2, 1), r"must hold different values, got \(1, 2, 1\)"),
        (constraints.any_number, (math.nan, 2**70), None, None),
        (constraints.constraint("a square", lambda n: math.isqrt(n) ** 2 == n), (4, 9), 5, "must be a square, got 5"),
    ],
)
def test_constraint(asked: Any, fine: tuple[Any, ...], wrong: Any, sentence: str | None):
    for value in fine:
        asked("size", value)
    if sentence is not None:
        refused(f"^size {sentence}$", asked, "size", wrong)


def test_numbers_in_a_tuple_are_asked_one_by_one():
    constraints.positive("rates", (1, (2, 3)))
    refused(r"^rates must be positive, got -3$", constraints.positive, "rates", (1, (2, -3)))
