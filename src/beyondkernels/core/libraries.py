"""Which code is a user's own, and which is a library's."""

from __future__ import annotations

import functools
import sys
import sysconfig
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_PACKAGE = "beyondkernels"

_REQUIRED = ("torch", "numpy", "scipy", "sklearn", "pandas")
"""What this package computes with. They are libraries wherever they lie, also copied without an installer."""


def is_place_of_a_library(file: str | None, name: str) -> bool:
    """Whether a module that is not loaded belongs to Python or to an installed library.

    Arguments:
        file: where it is, or its folder; None, or a word, for one that is built in.
        name: of the module.
    """
    root = name.partition(".")[0]
    return file is None or not Path(file).is_absolute() or root == _PACKAGE or _is_installed(file, root)


def is_of_a_library(value: Any) -> bool:
    """Whether a function, class or module belongs to Python, to an installed library or to this package.

    >>> import json
    >>> is_of_a_library(json), is_of_a_library(type("Mine", (), {"__module__": "mine"}))
    (True, False)
    """
    if isinstance(value, FunctionType):  # where its code is: functools.wraps gives it the module of another
        name, file = value.__globals__.get("__name__") or "", value.__globals__.get("__file__")
    else:
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        file = getattr(value if isinstance(value, ModuleType) else sys.modules.get(name), "__file__", None)
    if not isinstance(name, str):  # a class that Cython has made, whose objects say where they are
        return True
    root = name.partition(".")[0]
    if name == "__main__" or root == _PACKAGE:
        return root == _PACKAGE
    # What has no file is built in, or made by hand.
    return root in sys.stdlib_module_names if file is None else _is_installed(file, root)


def is_code_of_a_library(module: str, file: str) -> bool:
    """Whether code in a module, compiled from a file, belongs to Python, an installed library or this package."""
    root = module.partition(".")[0]
    if root == _PACKAGE or file.startswith("<frozen "):
        return True
    return root != "__main__" and not file.startswith("<") and _is_installed(file, root)


@functools.cache
def _is_installed(file: str, root: str) -> bool:
    """Whether a file is where Python or an installer puts libraries."""
    path = Path(file).resolve()
    if root in _REQUIRED or any(folder.name in ("site-packages", "dist-packages") for folder in path.parents):
        return True
    places = {Path(place).resolve() for name, place in sysconfig.get_paths().items() if name.endswith("lib")}
    if any(folder in places for folder in path.parents):
        return True
    # Elsewhere, such as in a folder of PYTHONPATH, an installer has left its papers beside the package.
    beside = Path(*path.parts[: path.parts.index(root)]) if root in path.parts else path.parent
    return _is_listed(beside, root)


@functools.cache  # for all files of a package: the papers may have ten thousand lines
def _is_listed(folder: Path, root: str) -> bool:
    return any(_lists(record, root) for kind in ("dist", "egg") for record in folder.glob(f"*.{kind}-info"))


def _lists(record: Path, root: str) -> bool:
    """Whether an installer's papers name a package."""
    for name in ("top_level.txt", "RECORD"):
        paper = record / name
        if paper.is_file() and any(
            line.strip() == root or line.startswith((f"{root}/", f"{root}.py"))
            for line in paper.read_text(encoding="utf-8", errors="replace").splitlines()
        ):
            return True
    return False
