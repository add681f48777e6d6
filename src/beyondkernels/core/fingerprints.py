"""Fingerprints of a user's own code and values, which have no revision."""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGE = "beyondkernels"
_Seen = dict[int, tuple[bytes, Any]]
"""What was said before, by its id: what to say in its place, and the object, so that no other gets its id."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_OF_A_CLASS = {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__"}
"""What every class has, and what says nothing of what it does."""


_OF_A_MODULE = ("_parameters", "_buffers", "_modules")
"""Where a module of PyTorch, of which this package must not import the class, holds its numbers and parts."""


def fingerprint(*values: Any, known: Iterable[tuple[str, Any]] = ()) -> str:
    """A hash of values and of the code behind them, the same in every process.

    A function counts with its code, its defaults, what it encloses, and everything of the user's own that it names: so
    a function that makes a module changes when a constant, a function or a class that it uses is changed. A class
    counts with its methods and its bases. An object counts with its class and its attributes; of an object of a
    library, such as a logger, only public values count, and of a module of PyTorch also its numbers. Code of Python, of
    an installed library or of this package counts with its name alone. Comments do not count.

    Arguments:
        values: anything.
        known: names of objects that are told elsewhere, and the objects, which count with their names alone.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1), fingerprint(1) == fingerprint(2)
    (True, False)
    """
    hashed = hashlib.sha256()
    seen = {id(value): (f"known {name}".encode(), value) for name, value in known}
    for value in values:
        for text in _said(value, seen):
            hashed.update(b"%d:" % len(text))
            hashed.update(text)
    return hashed.hexdigest()[:32]


def is_of_a_library(value: Any) -> bool:
    """Whether a function, class or module belongs to Python, to an installed library or to this package."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    root, file = name.partition(".")[0], getattr(sys.modules.get(name), "__file__", None)
    return root in sys.stdlib_module_names or root == _PACKAGE or (name != "__main__" and _is_installed(file))


@functools.cache
def _is_installed(file: str | None) -> bool:
    if file is None:
        return False
    libraries = {Path(path).resolve() for name, path in sysconfig.get_paths().items() if name.endswith("lib")}
    return any(path in libraries for path in Path(file).resolve().parents)


def _said(value: Any, seen: _Seen) -> Iterator[bytes]:
    """The parts of a value, each as bytes. What was seen before is not said again."""
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}".encode()
        return
    # Python may share equal constants or not, from one process to the next; what they hold is what counts.
    if not isinstance(value, tuple | frozenset | CodeType):  # equal ones may be one object, or not
        if id(value) in seen:
            yield seen[id(value)][0]
            return
        seen[id(value)] = (b"again", value)
    yield type(value).__qualname__.encode()
    if isinstance(value, CodeType):
        yield value.co_code
        yield repr((value.co_names, value.co_varnames, value.co_freevars)).encode()
        for constant in value.co_consts:
            yield from _said(constant, seen)
    elif isinstance(value, ModuleType):
        file = None if is_of_a_library(value) else getattr(value, "__file__", None)
        yield value.__name__.encode() if file is None else Path(file).read_bytes()
    elif isinstance(value, type | FunctionType) and is_of_a_library(value):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    elif isinstance(value, FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, type):
        for base in value.__bases__:
            yield from _said(base, seen)
        yield from _said({name: held for name, held in vars(value).items() if name not in _OF_A_CLASS}, seen)
    elif isinstance(value, Mapping):
        for key in value:
            yield from _said(key, seen)
            yield from _said(value[key], seen)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _said(each, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted(fingerprint(each).encode() for each in value)  # sets have no order
    else:
        yield from _object(value, seen)


def _function(function: FunctionType, seen: _Seen) -> Iterator[bytes]:
    yield from _said(function.__code__, seen)
    yield from _said([function.__defaults__, function.__kwdefaults__], seen)
    for cell in function.__closure__ or ():
        yield from _said(None if _is_empty(cell) else cell.cell_contents, seen)
    # Functions of functions count too: what a user's code calls can change its numbers as much as the code itself.
    for name in sorted(set(_names(function.__code__))):
        if name in function.__globals__:
            yield from _said([name, function.__globals__[name]], seen)


def _object(value: Any, seen: _Seen) -> Iterator[bytes]:
    """An array, a method, or any other object with attributes."""
    numbers: Callable[[], Any] | None = getattr(value, "numpy", None)
    if hasattr(value, "detach") and numbers is not None:  # a tensor, of which this package must not import the class
        value = value.detach().cpu().numpy()
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.tobytes()
        return
    for name in ("__func__", "fget", "fset", "func", "args", "keywords", "__wrapped__"):
        if (inside := getattr(value, name, None)) is not None:
            yield from _said(inside, seen)
    yield from _said(type(value), seen)
    if name := getattr(value, "__qualname__", None):  # a function that is written in C
        yield str(name).encode()
    held = dict(getattr(value, "__dict__", {}))
    if is_of_a_library(type(value)):  # a logger keeps caches, and refers to all others
        numbers_and_parts = {name: held[name] for name in _OF_A_MODULE if held.get(name)}
        held = {name: each for name, each in held.items() if name[:1] != "_" and not _is_elsewhere(each)}
        held |= numbers_and_parts if hasattr(value, "named_parameters") else {}
    yield from _said(held or (str(value) if type(value).__module__ == "torch" else None), seen)


def _is_elsewhere(value: Any) -> bool:
    """Whether a value is an object of a library that is more than a bag of values."""
    kind = type(value)
    return (
        hasattr(value, "__dict__") and is_of_a_library(kind) and kind.__name__ not in ("SimpleNamespace", "Namespace")
    )


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return True
    return False
