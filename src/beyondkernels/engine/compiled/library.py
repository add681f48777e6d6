"""The compiled steps: built once on the user's machine, kept in a private directory, loaded by ctypes."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from beyondkernels.core import InputError

SOURCES = Path(__file__).parent
FLAGS = (
    "-std=c++17",
    "-O2",  # and what of -O3 matters here, in half the time
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
_COMPILERS = ("g++", "clang++", "c++")


_POINTER, _WHOLE, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
_DESCENT = [*[_POINTER] * 7, _WHOLE, _WHOLE, _WHOLE, *[_POINTER] * 4]
_ARGUMENTS = {
    "descent": _DESCENT,
    "linearised": [*_DESCENT, _POINTER],
    "one_pass": [*[_POINTER] * 12, _WHOLE, _REAL, _REAL, _WHOLE, _WHOLE, _POINTER],
}
"""What the function of each source takes: it is called ``bk_`` and the source's name."""


@functools.cache
def library(name: str = "descent") -> ctypes.CDLL:
    """The steps of one source, compiled now if it was never compiled for this processor before.

    Flags leave the arithmetic as it stands: no reordering of sums, no flushing of tiny numbers anywhere in the process.

    Arguments:
        name: ``descent``, ``linearised`` or ``one_pass``; each is compiled when it is first needed.
    """
    built = ctypes.CDLL(str(_built(name)))
    step = getattr(built, f"bk_{name}")
    step.argtypes, step.restype = _ARGUMENTS[name], _WHOLE
    return built


def available() -> str | None:
    """Why the compiled backend cannot be used here; None if it can."""
    try:
        library()
    except InputError as error:
        return str(error)
    return None


def cache_directory() -> Path:
    """Where compiled steps are kept: ``BK_CACHE``, or ``beyondkernels`` below the user's cache directory."""
    given = os.environ.get("BK_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "beyondkernels"


def _built(name: str) -> Path:
    compiler, source = _compiler(), SOURCES / f"{name}.cpp"
    files = (*sorted(SOURCES.glob("*.h")), source)
    texts = [part for path in files for part in (path.name.encode(), path.read_bytes())]
    identity = [*texts, " ".join(FLAGS).encode(), _processor().encode(), Path(compiler).name.encode()]
    digest = hashlib.sha256(b"\0".join(identity)).hexdigest()[:24]
    target = cache_directory() / f"{name}-{digest}.so"
    if target.exists():
        return target
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # built under another name and renamed: two processes may do this at once, and one may be killed
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            unfinished = Path(folder) / "step.so"
            command = [compiler, *FLAGS, "-o", str(unfinished), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                raise InputError(
                    f"{Path(compiler).name} could not compile the fast step, backend='eager' does without: "
                    f"{(done.stderr.strip().splitlines() or ['no message'])[0]}"
                )
            unfinished.replace(target)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(
            f"the fast step cannot be compiled into {target.parent} ({error}); "
            "set BK_CACHE to a directory of yours, or use backend='eager'"
        ) from error
    return target


def _compiler() -> str:
    for name in [os.environ.get("CXX", ""), *_COMPILERS]:
        found = shutil.which(name) if name else None
        if found:
            return found
    raise InputError(
        f"backend='compiled' needs a C++ compiler ({', '.join(_COMPILERS)} or CXX), none was found; "
        "backend='eager' does without"
    )


def _processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    told = {}
    for line in lines:
        name, _, value = line.partition(":")
        told.setdefault(name.strip(), value.strip())
    return platform.machine() + told.get("model name", "") + told.get("flags", told.get("Features", ""))
