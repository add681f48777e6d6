"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import time
from pathlib import Path

_DEAD = 60.0  # seconds; a file is written in far less, so an older temporary one belongs to a process that was killed


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a new name beside the path, then rename; a failure leaves what was there before.

    The new name is random, and the file must not exist yet, so no link that someone put there is followed. What an
    earlier process that was killed left of the same file is removed.
    """
    data = content.encode() if isinstance(content, str) else content
    _remove_dead(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        _fill(descriptor, data)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _fill(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _remove_dead(path: Path) -> None:
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime > _DEAD:
                left.unlink()
