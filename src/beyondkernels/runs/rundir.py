"""One run as a directory: its files, the checksums that close it, and reading it back."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome
from beyondkernels.runs.encoding import decode_arrays, decode_result, encode_arrays, encode_result
from beyondkernels.runs.errors import DamagedError
from beyondkernels.runs.files import sync_directory, write_file
from beyondkernels.runs.keys import canonical, checksum, key_of
from beyondkernels.runs.translation import translated

SPEC, RESULT, ARRAYS, PROVENANCE, DONE = "spec.json", "result.json", "arrays.npz", "provenance.json", "done.json"

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO, errno.ELOOP)


@dataclass(frozen=True)
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


def encode(description: Mapping[str, Any], outcome: Outcome, provenance: Mapping[str, Any]) -> dict[str, bytes]:
    """The contents of a run's files, by name."""
    return {
        SPEC: canonical(description),
        RESULT: encode_result(outcome),
        ARRAYS: encode_arrays(outcome),
        PROVENANCE: canonical(provenance),
    }


def write(directory: Path, key: str, contents: Mapping[str, bytes]) -> None:
    """Write a run's files into an empty directory, all synced, ``done.json`` last."""
    for name, content in contents.items():
        write_file(directory / name, content)
    write_file(directory / DONE, closing(key, contents))
    sync_directory(directory)


def closing(key: str, contents: Mapping[str, bytes]) -> bytes:
    """The content of ``done.json``: size and checksum of each file, and a checksum of all this."""
    files = {name: {"bytes": len(content), "sha256": checksum(content)} for name, content in contents.items()}
    return sealed({"key": key, "files": files})


def sealed(data: dict[str, Any]) -> bytes:
    """Canonical JSON that carries its own checksum."""
    return canonical({**data, "checksum": checksum(canonical(data))})


def unsealed(content: bytes, name: str) -> dict[str, Any]:
    """The inverse of :func:`sealed`; a single changed byte is an error, even one that JSON would not mind."""
    try:
        data = json.loads(content)
        data.pop("checksum")
        intact = sealed(data) == content
    except (ValueError, KeyError, AttributeError, TypeError):
        data, intact = {}, False
    if not intact:
        raise DamagedError(f"{name} does not have its checksum")
    return data


def read(directory: Path, key: str) -> StoredRun:
    """A run with all its checksums verified; :class:`DamagedError` says what is wrong with it."""
    contents = _verified(directory, key)
    try:
        description = json.loads(contents[SPEC])
        status, scalars = decode_result(contents[RESULT])
        series, arrays = decode_arrays(contents[ARRAYS])
        provenance = json.loads(contents[PROVENANCE])
    except DamagedError:
        raise
    except Exception as error:  # whatever a parser may say about bytes that nobody here wrote
        raise DamagedError(f"its files cannot be read: {type(error).__name__}: {error}") from error
    if key_of(description) != key:
        raise DamagedError(f"{SPEC} belongs to another run")
    outcome = translated(description, Outcome(status, scalars, series, arrays))
    return StoredRun(key, description, outcome, provenance)


def _verified(directory: Path, key: str) -> dict[str, bytes]:
    done = unsealed(read_bytes(directory / DONE), DONE)
    files = done.get("files", {})
    if done.get("key") != key:
        raise DamagedError(f"{DONE} belongs to another run")
    if set(files) != {SPEC, RESULT, ARRAYS, PROVENANCE}:  # so no name in it can lead elsewhere
        raise DamagedError(f"{DONE} lists other files than a run has")
    there = sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))  # systems hide files
    strangers = [name for name in there if name not in files and name != DONE]
    if strangers:
        raise DamagedError(f"{', '.join(strangers)} does not belong there")
    contents = {}
    for name, expected in files.items():
        content = read_bytes(directory / name)
        if len(content) != expected["bytes"]:
            raise DamagedError(f"{name} has {len(content)} bytes instead of {expected['bytes']}")
        if checksum(content) != expected["sha256"]:
            raise DamagedError(f"{name} does not have its checksum")
        contents[name] = content
    return contents


def read_bytes(path: Path) -> bytes:
    """A file's content; :class:`DamagedError` if it is not there or the disk cannot read it."""
    try:
        return path.read_bytes()
    except OSError as error:
        if error.errno in _GONE:
            raise DamagedError(f"{path.name} is missing or unreadable") from error
        raise
