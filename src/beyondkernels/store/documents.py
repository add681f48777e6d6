"""Reading files that anybody may have written: sizes known beforehand, regular files only, JSON that stays small.

A store may come from somebody else. Whatever is in it, reading ends with its content or with a :class:`DamagedError`.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from beyondkernels.core.errors import InputError, require
from beyondkernels.store.errors import DamagedError, UnreadableError
from beyondkernels.store.keys import canonical, checksum

MOST_TEXT = 2**24
"""Bytes that a JSON file of a store may have."""

MOST_ARRAYS = 2**31
"""Bytes that the arrays of one run, or its saved state, may have."""

_DEEPEST = 100
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO, errno.ENXIO)
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(path: Path, most: int = MOST_TEXT, expected: int | None = None) -> bytes:
    """A file's content; :class:`DamagedError` if it is missing, unreadable, no regular file, or of a wrong size.

    Arguments:
        path: the file. A link is not followed, a pipe is not waited for.
        most: the largest size that is read.
        expected: the size it must have.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DamagedError(f"{path.name} is a link") from error
        if error.errno in _GONE:
            raise UnreadableError(f"{path.name} is missing or unreadable") from error
        raise
    try:
        # Of the open file and not of its name, which another process could point elsewhere between two looks.
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedError(f"{path.name} is not a regular file")
        if expected is not None and found.st_size != expected:
            raise DamagedError(f"{path.name} has {found.st_size} bytes instead of {expected}")
        if found.st_size > most:
            raise DamagedError(f"{path.name} has {found.st_size} bytes, more than the {most} that are read")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            # At most what was measured, although a file may grow while it is read.
            return file.read(found.st_size)
    except OSError as error:
        raise UnreadableError(f"{path.name} is missing or unreadable") from error
    finally:
        os.close(descriptor)


def require_size(content: bytes, name: str, most: int = MOST_TEXT) -> bytes:
    """Refuse to write what would be too large to be read again."""
    require(len(content) <= most, f"{name} would have {len(content)} bytes, a store keeps at most {most} in one file")
    return content


def parsed(content: bytes, name: str) -> Any:
    """JSON as plain data; :class:`DamagedError` if it is none, nested too deeply, or holds numbers that are not finite.

    Arguments:
        content: the file's bytes.
        name: the file's name, for the error.
    """
    try:
        data = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name} cannot be read as JSON") from error
    if _is_deep(data):  # whatever walks through it need not fear for its stack
        raise DamagedError(f"{name} is nested more than {_DEEPEST} deep")
    return data


def sealed(data: dict[str, Any]) -> bytes:
    """Canonical JSON that carries its own checksum."""
    return canonical({**data, "checksum": checksum(canonical(data))})


def unsealed(content: bytes, name: str) -> dict[str, Any]:
    """The inverse of :func:`sealed`; a single changed byte is an error, even one that JSON would not mind."""
    try:
        data = parsed(content, name)
        data.pop("checksum")
        # Written again and compared as bytes: this also finds other spacing, other order, and keys given twice.
        intact = sealed(data) == content
    except (DamagedError, KeyError, AttributeError, TypeError, InputError):
        data, intact = {}, False
    if not intact:
        raise DamagedError(f"{name} does not have its checksum")
    return data


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _is_deep(data: Any) -> bool:
    # Level by level, not by recursion, which is what deep data would exhaust.
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True
