"""One run as a directory: its files, the checksums that close it, and reading it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome
from beyondkernels.store.documents import MOST_ARRAYS, MOST_TEXT, parsed, read_bytes, require_size, sealed, unsealed
from beyondkernels.store.encoding import decode_arrays, decode_result, encode_arrays, encode_result
from beyondkernels.store.errors import DamagedError
from beyondkernels.store.files import entries_of, is_directory, sync_directory, write_file
from beyondkernels.store.keys import canonical, checksum, key_of
from beyondkernels.store.provenance import flaw_in

SPEC, RESULT, ARRAYS, PROVENANCE, DONE = "spec.json", "result.json", "arrays.npz", "provenance.json", "done.json"


@dataclass(frozen=True, repr=False)
class StoredRun:
    """A run as read from a store.

    Arguments:
        key: its key.
        description: what ``core.build`` turns back into the :class:`RunSpec`.
        outcome: what it left behind.
        provenance: when and with what it was made.
    """

    key: str
    description: dict[str, Any]
    outcome: Outcome
    provenance: dict[str, Any]

    def __repr__(self) -> str:
        return f"<StoredRun {self.key[:8]} {self.outcome.summary}>"


def encode(description: Mapping[str, Any], outcome: Outcome, provenance: Mapping[str, Any]) -> dict[str, bytes]:
    """The contents of a run's files, by name."""
    contents = {
        SPEC: canonical(description),
        RESULT: encode_result(outcome),
        ARRAYS: encode_arrays(outcome),
        PROVENANCE: canonical(provenance),
    }
    return {name: require_size(content, name, _most(name)) for name, content in contents.items()}


def write(directory: Path, key: str, contents: Mapping[str, bytes]) -> None:
    """Write a run's files into an empty directory, all synced, ``done.json`` last."""
    for name, content in contents.items():
        write_file(directory / name, content)
    # Last, and after the others are synced: where done.json is, everything it lists was on the disk before.
    write_file(directory / DONE, closing(key, contents))
    sync_directory(directory)


def closing(key: str, contents: Mapping[str, bytes]) -> bytes:
    """The content of ``done.json``: size and checksum of each file, and a checksum of all this."""
    files = {name: {"bytes": len(content), "sha256": checksum(content)} for name, content in contents.items()}
    return sealed({"key": key, "files": files})


def read(directory: Path, key: str) -> StoredRun:
    """A run with all its checksums verified; :class:`DamagedError` says what is wrong with it."""
    contents = _verified(directory, key)
    try:
        description = parsed(contents[SPEC], SPEC)
        status, scalars = decode_result(contents[RESULT])
        series, arrays = decode_arrays(contents[ARRAYS])
        provenance = parsed(contents[PROVENANCE], PROVENANCE)
        # Checksums only say that a file is what was written; this says that it is the run that was asked for.
        belongs = key_of(description) == key
        outcome = Outcome(status, scalars, series, arrays)
    except DamagedError:
        raise
    except Exception as error:  # whatever a parser may say about bytes that nobody here wrote
        raise DamagedError(f"its files cannot be read: {type(error).__name__}: {error}") from error
    if not belongs:
        raise DamagedError(f"{SPEC} belongs to another run")
    if not _is_description(description):
        raise DamagedError(f"{SPEC} does not describe a run")
    if (flaw := flaw_in(provenance)) is not None:
        raise DamagedError(f"{PROVENANCE}: {flaw}")
    return StoredRun(key, description, outcome, provenance)


def summary(directory: Path, key: str) -> tuple[str, float, int]:
    """How a run ended, its seconds, and the bytes of its files; looks at the small files alone, without checksums."""
    try:
        files = unsealed(read_bytes(directory / DONE), DONE)["files"]
        status, _ = decode_result(read_bytes(directory / RESULT))
        seconds = parsed(read_bytes(directory / PROVENANCE), PROVENANCE).get("seconds")
        return str(status), float(seconds or 0.0), sum(int(file["bytes"]) for file in files.values())
    except DamagedError:
        raise
    except Exception as error:  # as above
        raise DamagedError(f"{key} cannot be read: {type(error).__name__}") from error


def described(directory: Path) -> dict[str, Any]:
    """What a run is, from its small file alone, without its checksum."""
    try:
        description = parsed(read_bytes(directory / SPEC), SPEC)
    except DamagedError:
        raise
    except Exception as error:  # as above
        raise DamagedError(f"{SPEC} cannot be read: {type(error).__name__}") from error
    if not _is_description(description):
        raise DamagedError(f"{SPEC} does not describe a run")
    return description


def _verified(directory: Path, key: str) -> dict[str, bytes]:
    if not is_directory(directory):
        raise DamagedError("is a link or a file, not a run's directory")
    done = unsealed(read_bytes(directory / DONE), DONE)
    files = done.get("files")
    if done.get("key") != key:
        raise DamagedError(f"{DONE} belongs to another run")
    if not isinstance(files, dict) or set(files) != {SPEC, RESULT, ARRAYS, PROVENANCE}:  # so no name leads elsewhere
        raise DamagedError(f"{DONE} lists other files than a run has")
    # Nothing here ever adds a file to a closed run, so somebody else did.
    strangers = [path.name for path in entries_of(directory) if path.name not in files and path.name != DONE]
    if strangers:
        raise DamagedError(f"{', '.join(strangers)} does not belong there")
    contents = {}
    for name, expected in files.items():
        size, sha256 = _expected(expected)
        # With its size known beforehand, a wrong file is refused before it is read into memory.
        content = read_bytes(directory / name, _most(name), size)
        if checksum(content) != sha256:
            raise DamagedError(f"{name} does not have its checksum")
        contents[name] = content
    return contents


def _expected(file: Any) -> tuple[int, str]:
    if not isinstance(file, dict) or type(file.get("bytes")) is not int or not isinstance(file.get("sha256"), str):
        raise DamagedError(f"{DONE} does not say the size and checksum of each file")
    return file["bytes"], file["sha256"]


def _is_description(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("class"), str) and isinstance(data.get("fields"), dict)


def _most(name: str) -> int:
    return MOST_ARRAYS if name == ARRAYS else MOST_TEXT
