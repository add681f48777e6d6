"""Packages whose names live in subpackages that load on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def lazily(package: str, rooms: tuple[str, ...]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package: its rooms, and every name that one of its rooms exports.

    Arguments:
        package: its ``__name__``.
        rooms: subpackages and modules, in the order in which they are searched.
    """

    def find(name: str) -> Any:
        # Python asks for names such as __path__ and __wrapped__, too; no room is loaded for those
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        for room in rooms if not name.startswith("_") else ():
            module = importlib.import_module(f"{package}.{room}")
            if name in _exported(module):
                return vars(module)[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        inside = [_exported(importlib.import_module(f"{package}.{room}")) for room in rooms]
        return sorted({*rooms}.union(_exported(sys.modules[package]), *inside))

    return find, names


def _exported(module: ModuleType) -> set[str]:
    """Its public names; modules, and what only serves to make the package, are none of them."""
    public = {name for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    return public - {"TYPE_CHECKING", "annotations", "lazily"}
