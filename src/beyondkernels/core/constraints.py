"""Constraints on the values of a field, written where the field is declared.

The annotation gives the type, and ``Annotated`` adds constraints:

    width: Annotated[int, at_least(2)]
    momentum: Annotated[float, between(0, 1, "[)")] = 0.9
    widths: Annotated[tuple[int, ...], positive, rising] = (50, 100)
    ridge: Annotated[float, not_negative] | None = None

A constraint on numbers applies to each number in a tuple. :mod:`beyondkernels.core.fields` checks all constraints when
a component is made, and when a setting of an experiment is changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beyondkernels.core.errors import require, require_between, require_positive, shown


@dataclass(frozen=True)
class Constraint:
    """A condition on a value that already has the right type.

    Arguments:
        words: what is asked, as it follows "must be".
        ask: called with the field's name and the value; raises an ``InputError`` that says what is wrong.
        of_each: whether a tuple is asked number by number.
    """

    words: str
    ask: Callable[[str, Any], None]
    of_each: bool = True

    def __call__(self, name: str, value: Any) -> None:
        """Check a value, or each value in a tuple."""
        if self.of_each and isinstance(value, tuple):
            for item in value:
                self(name, item)
        else:
            self.ask(name, value)


def constraint(words: str, holds: Callable[[Any], bool], *, of_each: bool = True, verb: str = "be") -> Constraint:
    """A constraint from a condition.

    Arguments:
        words: what is asked, as it follows "must be".
        holds: whether a value is fine.
        of_each: whether a tuple is asked number by number.
        verb: another verb than "be".

    >>> constraint("a power of two", lambda n: n & (n - 1) == 0)("points", 12)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: points must be a power of two, got 12
    """

    def ask(name: str, value: Any) -> None:
        require(holds(value), f"{name} must {verb} {words}, got {shown(value)}")

    return Constraint(words, ask, of_each)


def at_least(least: float) -> Constraint:
    """A number of ``least`` or more."""
    return constraint(f"at least {least}", lambda value: value >= least)


def at_most(most: float) -> Constraint:
    """A number of ``most`` or less."""
    return constraint(f"at most {most}", lambda value: value <= most)


def between(low: float, high: float, brackets: str = "[]") -> Constraint:
    """In an interval; ``brackets`` says which ends belong to it."""
    words = f"in {brackets[0]}{low}, {high}{brackets[1]}"
    return Constraint(words, lambda name, value: require_between(name, value, low, high, brackets))


positive = Constraint("positive", require_positive)
"""More than 0."""

LARGEST_SIZE = 1_000_000
"""The most coordinates, patterns or terms that a problem may have: what they take is allocated when it is made."""


def _require_size(name: str, value: Any) -> None:
    require_positive(name, value)
    require(value <= LARGEST_SIZE, f"{name} must be at most {LARGEST_SIZE}, got {shown(value)}")


size = Constraint("a size", _require_size)
"""A positive number of things that are all held in memory."""

not_negative = Constraint(
    "not negative", lambda name, value: require(value >= 0, f"{name} must not be negative, got {shown(value)}")
)
"""At least 0."""

not_zero = constraint("different from 0", lambda value: value != 0)
"""A number other than 0."""

even = constraint("even", lambda value: value % 2 == 0)
"""An even number."""

odd = constraint("odd", lambda value: value % 2 == 1)
"""An odd number."""

not_empty = Constraint(
    "not empty", lambda name, value: require(len(value) > 0, f"{name} must hold at least one value, got none"), False
)
"""At least one value."""

rising = constraint(
    "increasing numbers, each once",
    lambda values: all(one < other for one, other in itertools.pairwise(values)),
    of_each=False,
    verb="hold",
)
"""Each number more than the one before."""

distinct = constraint("different values", lambda values: len({*values}) == len(values), of_each=False, verb="hold")
"""No value twice."""

any_number = Constraint("any number", lambda *_: None)
"""Any number, also infinite, NaN, or a whole number too large for a tensor."""
