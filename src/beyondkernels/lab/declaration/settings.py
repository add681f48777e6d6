"""Settings of experiments: frozen dataclasses whose fields say whose choice each number is."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from beyondkernels.core import InputError, unknown
from beyondkernels.core.constraints import at_most, between, not_empty, positive, rising
from beyondkernels.core.errors import shown
from beyondkernels.core.fields import check_value, hints_of
from beyondkernels.lab.report import Setting
from beyondkernels.lab.report.pages import Origin

Count = Annotated[int, positive]
Seeds = Annotated[int, positive, at_most(1000)]
Size = Annotated[float, positive, between(1e-30, 1e30)]
Counts = Annotated[tuple[int, ...], positive, rising, not_empty]
Sizes = Annotated[tuple[float, ...], positive, between(1e-30, 1e30), rising, not_empty]
Backend = Literal["compiled", "eager"]
"""What most settings are; a setting that asks for something else says so in its own annotation."""


def setting(default: Any, origin: Origin, why: str = "") -> Any:
    """A field of a settings dataclass.

    What it may hold is said in its annotation, as for any component:

        widths: Annotated[tuple[int, ...], positive, rising] = setting((50, 100), "paper")

    Types and constraints (:mod:`beyondkernels.core.constraints`) are checked whenever a setting is changed, and when
    the settings are made if their class is derived from :class:`beyondkernels.core.Checked`.

    Arguments:
        default: its value at the paper's scale.
        origin: ``paper``, ``theorem`` or ``ours``.
        why: why it is so, where that is not plain.
    """
    check_value("origin", origin, Origin)
    return dataclasses.field(default=default, metadata={"origin": origin, "why": why})


def described(settings: Any, reference: Any) -> list[Setting]:
    """The settings with their origin; one that differs from the reference (the paper's scale) is our choice.

    Arguments:
        settings: the settings in use.
        reference: those of the paper's scale.
    """
    listed = []
    for field in dataclasses.fields(settings):
        value, theirs = getattr(settings, field.name), getattr(reference, field.name)
        origin, why = field.metadata.get("origin", "ours"), field.metadata.get("why", "")
        if value != theirs and origin != "ours":
            origin, why = "ours", f"differs from the {origin}'s {theirs}"
        elif value != theirs:  # the reason is that of the value at the paper's scale
            why = f"at paper scale {theirs}{f': {why}' if why else ''}"
        listed.append(Setting(field.name, value, origin, why))
    return listed


def departures(settings: Any, reference: Any) -> tuple[str, ...]:
    """The settings of the paper that have another value here, so that what it prints does not compare.

    A shorter list of the paper's own values is no departure, nor are more or fewer seeds and test points.

    Arguments:
        settings: the settings in use.
        reference: those of the paper's scale.
    """
    found = []
    for field in dataclasses.fields(settings):
        value, theirs = getattr(settings, field.name), getattr(reference, field.name)
        precision = field.name in ("seeds", "test_samples")
        shorter = isinstance(value, tuple) and isinstance(theirs, tuple) and set(value) <= set(theirs)
        if field.metadata.get("origin") == "paper" and value != theirs and not precision and not shorter:
            found.append(field.name)
    return tuple(found)


def changed(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Settings with some values replaced.

    Arguments:
        settings: the settings to start from.
        changes: new values by name; text is read as the field's type, nothing is evaluated.
    """
    hints, constrained = typing.get_type_hints(type(settings)), hints_of(type(settings))
    names = [field.name for field in dataclasses.fields(settings)]
    values = {}
    for name, value in changes.items():
        if name not in names:
            unknown("setting", name, names)
        values[name] = check_value(name, parsed(name, value, hints[name]), constrained[name])
    return dataclasses.replace(settings, **values)


def parsed(name: str, value: Any, kind: Any) -> Any:
    """A value read as a type: a number, a word, yes or no, one of several words, or a list of these.

    >>> parsed("steps", "600", int), parsed("rate", "5e1", float), parsed("exact", "yes", bool)
    (600, 50.0, True)
    >>> parsed("rates", "0.1, 0.2", tuple[float, ...])
    (0.1, 0.2)
    >>> parsed("steps", "many", int)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: steps must be a whole number, got 'many'
    """
    options = typing.get_args(kind)
    if type(None) in options:
        if value is None or value == "none":
            return None
        return parsed(name, value, next(option for option in options if option is not type(None)))
    if typing.get_origin(kind) is tuple:
        items = [item for item in value.split(",") if item.strip()] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise InputError(f"{name} must be a list, got {shown(value)}")
        return tuple(parsed(name, item, options[0]) for item in items)
    if typing.get_origin(kind) is Literal:
        if not isinstance(value, str) or value not in options:
            unknown(name, value if isinstance(value, str) else shown(value), options)
        return value
    if kind not in _READERS:
        raise InputError(f"{name} cannot be set from outside: it is neither a number, nor a word, nor a list of these")
    words, read = _READERS[kind]
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError, KeyError):
        raise InputError(f"{name} must be {words}, got {shown(value)}") from None


def as_word(value: Any) -> str:
    """A value as ``--set`` takes it: what :func:`parsed` reads back.

    >>> as_word(0.5), as_word(None), as_word(True), as_word((1, 2))
    ('0.5', 'none', 'yes', '1,2')
    """
    if isinstance(value, tuple | list):
        return ",".join(map(as_word, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _whole(value: Any) -> int:
    number = int(value)
    if isinstance(value, bool) or (not isinstance(value, str) and number != value):
        raise ValueError
    return number


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _truth(value: Any) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[str(value).lower()]


_READERS: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    int: ("a whole number", _whole),
    float: ("a finite number", _number),
    str: ("a word", _text),
    bool: ("yes or no", _truth),
}
