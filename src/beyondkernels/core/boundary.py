"""Public functions that say which argument is wrong, from the annotations they have anyway.

A package ends its ``__init__.py`` with ``check_exports(globals())``. Each function it exports then looks at its
arguments:

- before the call at words, since a misspelt word that decides something would otherwise pass for another one;
- after the call, if it raised an error that is no sentence of ours, at all arguments. If one does not fit its
  annotation, an :class:`InputError` that names it takes the place of the error, which stays its cause.

So a call that works costs next to nothing, a function may take more than its annotation says, and an error inside a
function that was given what it asks for stays what it is.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal

from beyondkernels.core.errors import DivergedError, InputError
from beyondkernels.core.fields import check_value, reader

_PACKAGE = "beyondkernels."
_UNCHECKED = "__unchecked__"
_BARE = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError, AssertionError, MemoryError)


def check_exports(names: dict[str, Any]) -> None:
    """Put checked functions in the place of the functions that a package exports.

    Arguments:
        names: the ``globals()`` of the package.
    """
    for name, value in names.items():
        ours = isinstance(value, types.FunctionType) and value.__module__.startswith(_PACKAGE)
        if ours and not name.startswith("_") and not hasattr(value, "__wrapped__"):
            names[name] = checked(value)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its arguments checked.

    >>> @checked
    ... def spaced(n: int, kind: Literal["linear", "log"] = "linear") -> list[int]:
    ...     return list(range(n))
    >>> spaced("many")
    Traceback (most recent call last):
        ...
    beyondkernels.core.fields.WrongTypeError: n must be a whole number, got 'many'
    >>> spaced(3, "lin")
    Traceback (most recent call last):
        ...
    beyondkernels.core.fields.WrongTypeError: kind must be 'linear' or 'log', got 'lin'
    """
    code = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
    positional = code.co_varnames[: code.co_argcount]
    known = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        hints, words = _hints(function)
        for name, read in words.items():
            if name in kwargs:
                read(name, kwargs[name])
            elif name in positional and (place := positional.index(name)) < len(args):
                read(name, args[place])
        try:
            return function(*args, **kwargs)
        except (InputError, DivergedError):
            raise
        except _BARE as error:
            for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
                if name in hints and name in known:
                    _explain(name, value, hints[name], error)
            raise

    setattr(call, _UNCHECKED, function)
    return call


def unchecked(function: Any) -> Any:
    """The function without the checks that :func:`checked` put around it; anything else as it is."""
    return getattr(function, _UNCHECKED, function)


def _explain(name: str, value: Any, hint: Any, error: Exception) -> None:
    try:
        check_value(name, value, hint)
    except InputError as sentence:
        raise sentence from error


@functools.cache
def _hints(function: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Callable[[str, Any], Any]]]:
    """The annotations of the arguments, and what reads those that take a word."""
    names = function.__globals__  # pyright: ignore[reportFunctionMemberAccess]
    hints = {}
    for name, said in function.__annotations__.items():
        try:  # one by one: a name that only a type checker knows costs the other arguments nothing
            hints[name] = typing.get_type_hints(
                types.SimpleNamespace(__annotations__={name: said}), names, include_extras=True
            )[name]
        except (NameError, TypeError, AttributeError):
            continue
    hints.pop("return", None)
    return hints, {name: reader(hint) for name, hint in hints.items() if _is_word(hint)}


def _is_word(hint: Any) -> bool:
    options = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return True
    inside = options[:1] if typing.get_origin(hint) is Annotated else options
    union = typing.get_origin(hint) in (typing.Union, types.UnionType, Annotated)
    return union and all(option is type(None) or _is_word(option) for option in inside)
