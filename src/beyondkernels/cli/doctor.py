"""``bk doctor``: is this machine ready?"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import beyondkernels
from beyondkernels.core import InputError
from beyondkernels.experiments import store_path
from beyondkernels.runs import Store


def diagnose(store: str | None) -> Iterator[tuple[bool, str]]:
    """What was looked at, and whether it is fine."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield sys.version_info >= (3, 11), f"Python {version} (3.11 or newer is needed)"
    yield True, f"beyondkernels {beyondkernels.__version__}"
    yield from _requirements()
    yield _torch_works()
    yield True, f"{os.cpu_count()} cores, {_memory()} of memory"
    yield _store_works(store)


def _requirements() -> Iterator[tuple[bool, str]]:
    for requirement in importlib.metadata.requires("beyondkernels") or []:
        if "extra ==" in requirement:
            continue
        match = re.match(r"([\w-]+)\s*>=\s*([\d.]+)", requirement)
        if match is None:
            continue
        name, least = match.groups()
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield False, f"{name} is missing ({least} or newer is needed)"
            continue
        yield _numbers(found) >= _numbers(least), f"{name} {found} ({least} or newer is needed)"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0]))


def _torch_works() -> tuple[bool, str]:
    try:
        import torch

        from beyondkernels.core.streams import Stream

        x = Stream(0).normal(64, 32)
        good = bool(torch.isfinite(x @ x.T).all())
    except Exception as error:
        return False, f"torch does not work: {error}"
    return good, "torch multiplies matrices"


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "an unknown amount"
    return f"{pages / 2**30:.0f} GiB"


def _store_works(given: str | None) -> tuple[bool, str]:
    path = store_path(given)
    try:
        if path.exists():
            found = Store.open(path, create=False, read_only=not os.access(path, os.W_OK))
            held = len(found.keys())
            return os.access(path, os.W_OK), f"store {path}: {held} runs, {_free(path)} free"
        parent = next(folder for folder in path.resolve().parents if folder.exists())
        return os.access(parent, os.W_OK), f"store {path}: none yet, bk run makes it; {_free(parent)} free"
    except InputError as error:
        return False, f"store: {error}"


def _free(path: Path) -> str:
    return f"{shutil.disk_usage(path).free / 2**30:.1f} GiB"
