"""Making, opening and migrating a store's directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from beyondkernels import __version__
from beyondkernels.core.errors import StoreError, shown
from beyondkernels.store.documents import parsed, read_bytes
from beyondkernels.store.errors import DamagedError
from beyondkernels.store.files import is_directory, lock, replace_file, store_errors, sync_directory, unique_name
from beyondkernels.store.keys import canonical

FORMAT = 1
"""The layout that this version writes."""

MIGRATIONS: dict[int, Callable[[Path], None]] = {}
"""From format n to n + 1: functions that change a store's directory in place and may be run again if interrupted."""

MARK = "store.json"
FOLDERS = ("runs", "tmp", "quarantine", "requests", "checkpoints", "predictors")

_DRAFT = ".store-"


def open_directory(path: Path, *, create: bool, read_only: bool) -> None:
    """See that a directory is a store of today's format, making or migrating it if that is wanted.

    Arguments:
        path: the directory.
        create: make a new store where there is nothing.
        read_only: change nothing.
    """
    if "\0" in str(path):
        raise StoreError(f"no file system has a path with a zero byte, got {shown(str(path))}")
    with store_errors(path, "read" if read_only else "open"):
        # Before anything is made, so that no half of a store is left in a wrong place.
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file, a store is a directory")
        if not (path / MARK).exists():
            # A draft of the mark may be another process at work, or one that was killed; neither makes the place a
            # stranger's.
            strangers = path.is_dir() and any(not entry.name.startswith(_DRAFT) for entry in path.iterdir())
            # another process makes the mark before anything else, so look again before judging
            if strangers and not (path / MARK).exists():
                raise StoreError(f"{path} is not a store (no {MARK} in it); choose an empty or a new directory")
            if not strangers and (read_only or not create):
                raise StoreError(f"there is no store at {path}")
            if not strangers:
                _make(path)
        found = _format(path)
        if found < FORMAT and read_only:
            raise StoreError(f"the store {path} has the old format {found}; open it for writing once to migrate it")
        if found < FORMAT:
            _migrate(path)
        for folder in FOLDERS:
            _require_folder(path, folder)
        if not read_only:
            for folder in FOLDERS:
                (path / folder).mkdir(exist_ok=True)
            probe = path / "tmp" / unique_name()
            probe.touch()  # a read-only store is found out here, not after an hour of work
            probe.unlink()


def _require_folder(path: Path, name: str) -> None:
    if os.path.lexists(path / name) and not is_directory(path / name):
        what = "a link" if (path / name).is_symlink() else "a file"
        raise StoreError(
            f"{name} in the store {path} is {what}, not a directory; move it away, then open the store again"
        )


def _make(path: Path) -> None:
    with store_errors(path, "make"):
        path.mkdir(parents=True, exist_ok=True)
        # The mark first, folders later: whoever sees anything in the directory then also sees that it is a store.
        _mark(path, FORMAT)
        # The name of a new directory is in its parent: without this a power cut could take the whole store.
        sync_directory(path.parent)


def _mark(path: Path, number: int) -> None:
    replace_file(path / MARK, canonical({"format": number, "made_by": __version__}), path / f"{_DRAFT}{unique_name()}")


def _format(path: Path) -> int:
    try:
        data = parsed(read_bytes(path / MARK), MARK)
        found, made_by = data["format"], str(data.get("made_by"))[:80]
    except (DamagedError, KeyError, TypeError, AttributeError):
        found, made_by = None, None
    if not isinstance(found, int) or isinstance(found, bool):
        raise StoreError(f"{path / MARK} is damaged: it names no format; this version writes format {FORMAT}")
    if found > FORMAT:
        raise StoreError(
            f"the store {path} has format {found}, made by version {made_by}; this is version {__version__}, which "
            f"knows formats up to {FORMAT}: upgrade beyondkernels or choose another store"
        )
    return found


def _migrate(path: Path) -> None:
    with lock(path / "store.lock", wait=True):
        while (found := _format(path)) < FORMAT:  # read again: another process may have done it while we waited
            if found not in MIGRATIONS:
                raise StoreError(f"the store {path} has format {found}, which this version cannot migrate")
            # One format at a time, and the mark after each, so that a migration that is interrupted goes on where it
            # was.
            MIGRATIONS[found](path)
            _mark(path, found + 1)
