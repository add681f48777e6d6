"""Public functions and constructors that say which argument is wrong, from the annotations they have anyway.

A package ends its ``__init__.py`` with ``check_exports(globals())``. Each function that it exports, and the constructor
of each class, then looks at its arguments:

- before the call at words and at numbers with a constraint, such as ``Annotated[int, positive]``: a misspelt word would
  otherwise pass for another one, and a number outside its range would give a result that means nothing;
- after the call, if it raised an error that is no sentence of ours, at all arguments. If one does not fit its
  annotation, or is a tensor without ordinary numbers, an :class:`InputError` that names it takes the place of the
  error, which stays its cause. If all fit and the caller is not of this package, the error is repeated with the names
  of those arguments that it can be about.

So a call that works costs next to nothing, a function may take more than its annotation says, and any other error
inside a function that was given what it asks for stays what it is.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from beyondkernels.core.constraints import Constraint
from beyondkernels.core.errors import DivergedError, InputError, require, shown
from beyondkernels.core.fields import LARGEST, Checked, check_value, reader

_PACKAGE = "beyondkernels."
_UNCHECKED = "__unchecked__"
_BARE = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError, AssertionError, MemoryError)
_OF_VALUES = (RuntimeError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError)


def check_exports(names: dict[str, Any]) -> None:
    """Put checked functions in the place of the functions that a package exports, and check its constructors.

    Arguments:
        names: the ``globals()`` of the package.
    """
    for name, value in names.items():
        if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith(_PACKAGE):
            continue
        if isinstance(value, type):
            _check_constructor(value)
        elif isinstance(value, types.FunctionType) and not hasattr(value, _UNCHECKED):
            names[name] = checked(value)


def _check_constructor(cls: type) -> None:
    """Check the ``__init__`` of a class where this package wrote or generated it."""
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    own = vars(owner)["__init__"]
    ours = owner.__module__.startswith(_PACKAGE) and isinstance(own, types.FunctionType)
    if ours and not hasattr(own, _UNCHECKED) and not issubclass(cls, BaseException):
        owner.__init__ = checked(own, owner)


def checked(function: Callable[..., Any], cls: type | None = None) -> Callable[..., Any]:
    """The function with its arguments checked.

    Arguments:
        function: what is called.
        cls: the class whose ``__init__`` it is.

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
    written: Any = inspect.unwrap(function)  # what a decorator put around it takes anything
    code = written.__code__
    positional = code.co_varnames[: code.co_argcount]
    known = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}

    @functools.cache  # annotations are read at the first call, when all that they name is there
    def narrow() -> dict[str, tuple[int, Callable[[str, Any], Any]]]:
        if cls is not None and issubclass(cls, Checked):  # which reads its fields itself
            return {}
        places = {name: place for place, name in enumerate(positional)}
        hints = _hints(written, cls).items()
        return {name: (places.get(name, sys.maxsize), reader(hint)) for name, hint in hints if _is_narrow(hint)}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            for name, (place, read) in narrow().items():
                if place < len(args):
                    read(name, args[place])
                elif name in kwargs:
                    read(name, kwargs[name])
            return function(*args, **kwargs)
        except (InputError, DivergedError):
            raise
        except _BARE as error:
            named = [*zip(positional, args, strict=False), *kwargs.items()]
            given = {name: value for name, value in named if name in known}
            caller = inspect.currentframe().f_back  # pyright: ignore[reportOptionalMemberAccess]
            outside = caller is None or not str(caller.f_globals.get("__name__")).startswith(_PACKAGE)
            _explain_one(given, _hints(written, cls), error, outside)
            if outside:
                _explain_all(given, error)
            raise

    setattr(call, _UNCHECKED, function)
    return call


def unchecked(function: Any) -> Any:
    """The function without the checks that :func:`checked` put around it; anything else as it is."""
    return getattr(function, _UNCHECKED, function)


def _explain_one(given: dict[str, Any], hints: dict[str, Any], error: Exception, outside: bool) -> None:
    """Raise the sentence for the first argument that does not fit by itself, if there is one.

    The package itself calls with tensors without numbers, to see what a step would need, and expects PyTorch's errors.
    """
    for name, value in given.items():
        try:
            if outside:
                _require_ordinary(name, value)
            if name in hints:
                check_value(name, value, hints[name])
        except InputError as sentence:
            raise sentence from error


def _require_ordinary(name: str, value: Any) -> None:
    """Refuse what few operations take, whatever the annotation says."""
    whole = isinstance(value, int)
    require(not whole or abs(value) <= LARGEST, f"{name} must be less than 2^63, got {shown(value)}")
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return
    tensor: Any = value
    kinds = {
        "a nested tensor": tensor.is_nested,
        "a tensor without numbers, on the device meta": tensor.is_meta,
        "a quantised tensor": tensor.is_quantized,
        "a sparse tensor": tensor.layout is not torch.strided,
    }
    for words, so in kinds.items():
        require(not so, f"{name} must be an ordinary tensor of numbers, got {words}")


def _explain_all(given: dict[str, Any], error: Exception) -> None:
    """Raise a sentence that names all arguments that the error can be about.

    These are the mappings without the key that was missing, or what is of a type that the error names, or all arrays,
    what is empty, and numbers that are not positive: each fits its annotation, and perhaps not the others.
    """
    if isinstance(error, KeyError):
        lacking = [name for name, value in given.items() if isinstance(value, Mapping) and error.args[0] not in value]
        if lacking:
            raise InputError(f"{' or '.join(lacking)} must have the key {shown(error.args[0])}") from error
    words = {*re.findall(r"\w+", str(error))} if isinstance(error, TypeError | AttributeError) else set()
    named = [f"{name} = {shown(value)}" for name, value in given.items() if type(value).__name__ in words]
    suspects = named or [form for name, value in given.items() if (form := _suspect(name, value))]
    if suspects and isinstance(error, _OF_VALUES):
        fit = "do not fit together" if len(suspects) > 1 else "does not fit"
        raise InputError(f"{', '.join(suspects)} {fit}: {shown(str(error), 160)[1:-1]}") from error


def _suspect(name: str, value: Any) -> str:
    """An argument in words, if a function may fail because of its value."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{name} of shape {tuple(value.shape)} and type {value.dtype}"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (number and not value > 0) or (isinstance(value, str | list | tuple | Mapping) and not value):
        return f"{name} = {shown(value)}"
    return ""


def _hints(function: Callable[..., Any], cls: type | None) -> dict[str, Any]:
    """The annotations of the arguments."""
    hints = _resolved(function.__annotations__, function.__globals__)  # pyright: ignore[reportFunctionMemberAccess]
    if dataclasses.is_dataclass(cls):  # its __init__ is generated, and fields of its bases are written elsewhere
        for base in reversed(cls.__mro__):
            hints |= _resolved(vars(base).get("__annotations__", {}), vars(sys.modules[base.__module__]))
    hints.pop("return", None)
    return hints


def _resolved(annotations: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    hints = {}
    for name, said in annotations.items():
        holder = types.SimpleNamespace(__annotations__={name: said})
        try:  # one by one: a name that cannot be found costs the other arguments nothing
            hints[name] = typing.get_type_hints(holder, names, _Loaded(names), include_extras=True)[name]
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return hints


class _Loaded(dict[str, Any]):
    """Finds names that are imported for type checkers alone, if what they name is loaded by now."""

    def __init__(self, known: dict[str, Any]):
        super().__init__()
        self._known = known

    def __missing__(self, name: str) -> Any:
        if name in self._known or hasattr(builtins, name):
            raise KeyError(name)  # it is looked up there
        for path, module in [*sys.modules.items()]:
            if path == name and path in ("torch", "numpy"):
                return module
            found = vars(module).get(name) if path.startswith(_PACKAGE) else None
            if isinstance(found, type | str) or typing.get_origin(found) is not None:  # an alias may be text
                return found
        raise KeyError(name)


def _is_narrow(hint: Any) -> bool:
    """Whether it is a word among several, or a number with a constraint."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return True
    if origin is Annotated:
        constrained = options[0] in (int, float) and any(isinstance(item, Constraint) for item in options[1:])
        return constrained or _is_narrow(options[0])
    union = origin in (typing.Union, types.UnionType)
    return union and all(option is type(None) or _is_narrow(option) for option in options)
