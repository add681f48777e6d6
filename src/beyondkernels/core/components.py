"""Components: frozen dataclasses. Their classes, revisions and fields are the identity of a run.

``describe`` turns a component into plain JSON data, and ``build`` turns that data back into the component. No code is
stored: a description names a class, and ``build`` accepts only classes derived from :class:`Component`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import json
import math
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from beyondkernels.core.boundary import unchecked
from beyondkernels.core.errors import InputError, UncacheableError, shown
from beyondkernels.core.fields import Checked
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.core.libraries import is_of_a_library
from beyondkernels.core.public_names import homes, is_public_name, public_name
from beyondkernels.core.tracebacks import users_frames

USER_MODULES = "beyondkernels_user"
"""Parent name of modules loaded from a user's file."""


_REGISTRY: dict[str, type[Component]] = {}
_DESCRIBED: dict[str, Callable[..., Any]] = {}


class Component(Checked):
    """Base of everything that is part of a run's identity: problems, networks, algorithms, learners, measurements.

    A subclass is a frozen dataclass. Its fields are checked against their annotations (``core.constraints``). A field
    with ``metadata={"identity": False}`` is a remark and does not count. Raise ``revision`` when the numbers it gives
    change for the same fields: stored runs of the old revision are then left alone and new ones are computed. Code
    of this package that is edited without that goes unnoticed; a user's code counts by itself.

    A class is known by its public name, such as ``features.DictionaryProblem``, so it may move within its room. A field
    that is added to a class of which runs are stored is declared with :func:`later`.
    """

    revision: ClassVar[int] = 1

    brought: ClassVar[bool] = False
    """Whether it is made around an object of a user's, so that a store looks at what it does (``store.witness``)."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = class_name(cls)
        known = _REGISTRY.setdefault(name, cls)
        # Two classes of one name would give two problems one key, and the runs of one would be read as those of the
        # other.
        if known.__module__ != cls.__module__:
            raise TypeError(f"{cls.__module__} and {known.__module__} cannot both define {name}")
        _REGISTRY[name] = cls  # a user's file may be loaded anew


def class_name(cls: type) -> str:
    """The name of a class in keys and descriptions: ``room.Name``, or ``module:Name`` outside the library."""
    return public_name(cls.__module__, cls.__qualname__)


def later(default: Any) -> Any:
    """A field that is added to a component after runs with it were stored.

    The field is not part of the run's key while it has its default, so stored runs can still be used. For that reason
    the meaning of the default may only change together with ``revision``.

    Arguments:
        default: the value for which the component behaves as before.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Ring(Component):
    ...     size: int
    ...     twist: float = later(0.0)
    >>> describe(Ring(3))["fields"], describe(Ring(3, 0.5))["fields"]
    ({'size': 3}, {'size': 3, 'twist': 0.5})
    """
    return dataclasses.field(default=default, metadata={"later": True})


def describe(value: Any, where: str = "configuration", *, remarks: bool = False) -> Any:
    """Plain JSON data that says everything about a value.

    Numbers in float fields become floats, tuples become lists, components become
    ``{"class": name, "revision": int, "fields": {...}}``.

    Arguments:
        value: a component, or anything a component's field may hold.
        where: the name of the value in error messages.
        remarks: whether to include fields that are not part of the identity, if they can be written as plain data.
    """
    if isinstance(value, Component):
        cls = type(value)
        # Every script is called __main__: the same name means another class in the next process.
        if cls.__module__ == "__main__":
            raise UncacheableError(
                f"{cls.__name__} is defined in the main script, where no other process finds it again"
            )
        fields = {}
        for field in dataclasses.fields(typing.cast(Any, value)):
            is_remark = not field.metadata.get("identity", True)
            if is_remark and not remarks:
                continue
            try:
                said = _described_field(cls, field.name, getattr(value, field.name), remarks)
            except UncacheableError:
                # A remark changes no number, so one that cannot be written down is left out rather than forbids storing
                # the run.
                if not is_remark:
                    raise
                continue
            # Compared as described: a list and a tuple of the same items are one description.
            if field.metadata.get("later") and said == _described_field(cls, field.name, field.default, remarks):
                continue
            fields[field.name] = said
        # The classes of this package have a revision; those of a user are known by their code.
        code = {} if is_of_a_library(cls) else {"source": fingerprint(cls)}
        return {"class": class_name(cls), "revision": cls.revision, **code, "fields": fields}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # JSON has no infinity and no NaN.
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple | list):
        return [describe(item, f"{where}[{i}]", remarks=remarks) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            "mapping": {str(key): describe(item, f"{where}[{key!r}]", remarks=remarks) for key, item in value.items()}
        }
    if callable(value):
        path = _function_path(value, where)
        # a function of the user has no revision, so that its code counts, and that of all it names
        return {"function": path} if is_of_a_library(value) else {"function": path, "source": fingerprint(value)}
    if isinstance(value, UncacheableError):  # kept by a component that found something it cannot read
        raise value
    kind = type(value).__name__
    raise UncacheableError(f"{where} holds a {kind} without a stable identity, so the run is not stored")


def build(description: Any) -> Any:
    """The inverse of :func:`describe`, for descriptions that may come from someone else.

    A class is built only if it is a component of this package, or is loaded already. A function is accepted only from
    this package, from a user's file that is loaded, or if :func:`describe` was called with it in this process. Nothing
    else is imported.
    """
    if isinstance(description, list):
        return tuple(build(item) for item in description)
    if not isinstance(description, dict):
        return description
    if "float" in description:
        return float(description["float"])
    if "mapping" in description:
        return {key: build(item) for key, item in description["mapping"].items()}
    if "function" in description:
        return _function(description["function"])
    cls = _component(description.get("class"))
    if cls.revision != description["revision"]:
        raise InputError(f"{cls.__name__} is at revision {cls.revision}, the description at {description['revision']}")
    return cls(**{name: build(item) for name, item in description["fields"].items()})


def foreign(description: Any) -> set[str]:
    """The classes and functions in a description that belong neither to this package nor to a loaded file.

    A process that made the description from components of its own can tell a worker to :func:`admit` them.
    """
    if isinstance(description, list):
        return set().union(*map(foreign, description))
    if not isinstance(description, dict):
        return set()
    names = {name for name in (description.get("class"), description.get("function")) if isinstance(name, str)}
    inside = set().union(*map(foreign, description.values()))
    return inside | {name for name in names if ":" in name and not _is_loaded(name)}


def admit(path: str) -> None:
    """Import a class or function ``module:Name`` for :func:`build`. Never call this with a name from a store."""
    module, _, name = path.partition(":")
    try:
        _DESCRIBED[path] = _attribute(importlib.import_module(module), name)
    except ImportError:
        return  # build raises an error with a sentence


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces, from which floats can be read back exactly."""
    return json.dumps(describe(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """The first 32 hexadecimal digits of the SHA-256 hash of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:32]


def load_file(path: str | Path) -> Any:
    """Import a user's Python file as ``beyondkernels_user.<stem>``, so that workers find its classes again."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no file {path}")
    name = f"{USER_MODULES}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None and Path(loaded).exists() and not path.samefile(loaded):
        raise InputError(f"two files named {path.name} cannot be used together, since runs are known by that name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        where = users_frames(error).partition("\n")[0]
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error} ({where})") from error
    return module


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _described_field(cls: type, name: str, content: Any, remarks: bool) -> Any:
    if _hints(cls)[name] in (float, float | None) and type(content) is int:
        content = float(content)
    return describe(content, f"{cls.__name__}.{name}", remarks=remarks)


def _component(name: Any) -> type[Component]:
    """The component class with this name, from the registry or from the module of the library that defines it."""
    if not isinstance(name, str) or not (":" in name or is_public_name(name)):
        raise InputError(f"no component {shown(name)} can be found: a name such as 'room.Name' is needed")
    if name not in _REGISTRY:
        if _is_loaded(name):
            file = name.partition(":")[0].partition(".")[2]
            raise InputError(f"no component {shown(name)} can be found: no file {file}.py with it is loaded")
        if not is_public_name(name):
            raise InputError(
                f"{shown(name)} is not a component of this package or of a loaded file, so it is not imported"
            )
        for module in homes(name):
            importlib.import_module(module)
    if name not in _REGISTRY:
        raise InputError(f"no component {shown(name)} can be found in this version of beyondkernels")
    return _REGISTRY[name]


def _function(name: Any) -> Any:
    """The function with this name, from the library, a loaded file, or described before in this process."""
    if name in _DESCRIBED:
        return _DESCRIBED[name]
    module, _, inside = str(name).partition(":")
    if is_public_name(name):
        modules, inside = homes(name), str(name).partition(".")[2]
    elif _is_loaded(module):
        modules = (module,)
    else:
        raise InputError(f"{shown(name)} is not a function of this package or of a loaded file, so it is not imported")
    for module in modules:
        if is_public_name(name):
            importlib.import_module(module)
        found = _attribute(sys.modules.get(module), inside)
        # a module's imports do not count as its functions: many modules import os, and os.system must stay out of reach
        if public_name(getattr(found, "__module__", ""), getattr(found, "__qualname__", "")) == name:
            return found
    raise InputError(f"no function {shown(name)} can be found")


def _attribute(target: Any, name: str) -> Any:
    for part in name.split("."):
        target = getattr(target, part, None)
    return target


def _is_loaded(module: str) -> bool:
    return module.startswith(f"{USER_MODULES}.")


def _function_path(function: Callable[..., Any], where: str) -> str:
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__qualname__", "")
    # a package exports its functions with a check around them, and they are the same functions
    if unchecked(_attribute(sys.modules.get(module), name)) is not unchecked(function):
        raise UncacheableError(
            f"{where} holds an unnamed function without a stable identity, so the run is not stored; "
            "a function that is defined at the top level of a file has one"
        )
    path = public_name(module, name)
    _DESCRIBED[path] = function
    return path
