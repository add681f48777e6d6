"""The states of runs that are not over: one file for each, beside the runs, under the key of its run.

A file begins with a line of JSON that carries its own checksum and that of what follows, an uncompressed .npz archive.
A checkpoint is a convenience: one that is damaged, or made by anything else than is at work now, is removed, and its
run begins anew.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome, Saved
from beyondkernels.runs.encoding import decode_arrays, encode_arrays
from beyondkernels.runs.errors import DamagedError
from beyondkernels.runs.files import replace_file, unique_name
from beyondkernels.runs.keys import checksum, is_key
from beyondkernels.runs.rundir import read_bytes, sealed, unsealed

FORMAT = 1
"""The layout of these files."""

_ENDING = ".state"
_MAKERS = ("version", "commit", "dirty", "libraries", "cpu", "python")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a store.

    Arguments:
        folder: where they are.
        drafts: where files are while they are written, on the same file system.
    """

    folder: Path
    drafts: Path

    def write(self, key: str, state: Saved, provenance: Mapping[str, Any], seconds: float) -> None:
        """Keep a state in place of the one before; an error of the disk is the caller's.

        Arguments:
            key: the run.
            state: what it needs to go on.
            provenance: with what it is being made.
            seconds: of work so far.
        """
        arrays = encode_arrays(Outcome(arrays=state.arrays))
        header = {
            "format": FORMAT,
            "key": key,
            "made_with": _makers(provenance),
            "seconds": seconds,
            "facts": state.facts,
            "bytes": len(arrays),
            "sha256": checksum(arrays),
        }
        replace_file(self._path(key), (sealed(header), b"\n", arrays), self.drafts / unique_name())

    def read(self, key: str, provenance: Mapping[str, Any]) -> tuple[Saved, float] | None:
        """The state saved last and the seconds that went into it, if it is whole and made with the same; else None.

        The provenance of a run speaks for all of it, so what other versions, libraries or processors began is removed.
        """
        path = self._path(key)
        if not path.exists():
            return None
        try:
            header, state = _read(path)
            if header["key"] == key and header["made_with"] == _makers(provenance):
                return state, float(header["seconds"])
        except (DamagedError, OSError):
            pass
        self.drop(key)
        return None

    def drop(self, key: str) -> None:
        """Remove a checkpoint, if there is one; a disk that refuses leaves it for :meth:`prune`."""
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def keys(self) -> list[str]:
        """The runs that have one, sorted."""
        return sorted(path.name.removesuffix(_ENDING) for path in self._paths())

    def bytes(self) -> int:
        """How much they take."""
        sizes = 0
        for path in self._paths():
            with contextlib.suppress(OSError):  # its run was over a moment ago
                sizes += path.stat().st_size
        return sizes

    def damaged(self) -> list[tuple[str, str]]:
        """Those that are not what was written, and what is wrong with them."""
        damage = []
        for path in self._paths():
            key = path.name.removesuffix(_ENDING)
            try:
                if not is_key(key) or path.suffix != _ENDING or _read(path)[0]["key"] != key:
                    damage.append((f"checkpoints/{path.name}", "is not where a checkpoint belongs"))
            except DamagedError as error:
                if path.exists():  # else its run was over while we looked
                    damage.append((f"checkpoints/{key}", str(error)))
        return damage

    def prune(self, is_stored: Callable[[str], bool], seconds: float) -> int:
        """Remove the damaged, those of stored runs, and those that are old; gives their number.

        Arguments:
            is_stored: whether a run is over.
            seconds: the age at which a checkpoint counts as abandoned.
        """
        bad = {name.removeprefix("checkpoints/").removesuffix(_ENDING) for name, _ in self.damaged()}
        oldest, removed = time.time() - seconds, 0
        for path in self._paths():
            key = path.name.removesuffix(_ENDING)
            with contextlib.suppress(FileNotFoundError):
                if key in bad or is_stored(key) or path.stat().st_mtime < oldest:
                    path.unlink()
                    removed += 1
        return removed

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"

    def _paths(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.is_dir() else []


def _makers(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {name: provenance.get(name) for name in _MAKERS}


def _read(path: Path) -> tuple[dict[str, Any], Saved]:
    line, _, arrays = read_bytes(path).partition(b"\n")
    header = unsealed(line, path.name)
    if header.get("format") != FORMAT:
        raise DamagedError(f"{path.name} has format {header.get('format')}, this version writes {FORMAT}")
    if len(arrays) != header["bytes"] or checksum(arrays) != header["sha256"]:
        raise DamagedError(f"{path.name} does not have its checksum")
    try:
        return header, Saved(header["facts"], decode_arrays(arrays)[1])
    except DamagedError:
        raise
    except Exception as error:  # whatever a parser may say about bytes that nobody here wrote
        raise DamagedError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
