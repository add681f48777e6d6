"""Errors a user can cause, each a single sentence that says what came and what would do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NoReturn


class InputError(ValueError):
    """Something the user gave is wrong; the message names it, what came, and what would do."""


class StoreError(InputError):
    """A store cannot be used: not a store, written by a newer version, read-only or full."""


class DivergedError(ArithmeticError):
    """A number stopped being finite: the end of a run, which is a result, not a mistake of the user."""


class UncacheableError(InputError):
    """A configuration has no stable identity, so a run of it cannot be stored."""


def require(condition: bool, sentence: str) -> None:
    """Raise :class:`InputError` with ``sentence`` unless ``condition`` holds."""
    if not condition:
        raise InputError(sentence)


def require_positive(name: str, value: float) -> None:
    """Ask that a size or a scale is positive.

    >>> require_positive("pairs", 0)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: pairs must be positive, got 0
    """
    _require_number(name, value)
    require(value > 0, f"{name} must be positive, got {value}")


def require_whole(name: str, value: object, least: int | None = 1) -> None:
    """Ask for a whole number that is large enough, or for any.

    >>> require_whole("n", 2.5)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: n must be a whole number, got 2.5
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    if least is not None and value < least:
        raise InputError(f"{name} must be {'positive' if least == 1 else f'at least {least}'}, got {value}")


def require_between(name: str, value: float, low: float, high: float, brackets: str = "[]") -> None:
    """Ask that a number lies in an interval; ``brackets`` says which ends belong to it.

    >>> require_between("background", 0.7, 0, 0.5, "(]")
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: background must lie in (0, 0.5], got 0.7
    """
    _require_number(name, value)
    above = value >= low if brackets[0] == "[" else value > low
    below = value <= high if brackets[1] == "]" else value < high
    require(above and below, f"{name} must lie in {brackets[0]}{low}, {high}{brackets[1]}, got {value}")


def _require_number(name: str, value: Any) -> None:
    """Ask for what can be compared with a number, from whichever library."""
    try:
        _ = value > 0
    except TypeError:
        raise InputError(f"{name} must be a number, got {value!r}") from None


def unknown(kind: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise an :class:`InputError` that offers the nearest known names.

    >>> unknown("scale", "labtop", ["smoke", "laptop", "paper"])
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: unknown scale 'labtop', did you mean laptop?
    """
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    raise InputError(f"unknown {kind} {name!r}, {hint}")
