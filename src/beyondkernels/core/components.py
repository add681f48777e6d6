"""Components: frozen dataclasses whose class, revision and fields are the identity of a run.

``describe`` turns a component into plain JSON data, ``build`` turns that data back into the component. No code is
ever stored: a description names a class, and ``build`` accepts only classes derived from :class:`Component`.
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

from beyondkernels.core.errors import InputError, UncacheableError

USER_MODULES = "beyondkernels_user"
"""Parent name of modules loaded from a user's file."""


class Component:
    """Base of everything that is part of a run's identity: problems, networks, algorithms, learners, measurements.

    A subclass is a frozen dataclass; a field with ``metadata={"identity": False}`` is a remark and does not count.
    Raise ``revision`` when the numbers it gives change for the same fields: stored runs of the old revision are then
    left alone and new ones are computed. Code that is edited without that goes unnoticed.
    """

    revision: ClassVar[int] = 1


def class_path(cls: type) -> str:
    """Where a class is found again: ``module:Name``."""
    return f"{cls.__module__}:{cls.__qualname__}"


def describe(value: Any, where: str = "configuration", *, remarks: bool = False) -> Any:
    """Plain JSON data that says everything about a value.

    Numbers in float fields become floats, tuples become lists, components become
    ``{"class": path, "revision": int, "fields": {...}}``.

    Arguments:
        value: a component, or anything a component's field may hold.
        where: named in the error when the value has no stable identity.
        remarks: whether fields that are no part of the identity are said too, as far as plain data can say them.
    """
    if isinstance(value, Component):
        cls = type(value)
        if cls.__module__ == "__main__":
            raise UncacheableError(
                f"{cls.__name__} is defined in the main script, where no other process finds it again"
            )
        hints = _hints(cls)
        fields = {}
        for field in dataclasses.fields(typing.cast(Any, value)):
            is_remark = not field.metadata.get("identity", True)
            if is_remark and not remarks:
                continue
            content = getattr(value, field.name)
            if hints[field.name] in (float, float | None) and type(content) is int:
                content = float(content)
            try:
                fields[field.name] = describe(content, f"{cls.__name__}.{field.name}", remarks=remarks)
            except UncacheableError:
                if not is_remark:
                    raise
        return {"class": class_path(cls), "revision": cls.revision, "fields": fields}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple | list):
        return [describe(item, f"{where}[{i}]", remarks=remarks) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            "mapping": {str(key): describe(item, f"{where}[{key!r}]", remarks=remarks) for key, item in value.items()}
        }
    if callable(value):
        path = _function_path(value, where)
        # a function has no revision to raise, so one from a user's file is known by what the file says
        return {"function": path} if not path.startswith(USER_MODULES) else {"function": path, "source": _source(value)}
    kind = type(value).__name__
    raise UncacheableError(f"{where} holds a {kind} without a stable identity, so the run is not stored")


def build(description: Any) -> Any:
    """The inverse of :func:`describe`."""
    if isinstance(description, list):
        return tuple(build(item) for item in description)
    if not isinstance(description, dict):
        return description
    if "float" in description:
        return float(description["float"])
    if "mapping" in description:
        return {key: build(item) for key, item in description["mapping"].items()}
    if "function" in description:
        return _resolve(description["function"])
    try:
        cls = _resolve(description["class"])
    except (ImportError, AttributeError, KeyError, ValueError) as error:
        raise InputError(f"no component {description.get('class')!r} can be found: {error}") from error
    if not (isinstance(cls, type) and issubclass(cls, Component)):
        raise InputError(f"{description['class']} is not a component of this package")
    if cls.revision != description["revision"]:
        raise InputError(f"{cls.__name__} is at revision {cls.revision}, the description at {description['revision']}")
    return cls(**{name: build(item) for name, item in description["fields"].items()})


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces; floats round-trip exactly."""
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
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _resolve(path: str) -> Any:
    module, _, name = path.partition(":")
    target: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def _source(function: Callable[..., Any]) -> str:
    file = Path(sys.modules[function.__module__].__file__ or "")
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _function_path(function: Callable[..., Any], where: str) -> str:
    path = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        found = _resolve(path)
    except (ImportError, AttributeError, ValueError):
        found = None
    if found is not function:
        raise UncacheableError(f"{where} holds an unnamed function without a stable identity, so the run is not stored")
    return path
