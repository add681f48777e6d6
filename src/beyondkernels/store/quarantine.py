"""The quarantine: what was damaged in a store, put aside under a name that says what it was."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from beyondkernels.store.files import entries_of, is_directory


@dataclass(frozen=True)
class PutAside:
    """Something in the quarantine: its name there, the bytes of its files, and when it was last changed."""

    name: str
    bytes: int
    changed: float


@dataclass(frozen=True)
class Quarantine:
    """The folder of a store for what is damaged; nothing in it is ever read as a run."""

    folder: Path

    def take(self, source: Path, name: str) -> Path | None:
        """Move something here, a link as a link; gives its new place, or None if another process was faster."""
        # Numbered, so that nothing put aside is ever written over: a key can be damaged more than once.
        for number in itertools.count(1):
            target = self.folder / f"{name[:100]}-{number}"
            try:
                if not os.path.lexists(target):
                    # A rename keeps every byte for whoever wants to find out what happened, and needs no space on a
                    # full disk.
                    source.rename(target)
                    return target
            except OSError:
                # Two readers may find the same damage; who comes second has nothing left to do.
                if not os.path.lexists(source):
                    return None
                if not os.path.lexists(target):
                    raise
        raise AssertionError

    def entries(self) -> list[PutAside]:
        """What is here, sorted by name."""
        return [PutAside(path.name, _size(path), path.lstat().st_mtime) for path in entries_of(self.folder)]

    def empty(self) -> int:
        """Remove all of it, for good; gives the number of things removed."""
        removed = entries_of(self.folder)
        for path in removed:
            if is_directory(path):
                shutil.rmtree(path)
            else:
                path.unlink()
        return len(removed)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a directory; a link counts by itself and is not followed."""
    if not is_directory(path):
        return path.lstat().st_size
    return sum((Path(folder) / file).lstat().st_size for folder, _, files in os.walk(path) for file in files)
