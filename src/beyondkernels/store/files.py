"""Files that survive: written whole, synced, locked; and what a failing disk means in a sentence."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from beyondkernels.core.errors import StoreError

try:
    import fcntl
except ImportError:  # pragma: no cover - no such lock there
    fcntl = None

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


def unique_name() -> str:
    """A random name that nobody else uses, here or in any other container or machine."""
    return secrets.token_hex(8)


def is_directory(path: Path) -> bool:
    """Whether there is a directory at a path, and not a link to one, which may lead out of the store."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def entries_of(folder: Path) -> list[Path]:
    """What is in a folder, sorted; nothing where there is none. Files that systems hide are none of ours."""
    there = folder.iterdir() if is_directory(folder) else ()
    return sorted(path for path in there if not path.name.startswith("."))


def write_file(path: Path, content: bytes | tuple[bytes, ...]) -> None:
    """Write a new file and sync it; content in parts need not be put together in memory."""
    # New or not at all: a name that is taken already is a mistake, never something to write over.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        for part in (content,) if isinstance(content, bytes) else content:
            rest = memoryview(part)
            # The system may take less than it is offered, on a disk that is nearly full for instance.
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Sync the names in a directory, where the file system knows how."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes | tuple[bytes, ...], temporary: Path) -> None:
    """Put content at a path in one step: a reader sees the old file or the new one, never half of it.

    Arguments:
        path: the file to make or replace.
        content: all of it, or its parts.
        temporary: a new name on the same file system.
    """
    try:
        # Written and synced under another name first. Some file systems may otherwise bring the rename to the disk
        # before the content, and leave an empty file behind after a power cut.
        write_file(temporary, content)
        temporary.replace(path)
    # An interrupt too must not leave a draft behind.
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # Only now is the new name on the disk as well.
    sync_directory(path.parent)


@contextlib.contextmanager
def lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a file lock that ends with the process; gives whether it is held.

    Arguments:
        path: the lock's file, made if need be.
        wait: wait for another holder to finish, or give up at once.
    """
    if fcntl is None:  # pragma: no cover
        yield True
        return
    try:
        # The file stays for ever: removing a lock's file would let two processes hold locks on two files of one name.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:  # taken, or a file system without locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def store_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn an error of the file system into a :class:`StoreError` that says what it means for the store.

    Arguments:
        path: the store.
        doing: what failed: ``write to``, ``read``, ``make``.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            reason = "the disk is full; free some space and start again, nothing that was stored is lost"
        elif error.errno in _FORBIDDEN:
            reason = "it is read-only or not yours; choose another place with --store"
        else:
            reason = (error.strerror or type(error).__name__).lower()
        raise StoreError(f"cannot {doing} the store {path}: {reason}") from error
