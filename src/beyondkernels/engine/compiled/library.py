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


@functools.cache
def library() -> ctypes.CDLL:
    """The steps, compiled now if these sources were never compiled for this processor before.

    Flags leave the arithmetic as it stands: no reordering of sums, no flushing of tiny numbers anywhere in the process.
    """
    built = ctypes.CDLL(str(_built()))
    pointer, whole, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    built.bk_descend.argtypes = [*[pointer] * 8, whole, whole, whole, *[pointer] * 4]
    built.bk_descend.restype = whole
    built.bk_one_pass.argtypes = [*[pointer] * 12, whole, real, real, whole, whole, pointer]
    built.bk_one_pass.restype = whole
    built.bk_lanes.restype = ctypes.c_int32
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


def _built() -> Path:
    compiler = _compiler()
    headers, sources = (sorted(SOURCES.glob(pattern)) for pattern in ("*.h", "*.cpp"))
    texts = [part for path in (*headers, *sources) for part in (path.name.encode(), path.read_bytes())]
    identity = [*texts, " ".join(FLAGS).encode(), _processor().encode(), Path(compiler).name.encode()]
    name = hashlib.sha256(b"\0".join(identity)).hexdigest()[:24]
    target = cache_directory() / f"step-{name}.so"
    if target.exists():
        return target
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # built under another name and renamed: two processes may do this at once, and one may be killed
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            unfinished = Path(folder) / "step.so"
            command = [compiler, *FLAGS, "-o", str(unfinished), *map(str, sources)]
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
