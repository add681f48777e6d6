"""The states of runs that are not over: one file for each, beside the runs, under the key of its run.

A file begins with a line of JSON that carries its own checksum and that of what follows, an uncompressed .npz archive.
A checkpoint is a convenience: where one is damaged, or made by anything else than is at work now, the run begins anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome, Saved
from beyondkernels.store.documents import MOST_ARRAYS, MOST_TEXT, read_bytes, sealed, unsealed
from beyondkernels.store.drafts import Drafts
from beyondkernels.store.encoding import decode_arrays, encode_arrays
from beyondkernels.store.errors import DamagedError, UnreadableError
from beyondkernels.store.files import entries_of, replace_file
from beyondkernels.store.keys import checksum, is_key
from beyondkernels.store.source_code import code_checksum

FORMAT = 1
"""The layout of these files."""

_ENDING = ".state"
_MOST = MOST_ARRAYS + MOST_TEXT
_HEADER = {"key": str, "made_with": dict, "seconds": int | float, "facts": dict, "bytes": int, "sha256": str}
_MAKERS = ("version", "commit", "dirty", "libraries", "cpu", "python")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a store.

    Arguments:
        folder: where they are.
        drafts: where files are while they are written, on the same file system.
    """

    folder: Path
    drafts: Drafts

    def write(self, key: str, state: Saved, provenance: Mapping[str, Any], seconds: float) -> None:
        """Keep a state in place of the one before; an error of the disk is the caller's.

        Arguments:
            key: the run.
            state: what it needs to go on.
            provenance: with what it is being made.
            seconds: of work so far.
        """
        arrays = encode_arrays(Outcome(arrays=state.arrays))
        # An error of the disk, like a full one: the caller goes on without a checkpoint rather than end the run.
        if len(arrays) > MOST_ARRAYS:
            raise OSError(errno.EFBIG, "the state is too large to be saved")
        header = {
            "format": FORMAT,
            "key": key,
            "made_with": _makers(provenance),
            "seconds": seconds,
            "facts": state.facts,
            "bytes": len(arrays),
            "sha256": checksum(arrays),
        }
        # In three parts, so that a state of gigabytes is not copied once more to stand behind its header.
        replace_file(self._path(key), (sealed(header), b"\n", arrays), self.drafts.new())

    def read(self, key: str, provenance: Mapping[str, Any] | None) -> tuple[Saved, float] | None:
        """The state saved last and the seconds that went into it, if it is whole and made with the same; else None.

        Without a provenance, it does not matter what it was made with: nothing goes on from a state that is the end.

        The provenance of a run speaks for all of it, so nobody goes on with what other code, libraries or processors
        began. It stays until the next state replaces it: whoever began it may be at work. Damaged ones are removed.
        """
        path = self._path(key)
        try:
            header, state = _parsed(read_bytes(path, _MOST), path.name)
            _require_place(header, key)
            if provenance is None or header["made_with"] == _makers(provenance):
                return state, header["seconds"]
        except (OSError, MemoryError, UnreadableError, _OtherFormatError):  # none, a passing trouble, one of others
            pass
        except DamagedError:
            self.drop(key)
        return None

    def written(self, key: str) -> int | None:
        """When the state was saved last, in nanoseconds; None if there is none."""
        try:
            return self._path(key).lstat().st_mtime_ns
        except OSError:
            return None

    def drop(self, key: str) -> None:
        """Remove a checkpoint, if there is one; a disk that refuses leaves it for :meth:`prune`."""
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def keys(self) -> list[str]:
        """The runs that have one, sorted."""
        return sorted(path.stem for path in self._paths() if path.suffix == _ENDING)

    def bytes(self) -> int:
        """The size of all their files on the disk."""
        sizes = 0
        for path in self._paths():
            with contextlib.suppress(OSError):  # its run was over a moment ago
                sizes += path.lstat().st_size
        return sizes

    def damaged(self) -> list[tuple[str, str, Path]]:
        """Those that are not what was written, what is wrong with them, and where they lie."""
        damage = [(path, _damage(path)) for path in self._paths()]
        names = {path: f"{self.folder.name}/{path.name.removesuffix(_ENDING)}" for path, _ in damage}
        return [(names[path], what, path) for path, what in damage if what is not None]

    def prune(self, is_stored: Callable[[str], bool], seconds: float) -> int:
        """Remove the damaged, those of stored runs, and those that are old; gives their number.

        Arguments:
            is_stored: whether a run is over.
            seconds: the age at which a checkpoint counts as abandoned.
        """
        oldest, removed = time.time() - seconds, 0
        for path in self._paths():
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                if is_stored(path.stem) or path.lstat().st_mtime < oldest or _damage(path) is not None:
                    path.unlink()
                    removed += 1
        return removed

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"

    def _paths(self) -> list[Path]:
        return entries_of(self.folder)


class _OtherFormatError(DamagedError):
    """A checkpoint that another version wrote."""


def _makers(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """With what a state is made; the code is that of this process, whoever asked for the run."""
    # A commit alone does not say which code ran while files are being edited.
    return {name: provenance.get(name) for name in _MAKERS} | {"code": code_checksum()}


def _require_place(header: Mapping[str, Any], key: str) -> None:
    if header["key"] != key or not is_key(key):
        raise DamagedError("is not where a checkpoint belongs")


def _damage(path: Path) -> str | None:
    """What is wrong with a file, if it is still there."""
    try:
        header = _parsed(read_bytes(path, _MOST), path.name)[0] if path.suffix == _ENDING else {"key": None}
        _require_place(header, path.stem)
    except DamagedError as error:
        return str(error) if os.path.lexists(path) else None  # else its run was over while we looked
    return None


def _parsed(content: bytes, name: str) -> tuple[dict[str, Any], Saved]:
    # JSON escapes line ends, so the first one ends the header, whatever bytes the arrays hold.
    line, _, arrays = content.partition(b"\n")
    header = unsealed(line, name)
    if header.get("format") != FORMAT:
        raise _OtherFormatError(f"{name} has format {header.get('format')}, this version writes {FORMAT}")
    if any(not isinstance(header.get(field), kind) for field, kind in _HEADER.items()):
        raise DamagedError(f"{name} does not begin as a checkpoint does")
    # The length first: a file that was cut off is found out without hashing it.
    if len(arrays) != header["bytes"] or checksum(arrays) != header["sha256"]:
        raise DamagedError(f"{name} does not have its checksum")
    try:
        return header, Saved(header["facts"], decode_arrays(arrays)[1])
    except (DamagedError, MemoryError):
        raise
    except Exception as error:  # whatever a parser may say about bytes that nobody here wrote
        raise DamagedError(f"{name} cannot be read: {type(error).__name__}: {error}") from error
