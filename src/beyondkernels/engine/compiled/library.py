"""The compiled steps: built once on the user's machine, kept in a private cache, loaded by ctypes."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import warnings
from pathlib import Path

from beyondkernels.core import InputError
from beyondkernels.engine.compiled import cache
from beyondkernels.engine.compiled.compiler import FLAGS, NAMES, REMEDY, Compiler, find_compiler, processor

SOURCES = Path(__file__).parent

_POINTER, _WHOLE, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
_DESCENT = [*[_POINTER] * 7, _WHOLE, _WHOLE, _WHOLE, *[_POINTER] * 4]
_ARGUMENTS = {
    "adam": [*[_POINTER] * 7, *[_WHOLE] * 4, _POINTER, _POINTER],
    "descent": _DESCENT,
    "linearised": [*_DESCENT, _POINTER],
    "one_pass": [*[_POINTER] * 12, _WHOLE, _REAL, _REAL, _WHOLE, _WHOLE, _POINTER],
    "smoothed": [*[_POINTER] * 7, *[_WHOLE] * 3, _POINTER, _POINTER, _WHOLE, _REAL, *[_POINTER] * 3],
}
"""What the function of each source takes: it is called ``bk_`` and the source's name."""
STEPS = tuple(_ARGUMENTS)
"""The names of all sources."""


@functools.cache
def library(name: str = "descent") -> ctypes.CDLL:
    """The steps of one source, compiled now if the cache does not hold them for this processor and compiler.

    Without a compiler, a library that another compiler made for this processor from the same sources serves as well.
    Flags leave the arithmetic as it stands: no reordering of sums, no flushing of tiny numbers anywhere in the process.

    Arguments:
        name: one of :data:`STEPS`; each is compiled when it is first needed.
    """
    found = _found(name)
    step = getattr(found, f"bk_{name}")
    # Without types ctypes would pass every whole number as 32 bits and cut pointers in half.
    step.argtypes, step.restype = _ARGUMENTS[name], _WHOLE
    return found


def available(name: str = "descent") -> str | None:
    """Why the compiled backend cannot be used here; None if it can.

    Arguments:
        name: the source, as for :func:`library`.
    """
    try:
        library(name)
    except InputError as error:
        return str(error)
    return None


def source_digest(name: str) -> str:
    """24 hexadecimal digits that change with a source, its headers, the flags and the processor."""
    # Which headers a source includes is not worth finding out: a change of any of them is rare, and compiling is quick.
    files = (*sorted(SOURCES.glob("*.h")), SOURCES / f"{name}.cpp")
    texts = [part for path in files for part in (path.name.encode(), path.read_bytes())]
    identity = [*texts, " ".join(FLAGS).encode(), processor().encode()]
    return hashlib.sha256(b"\0".join(identity)).hexdigest()[:24]


def _found(name: str) -> ctypes.CDLL:
    """Look into one directory after the other; the first that can be used is the only one that is used."""
    source, compiler = source_digest(name), find_compiler()
    passed: list[str] = []
    for directory in cache.directories():
        why = cache.prepared(directory)
        if why is None:
            try:
                # What this compiler made comes first, so that installing a newer one shows in the results at once, not
                # by chance.
                if compiler is not None and (loaded := _loaded(directory, name, source, compiler.digest)):
                    return loaded
                return _built(directory, name, source, compiler, passed)
            except InputError:
                # No compiler, or one that fails. The same sources for the same processor are still better than no run
                # at all.
                from_another_compiler = _loaded(directory, name, source, None)
                if from_another_compiler is None:
                    raise
                return from_another_compiler
            except OSError as error:
                why = f"cannot be written to ({error.strerror or error})"
        passed.append(f"{directory} {why}")
    raise InputError(
        f"backend='compiled' has no directory for what it compiles: {'; '.join(passed) or 'this user has no home'}; "
        "set BK_CACHE to a directory that only you can write to, or choose backend='eager'"
    )


def _loaded(directory: Path, name: str, source: str, compiler: str | None) -> ctypes.CDLL | None:
    for path in cache.intact(directory, name, source, compiler):
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError:  # another process has just removed it, or it was made on a machine with other libraries
            continue
        cache.mark_used(path)
        return loaded
    return None


def _built(directory: Path, name: str, source: str, compiler: Compiler | None, passed: list[str]) -> ctypes.CDLL:
    if compiler is None:
        raise InputError(f"backend='compiled' needs a C++ compiler, and none was found ({', '.join(NAMES)}); {REMEDY}")
    path = cache.add(
        directory, name, source, compiler.digest, lambda target: compiler.compile(SOURCES / f"{name}.cpp", target)
    )
    if passed:
        warnings.warn(
            f"{'; '.join(passed)}: the compiled step {name} is kept in {directory} instead",
            stacklevel=2,
        )
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(
            f"what {compiler.name} made of {name}.cpp cannot be loaded ({error}); set BK_CACHE to a directory from "
            "which programs may run, or choose backend='eager'"
        ) from error
