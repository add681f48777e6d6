"""Which code is a user's own, and which is a library's."""

from __future__ import annotations

import functools
import sys
import sysconfig
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_PACKAGE = "beyondkernels"


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
    if any(folder.name in ("site-packages", "dist-packages") for folder in path.parents):
        return True
    places = {Path(place).resolve() for name, place in sysconfig.get_paths().items() if name.endswith("lib")}
    if any(folder in places for folder in path.parents):
        return True
    # Elsewhere, such as in a folder of PYTHONPATH, an installer has left its papers beside the package.
    beside = Path(*path.parts[: path.parts.index(root)]) if root in path.parts else path.parent
    return any(_lists(record, root) for kind in ("dist", "egg") for record in beside.glob(f"*.{kind}-info"))


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
