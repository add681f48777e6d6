"""Settings of experiments: frozen dataclasses whose fields say whose choice each number is."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from beyondkernels.core import InputError, unknown
from beyondkernels.reports import Setting
from beyondkernels.reports.pages import Origin


def setting(default: Any, origin: Origin, why: str = "") -> Any:
    """A field of a settings dataclass.

    Arguments:
        default: its value at the paper's scale.
        origin: ``paper``, ``theorem`` or ``ours``.
        why: why it is so, where that is not plain.
    """
    return dataclasses.field(default=default, metadata={"origin": origin, "why": why})


def described(settings: Any, reference: Any) -> list[Setting]:
    """The settings with their origin; one that differs from the reference (the paper's scale) is our choice."""
    listed = []
    for field in dataclasses.fields(settings):
        value, theirs = getattr(settings, field.name), getattr(reference, field.name)
        origin, why = field.metadata["origin"], field.metadata["why"]
        if value != theirs and origin != "ours":
            origin, why = "ours", f"differs from the {field.metadata['origin']}'s {theirs}"
        listed.append(Setting(field.name, value, origin, why))
    return listed


def changed(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Settings with some values replaced.

    Arguments:
        settings: the settings to start from.
        changes: new values by name; text is read as the field's type, nothing is evaluated.
    """
    hints = typing.get_type_hints(type(settings))
    names = [field.name for field in dataclasses.fields(settings)]
    values = {}
    for name, value in changes.items():
        if name not in names:
            unknown("setting", name, names)
        values[name] = parsed(name, value, hints[name])
    return dataclasses.replace(settings, **values)


def parsed(name: str, value: Any, kind: Any) -> Any:
    """A value read as a type.

    >>> parsed("steps", "600", int), parsed("rate", "5e1", float), parsed("exact", "yes", bool)
    (600, 50.0, True)
    >>> parsed("steps", "many", int)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: steps must be a whole number, got 'many'
    """
    options = typing.get_args(kind)
    if type(None) in options:
        if value is None or value == "none":
            return None
        kind = next(option for option in options if option is not type(None))
    if kind is bool:
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, bool):
            return value
        if str(value).lower() in known:
            return known[str(value).lower()]
        raise InputError(f"{name} must be yes or no, got {value!r}")
    words = {int: "a whole number", float: "a number", str: "a word"}[kind]
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | str)
        or (kind is str and not isinstance(value, str))
    ):
        raise InputError(f"{name} must be {words}, got {value!r}")
    try:
        read = kind(value)
    except ValueError:
        raise InputError(f"{name} must be {words}, got {value!r}") from None
    if kind is int and not isinstance(value, str) and read != value:
        raise InputError(f"{name} must be {words}, got {value!r}")
    if kind is float and read != read:
        raise InputError(f"{name} must be {words}, got {value!r}")
    return read
