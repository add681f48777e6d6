"""``bk doctor``: is this machine ready?"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path

import beyondkernels
from beyondkernels.core import InputError
from beyondkernels.lab import store_path
from beyondkernels.store import Store

_WIDTH = 80

Finding = tuple[bool, str]
"""Whether something is fine, and a sentence about it."""


def examine(store: str | None) -> bool:
    """Print a line for each thing that was looked at, and return whether all are fine."""
    fine = True
    for good, sentence in diagnose(store):
        print("\n".join(_lines("ok" if good else "PROBLEM", sentence)))
        fine &= good
    print("This machine is ready." if fine else "This machine is not ready: see the lines that begin with PROBLEM.")
    return fine


def diagnose(store: str | None) -> Iterator[Finding]:
    """What was looked at, and whether it is fine.

    Arguments:
        store: the directory of the store, as ``--store`` gives it.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    yield sys.version_info >= (3, 11), f"Python {version} (3.11 or newer is needed)"
    yield True, f"beyondkernels {beyondkernels.__version__}"
    yield from _requirements()
    works, sentence = _torch_works()
    yield works, sentence
    if works:
        yield _processors()
        yield _accelerator()
        yield from _compiler()
    yield _store_works(store)


def _lines(mark: str, sentence: str) -> list[str]:
    return textwrap.wrap(
        sentence,
        _WIDTH,
        initial_indent=f"{mark:8}",
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _requirements() -> Iterator[Finding]:
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


def _torch_works() -> Finding:
    try:
        import torch

        from beyondkernels.core.streams import Stream

        x = Stream(0).normal(64, 32)
        good = bool(torch.isfinite(x @ x.T).all())
    except Exception as error:
        return False, f"PyTorch does not work: {error}"
    return good, "PyTorch works" if good else "PyTorch multiplies matrices wrongly"


def _processors() -> Finding:
    import torch

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = torch.get_num_threads()
    return True, (
        f"{_count(usable, 'processor')} and {_memory()} of memory; bk run starts {_count(usable, 'worker')} of one "
        f"thread each, and PyTorch uses {_count(threads, 'thread')} elsewhere"
    )


def _accelerator() -> Finding:
    import torch

    try:
        if torch.cuda.is_available():
            x = torch.ones(8, 8, device="cuda")
            good = float((x @ x)[0, 0]) == 8.0
            name = f"CUDA {torch.version.cuda} on {torch.cuda.get_device_name()}"
        elif torch.backends.mps.is_available():
            x = torch.ones(8, 8, device="mps")
            good, name = float((x @ x)[0, 0]) == 8.0, "MPS, the graphics processor of this Mac,"
        else:
            return True, "no accelerator (neither CUDA nor MPS), so PyTorch computes on the processors"
    except Exception as error:
        return False, f"PyTorch finds an accelerator, but cannot use it: {_first_line(error)}"
    kind = "cuda" if torch.cuda.is_available() else "mps"
    return (
        good,
        f"{name} works; --device {kind} trains networks there" if good else f"{name} multiplies matrices wrongly",
    )


def _compiler() -> Iterator[Finding]:
    from beyondkernels.engine.compiled import available, cache
    from beyondkernels.engine.compiled.compiler import find_compiler
    from beyondkernels.engine.compiled.library import STEPS

    named, compiler = os.environ.get("CXX"), find_compiler()
    if named and not shutil.which(named):
        yield False, f"the environment variable CXX names {named!r}, which is not found"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a directory that is passed over gets a line of its own
        lacks = next((why for name in STEPS if (why := available(name))), None)
    if lacks is None and compiler is None:
        yield True, "there is no C++ compiler, but the compiled steps are in the cache and work"
    elif compiler is not None and lacks is None:
        yield True, f"the C++ compiler works: {_first_line(compiler.version) or compiler.path}"
    else:
        yield False, f"the fast, compiled training does not work, and experiments that use it do not start: {lacks}"
    for directory in cache.directories():
        why = cache.distrust(directory)
        if why is None:
            kept = cache.libraries(directory)
            yield True, f"compile cache {directory}: {_count(len(kept), 'library', 'libraries')}, {_size(kept)}"
            return
        yield False, f"the compile cache {directory} is not used, because it {why}"


def _first_line(text: object) -> str:
    return (str(text).strip().splitlines() or [""])[0]


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _size(files: list[Path]) -> str:
    return f"{sum(path.stat().st_size for path in files if path.exists()) / 2**20:.1f} MiB"


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "an unknown amount"
    return f"{pages / 2**30:.0f} GiB"


def _store_works(given: str | None) -> Finding:
    path = store_path(given)
    try:
        if path.exists():
            writable = os.access(path, os.W_OK)
            found = Store.open(path, create=False, read_only=not writable)
            end = "" if writable else "; it cannot be written to"
            return writable, f"store {path}: {_count(len(found.keys()), 'run')}, {_free(path)} free{end}"
        parent = next(folder for folder in path.resolve().parents if folder.exists())
        if not os.access(parent, os.W_OK):
            return False, f"store {path}: none yet, and {parent} cannot be written to"
        return True, f"store {path}: none yet, bk run makes it; {_free(parent)} free"
    except InputError as error:
        return False, f"store: {error}"


def _free(path: Path) -> str:
    return f"{shutil.disk_usage(path).free / 2**30:.1f} GiB"
