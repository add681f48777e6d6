"""Fingerprints of a user's own code and values, which have no revision."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from beyondkernels.core.code_names import counting_constants, counting_names, names_in
from beyondkernels.core.errors import UncacheableError, shown
from beyondkernels.core.libraries import is_of_a_library, is_place_of_a_library

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
_OF_A_CLASS = {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__slots__"}
_OF_A_CLASS |= {"__slotnames__", "_abc_impl", "__static_attributes__"}
"""What every class has, what Python notes down in it, and what says nothing of what it does."""

_IDLE = ("_thread.lock", "_thread.RLock", "_io.TextIOWrapper", "_abc._abc_data", "torch.utils.hooks.RemovableHandle")
"""Kinds of objects that hold nothing a result could depend on: they cannot be taken apart, or only count upwards."""

_WRAPPERS = (property, classmethod, staticmethod, functools.cached_property, type(functools.cache(lambda: None)))
_WRAPPED = ("fget", "fset", "fdel", "__func__", "func", "__wrapped__")
"""Objects around functions that cannot be copied, and where they keep these functions."""


def fingerprint(*values: Any, known: Iterable[tuple[str, Any]] = ()) -> str:
    """A hash of values and of the code behind them, the same in every process with the same version of Python.

    A function counts with its loaded code, its defaults, what it encloses, and everything of the user's own that it
    names: globals, attributes of the user's modules, and modules that it imports when it runs. So a function that makes
    a module changes when a constant, a function or a class that it uses is changed, in whichever file. A class counts
    with its methods and its bases. An object counts with its class and all that a copy of it would hold. Code of
    Python, of an installed library or of this package counts with its name alone. Comments do not count.

    Arguments:
        values: anything. What cannot be read, such as a generator, raises an ``UncacheableError``.
        known: names of objects that are told elsewhere, and the objects, which count with their names alone.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1), fingerprint(1) == fingerprint(2)
    (True, False)
    """
    reader = _Reader({id(value): (f"known {name}".encode(), value) for name, value in known})
    hashed = hashlib.sha256()
    for value in values:
        try:
            for text in reader.parts(value):
                hashed.update(b"%d:" % len(text))
                hashed.update(text)
        except UncacheableError:
            raise
        except Exception as error:  # objects are a user's code, and may answer a question with any exception
            raise _unreadable(value) from error
    return hashed.hexdigest()[:32]


class _Reader:
    """Takes values apart into bytes.

    Arguments:
        seen: by id, what to say in place of an object, and the object, so that no other gets its id.
    """

    def __init__(self, seen: dict[int, tuple[bytes, Any]]) -> None:
        self._seen, self._known = seen, len(seen)

    def parts(self, value: Any) -> Iterator[bytes]:
        """The parts of a value, each as bytes. What was read before is said by its number."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            yield f"{type(value).__name__} {value!r}".encode()
            return
        # Python may share equal constants or not, from one process to the next; what they hold is what counts.
        if not isinstance(value, tuple | frozenset | CodeType | MethodType):
            if id(value) in self._seen:
                yield self._seen[id(value)][0]
                return
            # Numbered, because [sin, tanh, sin] is another list than [sin, tanh, tanh].
            self._seen[id(value)] = (b"again %d" % (len(self._seen) - self._known), value)
        yield str(type(value).__qualname__).encode()
        yield from self._inside(value)

    def _inside(self, value: Any) -> Iterator[bytes]:
        kind: Any = type(value)  # compared exactly: of a list of the user's own more counts than what it holds
        if kind is CodeType:
            yield from self._code(value)
        elif isinstance(value, ModuleType):
            yield from self._module(value, None)
        elif (kind is FunctionType or issubclass(kind, type)) and is_of_a_library(value):
            yield f"{value.__module__}.{value.__qualname__}".encode()
            if kind is FunctionType and _encloses_own(value, set()):
                # A decorator of a library, such as torch.no_grad, has put its own function around the user's.
                yield from self._all(_enclosed(value))
        elif kind is FunctionType:
            yield from self._function(value)
        elif issubclass(kind, type):
            yield value.__qualname__.encode()
            if not is_of_a_library(kind):
                yield from self.parts(kind)
            yield from self._all(value.__bases__)
            # By name: the order of methods changes nothing, and that of fields stands in __annotations__ as well.
            yield from self.parts({name: held for name, held in sorted(vars(value).items()) if name not in _OF_A_CLASS})
        elif kind in (dict, MappingProxyType):
            for key in value:
                yield from self._all((key, value[key]))
        elif kind in (list, tuple):
            yield b"%d" % len(value)
            yield from self._all(value)
        elif kind in (set, frozenset):  # sets have no order
            yield from sorted(fingerprint(each, known=self._told()).encode() for each in value)
        else:
            yield from self._object(value)

    def _all(self, values: Iterable[Any]) -> Iterator[bytes]:
        for value in values:
            yield from self.parts(value)

    def _told(self) -> Iterator[tuple[str, Any]]:
        return (
            (text.decode().removeprefix("known "), value) for text, value in self._seen.values() if text[:1] == b"k"
        )

    def _code(self, code: CodeType) -> Iterator[bytes]:
        yield repr(sys.version_info[:2]).encode()  # another version compiles the same text to other code
        yield code.co_code
        yield repr((code.co_names, counting_names(code), code.co_freevars, code.co_flags)).encode()
        yield from self._all(counting_constants(code))

    def _function(self, function: FunctionType) -> Iterator[bytes]:
        yield from self.parts(function.__code__)
        yield from self._all((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            yield from self.parts(None if _is_empty(cell) else cell.cell_contents)
        yield from self.parts({name: held for name, held in vars(function).items() if name != "__wrapped__"})
        # Functions of functions count too: what a user's code calls can change its numbers as much as the code itself.
        used, space = names_in(function.__code__), function.__globals__
        for name in sorted(used.globals):
            if name in space:
                yield name.encode()
                yield from self._named(space[name], used.attributes)
        for name, level in sorted(used.imports):
            yield name.encode()
            yield from self._named(_imported(name, level, space), used.attributes)
        for name, level in sorted(used.maybe):
            if (module := _own_module(name, level, space)) is not None:
                yield from self._module(module, used.attributes)

    def _named(self, value: Any, attributes: frozenset[str]) -> Iterator[bytes]:
        """What a function names: of a module only what the function's code may take from it."""
        yield from self._module(value, attributes) if isinstance(value, ModuleType) else self.parts(value)

    def _module(self, module: ModuleType, attributes: frozenset[str] | None) -> Iterator[bytes]:
        yield module.__name__.encode()
        if is_of_a_library(module):
            return
        held = {name: each for name, each in vars(module).items() if name[:2] != "__" or name == "__getattr__"}
        looked_up = {*(attributes or ()), "__getattr__"} if attributes is not None else set[str]()
        used = {name: held[name] for name in sorted(held) if name in looked_up}
        # A module of which no name is used is handed on, to be read in ways that the code does not show.
        for name, each in (used or dict(sorted(held.items()))).items():
            place = f"{module.__name__}.{name}".encode()
            yield place
            if isinstance(each, ModuleType):
                if id(each) not in self._seen:
                    self._seen[id(each)] = (place, each)  # packages refer to each other in rings
                    yield from self._module(each, attributes)
            else:
                yield from self.parts(each)

    def _object(self, value: Any) -> Iterator[bytes]:
        """An array, a method, or any other object."""
        kind = type(value)
        place = f"{kind.__module__}.{kind.__qualname__}"
        yield from self.parts(kind)
        if (array := _array(value)) is not None:
            yield f"{array.dtype} {array.shape}".encode()
            if str(value.dtype) == "torch.bfloat16":
                yield b"bfloat16"  # which NumPy does not have
            yield from self.parts(array.tolist()) if array.dtype.hasobject else (array.tobytes(),)
            yield from self.parts(getattr(value, "__dict__", {}))
        elif isinstance(value, weakref.ref):
            yield from self.parts(value())
        elif isinstance(value, MethodType):
            yield from self._all((value.__func__, value.__self__))
        elif isinstance(value, BuiltinFunctionType):  # written in C, of a module or of an object
            yield value.__qualname__.encode()
            yield from self.parts(value.__self__)
        elif isinstance(value, MemberDescriptorType | GetSetDescriptorType) or place in _IDLE:
            yield str(getattr(value, "__name__", place)).encode()
        elif isinstance(value, _WRAPPERS):
            yield from self._all(getattr(value, name, None) for name in _WRAPPED)
        else:
            yield from self._copied(value)

    def _copied(self, value: Any) -> Iterator[bytes]:
        """What a copy of an object would be made from, and all attributes of one of the user's own."""
        if hasattr(type(value), "get_params") and hasattr(type(value), "set_params"):  # an estimator
            given = value.get_params(deep=False)
            yield from self.parts(dict(sorted(given.items())))
            if fitted := {name: held for name, held in sorted(_attributes(value).items()) if name not in given}:
                yield from self.parts(fitted)
            return
        own = {} if is_of_a_library(type(value)) else _attributes(value)
        try:
            made: Any = copyreg.dispatch_table.get(type(value), lambda value: value.__reduce_ex__(4))(value)
        except Exception as error:  # it is an object of someone else's that says so, in its own way
            if own:
                yield from self.parts(own)
                return
            raise _unreadable(value) from error
        if isinstance(made, str):  # a name under which every process finds it
            if callable(value) and not any(vars(module).get(made) is value for module in _loaded()):
                raise _unreadable(value)  # such as a ufunc that numpy.frompyfunc has made of a function
            yield made.encode()
            if own:
                yield from self.parts(own)
            return
        # An iterator over what a container holds is read as a list.
        yield from self._all(list(each) if hasattr(type(each), "__next__") else each for each in made)
        yield from self.parts(own)


def _unreadable(value: Any) -> UncacheableError:
    return UncacheableError(
        f"{shown(value)} cannot be read, so that runs with it cannot be told from others and are not stored"
    )


def _enclosed(function: FunctionType) -> list[Any]:
    """What a library's function holds besides its code."""
    own = vars(function)
    if "registry" in own and "dispatch" in own:  # functools.singledispatch also keeps what was asked before
        return [dict(own["registry"])]
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    return [each for each in (*cells, *own.values()) if not isinstance(each, weakref.WeakKeyDictionary)]


def _encloses_own(value: Any, seen: set[int]) -> bool:
    """Whether a function of the user's is among what a value holds."""
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, FunctionType):
        return not is_of_a_library(value) or any(_encloses_own(each, seen) for each in _enclosed(value))
    if isinstance(value, MethodType | functools.partial):
        parts = (value.__func__, value.__self__) if isinstance(value, MethodType) else (value.func, *value.args)
        return any(_encloses_own(each, seen) for each in parts)
    if isinstance(value, dict):
        return any(_encloses_own(each, seen) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_encloses_own(each, seen) for each in value)
    return not is_of_a_library(value if isinstance(value, type) else type(value))


def _array(value: Any) -> Any:
    """The numbers of a tensor or array as an array of NumPy; None for anything else. Neither is imported here."""
    # The class is asked: an object may answer for attributes of any name.
    kind = type(value)
    if hasattr(kind, "detach") and hasattr(kind, "numpy") and hasattr(kind, "is_sparse"):
        try:
            held = value.detach().cpu()
            return held.float().numpy() if str(held.dtype) == "torch.bfloat16" else held.numpy()
        except (RuntimeError, TypeError) as error:
            raise UncacheableError(f"a tensor of the kind {value.dtype}, {value.layout} cannot be read") from error
    return value if hasattr(kind, "tobytes") and hasattr(kind, "dtype") and hasattr(kind, "shape") else None


def _attributes(value: Any) -> dict[str, Any]:
    """All attributes of an object, those in slots too."""
    held = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{cls.__name__.lstrip('_')}{slot}" if slot[:2] == "__" and slot[-2:] != "__" else slot
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                held[name] = getattr(value, name)
    return held


def _imported(name: str, level: int, space: Mapping[str, Any]) -> Any:
    """A module that a function imports when it runs; its name where it is not there."""
    import importlib.util

    try:
        full = importlib.util.resolve_name("." * level + name, space.get("__package__") or "")
        found = sys.modules.get(full)
        if found is None and importlib.util.find_spec(full) is not None:
            found = importlib.import_module(full)  # as the function would; it has to be read before that
    except (ImportError, ValueError):
        return name
    return found or name


def _own_module(name: str, level: int, space: Mapping[str, Any]) -> ModuleType | None:
    """A module of the user's own, where a name stands for one; it is imported, as the function would do."""
    import importlib.util

    try:
        full = importlib.util.resolve_name("." * level + name, space.get("__package__") or "")
        found = sys.modules.get(full)
        if found is None:
            root = importlib.util.find_spec(full.partition(".")[0])
            place = None if root is None else root.origin or next(iter(root.submodule_search_locations or ()), None)
            if is_place_of_a_library(place, full) or importlib.util.find_spec(full) is None:
                return None
            found = importlib.import_module(full)
    except (ImportError, ValueError):
        return None
    return None if is_of_a_library(found) else found


def _loaded() -> list[ModuleType]:
    return [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return True
    return False
