"""Drafts: what is being written, under random names, so that no process takes another's draft for its own.

Process numbers would not do: two containers on one store have the same ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from beyondkernels.store.files import entries_of, fcntl, unique_name

_STALE_SECONDS = 3600.0
_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN)


@dataclass(frozen=True)
class Drafts:
    """The folder of a store where files and directories are while they are written.

    Arguments:
        folder: where they are, on the file system of the store.
        owner: begins the names of all drafts of one process; random.
    """

    folder: Path
    owner: str = field(default_factory=unique_name)

    def new(self) -> Path:
        """A name that nobody else uses."""
        return self.folder / f"{self.owner}-{unique_name()}"

    @contextlib.contextmanager
    def directory(self) -> Iterator[Path]:
        """A new directory to write in; nobody sweeps it while it is held, and it is gone afterwards unless renamed."""
        # A random name each time, so that nothing has to be asked or locked before writing.
        draft = self.new()
        try:
            draft.mkdir()
            with _held(draft):
                yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def sweep(self, owner: str) -> None:
        """Remove what a process that has ended left half written."""
        for draft in entries_of(self.folder):
            if draft.name.startswith(f"{owner}-"):
                _remove(draft)

    def sweep_old(self) -> None:
        """Remove what nobody has touched for an hour and nobody holds, whoever made it."""
        oldest = time.time() - _STALE_SECONDS  # where a lock is not seen from other machines, age has to do
        for draft in entries_of(self.folder):
            with contextlib.suppress(OSError):
                if _touched(draft) < oldest and not _is_held(draft):
                    _remove(draft)


def _touched(draft: Path) -> float:
    # A directory's own time stands still while a file in it is being written, so the files count as well.
    files = draft.iterdir() if draft.is_dir() and not draft.is_symlink() else ()
    return max(path.lstat().st_mtime for path in (draft, *files))


@contextlib.contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Hold a lock on a directory, which ends with the process; a file system without locks goes without."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                # A shared lock is enough to be seen by the sweeper's exclusive one, and it ends with the process, also
                # by a kill.
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _is_held(draft: Path) -> bool:
    if fcntl is None or draft.is_symlink() or not draft.is_dir():
        return False
    descriptor = os.open(draft, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Any other error means that this file system knows no locks, and then age alone decides.
        return error.errno in _TAKEN
    finally:
        os.close(descriptor)
    return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
