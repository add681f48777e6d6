"""Checks the fields of dataclasses against their annotations, when an instance is made.

Types are read from the annotation and ranges from the constraints in it (:mod:`beyondkernels.core.constraints`).
Values that mean the same are kept in one form: a scalar of numpy or torch becomes a Python number, a list becomes a
tuple, a whole number in a tuple of floats becomes a float.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

from beyondkernels.core.constraints import Constraint, any_number
from beyondkernels.core.errors import InputError, plain_number, shown

LARGEST = 2**63 - 1
"""The largest whole number that can count the entries of a tensor."""


class WrongTypeError(InputError):
    """A value is of another type than its field."""


class Checked:
    """The base of dataclasses that check their fields when an instance is made, before ``__post_init__``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _after_check(cls.__post_init__)

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(instance: Any) -> None:
    """Check every field of a dataclass against its annotation, and bring each value into one form."""
    for name, kind in _kinds(type(instance)).items():
        value = getattr(instance, name)
        kept = kind.read(name, value)
        if kept is not value:
            object.__setattr__(instance, name, kept)


def check_value(name: str, value: Any, hint: Any) -> Any:
    """The value in the form that a field with this annotation keeps; an ``InputError`` if it does not fit.

    >>> check_value("widths", [8, 16], tuple[int, ...])
    (8, 16)
    >>> check_value("steps", True, int)
    Traceback (most recent call last):
        ...
    beyondkernels.core.fields.WrongTypeError: steps must be a whole number, got True
    """
    return reader(hint)(name, value)


def reader(hint: Any) -> Callable[[str, Any], Any]:
    """:func:`check_value` for one annotation and many values, of which only name and value are left to give."""
    return _kind(hint).read


def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields, with the constraints in them."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError:  # a class inside a function may use names that exist only there
        return {}


@dataclass(frozen=True)
class _Kind:
    """What a field takes.

    Arguments:
        options: what that is, as it follows "must be"; each of them would do.
        read: called with the field's name and a value; gives the value as it is kept or raises an ``InputError``.
    """

    options: tuple[str, ...]
    read: Callable[[str, Any], Any]


def _after_check(own: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(own)
    def post_init(self: Any, *arguments: Any) -> None:
        if type(self).__post_init__ is post_init:  # checked once, by the class of the instance and not by its parents
            check_fields(self)
        own(self, *arguments)

    return post_init


@functools.cache
def _kinds(cls: type) -> dict[str, _Kind]:
    hints, fields = hints_of(cls), dataclasses.fields(typing.cast(Any, cls))
    return {field.name: _kind(hints[field.name]) for field in fields if field.init and field.name in hints}


def _kind(hint: Any) -> _Kind:
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _constrained(options[0], [item for item in options[1:] if isinstance(item, Constraint)])
    if origin in (Union, types.UnionType):
        return _one_of([_kind(option) for option in options])
    if isinstance(hint, typing.TypeVar):
        return _one_of([_kind(each) for each in hint.__constraints__ or (hint.__bound__ or Any,)])
    if origin is Literal:
        return _literal(options)
    if origin is tuple:
        return _tuple(options)
    if origin in _HOLDERS:
        return _items(origin, [_kind(option) for option in options])
    if hint in (int, float):
        return _number(hint)
    if hint is Any or not isinstance(origin or hint, type) or getattr(hint, "_is_protocol", False):
        return _Kind(("anything",), lambda _, value: value)
    return _instance(origin or hint)


def _constrained(hint: Any, constraints: list[Constraint]) -> _Kind:
    kind = _number(hint, limited=False) if hint in (int, float) else _kind(hint)
    limited = hint in (int, float) and any_number not in constraints

    def read(name: str, value: Any) -> Any:
        kept = kind.read(name, value)
        for ask in constraints if kept is not None else ():
            ask(name, kept)
        if limited:  # last, so that the message gives the range and not only that numbers must be finite
            _require_ordinary(name, kept, hint)
        return kept

    return _Kind(kind.options, read)


def _one_of(kinds: list[_Kind]) -> _Kind:
    options = tuple(option for kind in kinds for option in kind.options)
    words = _or(options)

    def read(name: str, value: Any) -> Any:
        for kind in kinds:
            try:
                return kind.read(name, value)
            except WrongTypeError:
                continue
        raise WrongTypeError(f"{name} must be {words}, got {shown(value)}")

    return _Kind(options, read)


def _literal(options: tuple[Any, ...]) -> _Kind:
    said = tuple(map(repr, options))
    words = _or(said)

    def read(name: str, value: Any) -> Any:
        plain = plain_number(value)
        if not any(type(plain) is type(option) and plain == option for option in options):
            raise WrongTypeError(f"{name} must be {words}, got {shown(value)}")
        return plain

    return _Kind(said, read)


def _tuple(options: tuple[Any, ...]) -> _Kind:
    kinds = [_kind(option) for option in options if option is not ...]
    floats = options == (float, ...)

    def read(name: str, value: Any) -> Any:
        items = _listed(value)
        if not isinstance(items, tuple | list | range):
            raise WrongTypeError(f"{name} must be a list, got {shown(value)}")
        if len(items) > _LONGEST:
            raise InputError(f"{name} must be a list of at most {_LONGEST} values, got {len(items)}")
        of_each = kinds * len(items) if ... in options else kinds
        if len(of_each) != len(items):
            raise WrongTypeError(f"{name} must be a list of {len(kinds)} values, got {shown(value)}")
        each = name if name.startswith("each of ") else f"each of {name}"
        kept = tuple(kind.read(each, item) for kind, item in zip(of_each, items, strict=True))
        if floats:
            kept = tuple(map(float, kept))
        same = isinstance(value, tuple) and all(one is other for one, other in zip(kept, value, strict=True))
        return value if same else kept

    return _Kind(("a list",), read)


def _listed(value: Any) -> Any:
    """The list in an array; anything else as it is, also a tensor of a kind that has none, such as a nested one."""
    try:
        return value.tolist() if getattr(value, "ndim", 0) > 0 and hasattr(value, "tolist") else value
    except RuntimeError:
        return value


def _items(holder: type, kinds: list[_Kind]) -> _Kind:
    """A list or a mapping whose items have a type; an iterator is not read, since nobody could read it again."""
    whole = _instance(holder)

    def read(name: str, value: Any) -> Any:
        kept = whole.read(name, value)
        items = (
            kept.items() if holder is Mapping else [(item,) for item in kept] if isinstance(kept, list | tuple) else ()
        )
        for item in items:
            for kind, part in zip(kinds, item, strict=True):
                kind.read(f"each of {name}", part)
        return kept

    return _Kind(whole.options, read)


def _number(kind: Any, *, limited: bool = True) -> _Kind:
    words = "a whole number" if kind is int else "a number"

    def read(name: str, value: Any) -> Any:
        number = plain_number(value)
        if isinstance(number, bool) or not isinstance(number, int if kind is int else int | float):
            raise WrongTypeError(f"{name} must be {words}, got {shown(value)}")
        if limited:
            _require_ordinary(name, number, kind)
        elif isinstance(number, int) and abs(number) > _MOST_DIGITS:
            raise InputError(f"{name} must have at most 300 digits, got {shown(number)}")
        return number

    return _Kind((words,), read)


def _require_ordinary(name: str, number: Any, kind: type) -> None:
    if kind is int and abs(number) > LARGEST:
        raise InputError(f"{name} must be less than 2^63, got {shown(number)}")
    if kind is float and not -sys.float_info.max <= number <= sys.float_info.max:
        raise InputError(f"{name} must be finite, got {shown(number)}")


def _instance(cls: type) -> _Kind:
    article = "an" if cls.__name__[0] in "AEIOU" else "a"
    example = f", such as {cls.example}" if isinstance(getattr(cls, "example", None), str) else ""
    words = _WORDS.get(cls, f"{article} {cls.__name__}{example}")

    def read(name: str, value: Any) -> Any:
        plain = plain_number(value) if cls is bool else value
        # text is a sequence of letters, which nobody means who asks for one
        if not isinstance(plain, cls) or (cls in _HOLDERS and isinstance(plain, str | bytes)):
            raise WrongTypeError(f"{name} must be {words}, got {shown(value)}")
        return plain

    return _Kind((words,), read)


def _or(options: tuple[str, ...]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


_WORDS: dict[Any, str] = {
    bool: "True or False",
    str: "text",
    type(None): "None",
    Callable: "a function",
    Mapping: "a mapping",
    Sequence: "a list",
    Iterable: "a list",
    Collection: "a list",
}
_HOLDERS = (Sequence, Iterable, Collection, Mapping)
_LONGEST = 10_000_000
_MOST_DIGITS = 10**300  # a float takes that much, and so does every reader of JSON
