"""The cache of compiled steps: libraries in a directory that only its owner can write to.

A library is called ``NAME-SOURCE-COMPILER-CONTENT.so``. The three digests say what it was made from (sources, flags and
processor), by which compiler, and what the file holds. So a file that was cut off or altered no longer fits its name:
it is removed and built again. One rename puts a library in its place, so builders at the same time do not disturb each
other.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_BUILDING = "building-"
_LIBRARY = re.compile(r"[a-z_]+-[0-9a-f]{24}(-[0-9a-f]{12}-[0-9a-f]{32})?\.so")  # without the tail: an older version's
_DAY = 86_400.0
UNUSED_DAYS = 60
"""A library that was not loaded for so many days is removed when another is built."""
MOST_LIBRARIES = 48
"""And the longest unused go if there are more than so many: three sources for sixteen processors and compilers."""
_ABANDONED_SECONDS = 3600.0  # a builder is done after minutes; what is older belongs to one that was killed


def directories() -> list[Path]:
    """Where libraries may be kept, in order of preference.

    These are the directory in ``BK_CACHE`` if that is set, ``beyondkernels`` in the user's cache directory, and beside
    it a directory for when that is not private.
    """
    given, base = os.environ.get("BK_CACHE"), os.environ.get("XDG_CACHE_HOME")
    found = [Path(given)] if given else []
    try:
        own = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:  # this user has no home
        return found
    return [*found, own / "beyondkernels", own / "beyondkernels-private"]


def distrust(directory: Path) -> str | None:
    """Why libraries in a directory must not be loaded; None if only its owner, or root, can have put them there."""
    try:
        found = directory.stat()
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a directory"
    return _others_can_write(found)


def prepared(directory: Path) -> str | None:
    """Make a directory that only its owner can use, if it is not there yet; then the same as :func:`distrust`."""
    try:
        # Loading a library runs its code with this user's rights, so nobody else may be able to put one here.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        return "is not a directory"
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    return distrust(directory)


def intact(directory: Path, name: str, source: str, compiler: str | None) -> list[Path]:
    """The libraries that may be loaded, the last used first; those that do not hold what their name says are removed.

    Arguments:
        directory: a directory that :func:`distrust` finds nothing against.
        name: the name of the library.
        source: the digest of what it is made from.
        compiler: the digest of the compiler; None accepts a library from any.
    """
    found = []
    for path in sorted(directory.glob(f"{name}-{source}-{compiler or '*'}-*.so"), key=_last_used, reverse=True):
        if _LIBRARY.fullmatch(path.name) is None:
            continue
        if _is_intact(path):
            found.append(path)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return found


def add(directory: Path, name: str, source: str, compiler: str, build: Callable[[Path], None]) -> Path:
    """Build a library and put it into a directory, then remove the libraries that nobody uses.

    Arguments:
        directory: a directory that :func:`distrust` finds nothing against.
        name: the name of the library.
        source: the digest of what it is made from.
        compiler: the digest of the compiler.
        build: writes the library to the path it is given.
    """
    # Inside the directory, so that the rename below stays on one file system and is a single, atomic act.
    with tempfile.TemporaryDirectory(dir=directory, prefix=_BUILDING) as folder:
        unfinished = Path(folder) / "step.so"
        build(unfinished)
        unfinished.chmod(0o600)
        # Two builders at once either make the same bytes, and so the same name, or two libraries side by side.
        target = directory / f"{name}-{source}-{compiler}-{_content(unfinished)}.so"
        unfinished.replace(target)
    _sweep(directory, keep=target)
    return target


def mark_used(library: Path) -> None:
    """Note that a library was loaded, once a day, so that it is not removed as unused."""
    with contextlib.suppress(OSError):  # an administrator's cache is read-only
        # The time of change, because many systems do not keep the time of reading; once a day is enough for 60 days.
        if time.time() - library.stat().st_mtime > _DAY:
            os.utime(library)


def libraries(directory: Path) -> list[Path]:
    """All libraries in a directory, the last used first."""
    with contextlib.suppress(OSError):
        named = [path for path in directory.iterdir() if _LIBRARY.fullmatch(path.name)]
        return sorted(named, key=_last_used, reverse=True)
    return []


def _sweep(directory: Path, keep: Path) -> None:
    now = time.time()
    for i, path in enumerate(libraries(directory)):
        unused = now - _last_used(path) > UNUSED_DAYS * _DAY
        # A process that has loaded a library keeps it although the file is gone, so nothing needs to be locked here.
        if path != keep and (unused or i >= MOST_LIBRARIES):
            with contextlib.suppress(OSError):
                path.unlink()
    for folder in directory.glob(f"{_BUILDING}*"):
        if now - _last_used(folder) > _ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _is_intact(path: Path) -> bool:
    try:
        # Of the link itself, if it is one: a link is not a regular file and is never followed.
        found = path.lstat()
        regular = stat.S_ISREG(found.st_mode) and _others_can_write(found) is None
        return regular and path.stem.rpartition("-")[2] == _content(path)
    except OSError:
        return False


def _others_can_write(found: os.stat_result) -> str | None:
    if not hasattr(os, "geteuid"):  # no such owners on this system
        return None
    if found.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written to by other users (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def _last_used(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:  # another process has removed it
        return 0.0
