"""Errors that a user can cause. Each is one sentence: what was wrong, which value came, which value would do."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

_BETWEEN = ("beyondkernels", "sklearn")
"""Packages whose frames lie between a user's line and ours."""


class InputError(ValueError):
    """An argument or a file of the user is wrong. The message names it, the value that came, and one that would do."""


class StoreError(InputError):
    """A store cannot be used: not a store, written by a newer version, read-only or full."""


class DivergedError(ArithmeticError):
    """A number stopped being finite. That ends the run and is its result; it is no mistake of the user."""


class UncacheableError(InputError):
    """A configuration has no stable identity, so a run of it cannot be stored."""


def require(condition: bool, sentence: str) -> None:
    """Raise :class:`InputError` with ``sentence`` unless ``condition`` holds."""
    if not condition:
        raise InputError(sentence)


def shown(value: Any, limit: int = 80) -> str:
    """A value as a sentence repeats it: on one line, and cut where it is long.

    >>> shown("relu"), shown(0.5), len(shown("x" * 1000))
    ("'relu'", '0.5', 80)
    """
    if isinstance(value, str | bytes | list | tuple) and len(value) > limit:
        value = value[:limit]  # each item takes at least one character; a long list takes long to write out
    try:
        text = " ".join(repr(plain_number(value)).split())
    except Exception:  # a repr of someone else's, or a whole number of more digits than Python writes
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def warn(sentence: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, whatever lies between that line and here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, kind, stacklevel=level)


def plain_number(value: Any) -> Any:
    """The Python number in a scalar of numpy or torch; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def require_positive(name: str, value: float) -> None:
    """Ask that a size or a scale is positive.

    >>> require_positive("pairs", 0)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: pairs must be positive, got 0
    """
    _require_number(name, value)
    require(bool(value > 0), f"{name} must be positive, got {shown(value)}")


def require_whole(name: str, value: object, least: int | None = 1) -> None:
    """Ask for a whole number of at least ``least``; None accepts any whole number.

    >>> require_whole("n", 2.5)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: n must be a whole number, got 2.5
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, got {shown(value)}")
    if least is not None and value < least:
        raise InputError(f"{name} must be {'positive' if least == 1 else f'at least {least}'}, got {shown(value)}")


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
    require(bool(above and below), f"{name} must lie in {brackets[0]}{low}, {high}{brackets[1]}, got {shown(value)}")


def _require_number(name: str, value: Any) -> None:
    """Ask for something that can be compared with a number: a number of Python, NumPy or PyTorch."""
    try:
        _ = bool(value > 0)
    except Exception:  # text has no order with numbers, an array has several answers
        raise InputError(f"{name} must be a number, got {shown(value)}") from None


def unknown(kind: str, name: str, known: Iterable[str], listed_by: str = "") -> NoReturn:
    """Raise an :class:`InputError` that offers the nearest known names, or all if none is near.

    Arguments:
        kind: what the name should be one of.
        name: what was given.
        known: the names there are.
        listed_by: the command that lists them, where they are too many for a sentence.

    >>> unknown("scale", "labtop", ["smoke", "laptop", "paper"])
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: unknown scale 'labtop', did you mean laptop?
    """
    names = list(known)
    near = difflib.get_close_matches(str(name)[:80], names, n=3, cutoff=0.5)
    every = f"{listed_by} lists all {len(names)}" if listed_by else f"known: {', '.join(names)}"
    hint = f"did you mean {' or '.join(near)}?" if near else every
    raise InputError(f"unknown {kind} {shown(name)}, {hint}")
