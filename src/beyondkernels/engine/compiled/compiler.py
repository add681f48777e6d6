"""The C++ compiler of this machine: where it is, which version, and what it makes of a source."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from beyondkernels.core import InputError

FLAGS = (
    "-std=c++17",
    "-O2",  # and what of -O3 matters here, in half the time
    "-ftree-vectorize",
    # What is compiled here runs here: the cache knows a library by this processor's model and instruction sets.
    "-march=native",
    # A fused multiply-add rounds once instead of twice. So the last digits differ from those of the eager backend, and
    # the backend is part of a run's key.
    "-ffp-contract=fast",
    # These two free the vectoriser without touching a result. -ffast-math would: it reorders sums, and some compilers
    # then flush tiny numbers to zero in the whole process.
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
NAMES = ("g++", "clang++", "c++")
"""The commands that are tried, in this order, after the one that ``CXX`` names."""
REMEDY = (
    "install g++ or clang++, or set CXX to a C++ compiler, or choose backend='eager' "
    "(bk run: --set backend=eager), which needs no compiler and is slower"
)
"""What a user can do where no compiler works."""
_SECONDS = 300
_VERSION_SECONDS = 30


@dataclass(frozen=True)
class Compiler:
    """A compiler.

    Arguments:
        path: the command.
        version: what it says about its version; empty if it says nothing.
    """

    path: str
    version: str

    @property
    def name(self) -> str:
        """The command without its directory."""
        return Path(self.path).name

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change with the compiler and its version."""
        return hashlib.sha256(f"{self.name}\0{self.version}".encode()).hexdigest()[:12]

    def compile(self, source: Path, target: Path) -> None:
        """Make a shared library.

        Arguments:
            source: the C++ file.
            target: the library, which is written over.
        """
        command = [self.path, *FLAGS, "-o", str(target), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(f"{self.name} did not run ({error}); {REMEDY}") from error
        if done.returncode != 0 or not target.is_file():
            said = (done.stderr.strip().splitlines() or ["no message"])[0]
            raise InputError(f"{self.name} could not compile {source.name} ({said}); {REMEDY}")


def find_compiler() -> Compiler | None:
    """The command that the environment variable ``CXX`` names, or the first of :data:`NAMES` that is installed."""
    for name in [os.environ.get("CXX", ""), *NAMES]:
        path = shutil.which(name) if name else None
        if path:
            return Compiler(path, _version(path))
    return None


def processor() -> str:
    """What ``-march=native`` depends on: the processor's model and its instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    told = {}
    for line in lines:
        name, _, value = line.partition(":")
        # The first processor stands for all: the file repeats the same lines for each.
        told.setdefault(name.strip(), value.strip())
    return platform.machine() + told.get("model name", "") + told.get("flags", told.get("Features", ""))


def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_VERSION_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
