"""The SQLite index: a cache of what the run directories say, so that listing ten thousand of them is quick.

The directories are the truth. The index is made anew in one step by whoever holds its lock; a missing, old, broken or
unwritable index costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from beyondkernels.runs import rundir
from beyondkernels.runs.encoding import decode_result


@dataclass(frozen=True)
class Entry:
    """One line of a store's listing.

    Arguments:
        key: the run.
        problem: the class of its problem.
        learner: the class of its learner.
        seed: its seed.
        status: ``finished``, ``diverged``, or ``damaged`` when its files cannot be read.
        seconds: how long it took.
        bytes: the size of its files.
        stamp: when the run was closed, in nanoseconds, so that a run made again is read again.
    """

    key: str
    problem: str | None
    learner: str | None
    seed: int | None
    status: str
    seconds: float | None
    bytes: int
    stamp: int


def entries(index: Path, directories: Mapping[str, Path]) -> tuple[list[Entry], bool]:
    """The entries of all runs, from the index where it knows them, and whether the index needs to be saved.

    Arguments:
        index: the SQLite file, which may be missing or broken.
        directories: the run directories by key.
    """
    known = {entry.key: entry for entry in _load(index)}
    result = []
    changed = known.keys() != directories.keys()
    for key, directory in directories.items():
        try:
            stamp = (directory / rundir.DONE).stat().st_mtime_ns
        except OSError:  # put aside by somebody a moment ago
            changed = True
            continue
        entry = known.get(key)
        if entry is None or entry.stamp != stamp:
            entry = _look(directory, key, stamp)
            changed = True
        result.append(entry)
    return result, changed


def save(index: Path, temporary: Path, rows: list[Entry]) -> None:
    """Replace the index by one that holds these entries."""
    try:
        with contextlib.closing(sqlite3.connect(temporary)) as connection, connection:
            connection.execute(
                "CREATE TABLE runs (key TEXT PRIMARY KEY, problem TEXT, learner TEXT, seed TEXT, status TEXT,"
                " seconds REAL, bytes INTEGER, stamp INTEGER)"
            )
            # seeds are any integers, SQLite's end at 64 bits: hence text
            connection.executemany(
                "INSERT INTO runs VALUES (:key, :problem, :learner, :seed, :status, :seconds, :bytes, :stamp)",
                [{**asdict(row), "seed": None if row.seed is None else str(row.seed)} for row in rows],
            )
        temporary.replace(index)
    finally:
        temporary.unlink(missing_ok=True)


def _load(index: Path) -> list[Entry]:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(index))}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            rows = [dict(row) for row in connection.execute("SELECT * FROM runs")]
        return [Entry(**{**row, "seed": None if row["seed"] is None else int(row["seed"])}) for row in rows]
    except (sqlite3.Error, ValueError, TypeError, KeyError):
        return []


def _look(directory: Path, key: str, stamp: int) -> Entry:
    """Read the small files of a run; its checksums are for reading and verifying."""
    try:
        fields = json.loads((directory / rundir.SPEC).read_bytes()).get("fields", {})
        status, _ = decode_result((directory / rundir.RESULT).read_bytes())
        seconds = json.loads((directory / rundir.PROVENANCE).read_bytes()).get("seconds")
        done = json.loads((directory / rundir.DONE).read_bytes())
        size = sum(file["bytes"] for file in done["files"].values())
        seed = fields.get("seed")
        return Entry(
            key=key,
            problem=_class(fields.get("problem")),
            learner=_class(fields.get("learner")),
            seed=seed if isinstance(seed, int) else None,
            status=str(status),
            seconds=None if seconds is None else float(seconds),
            bytes=int(size),
            stamp=stamp,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Entry(key, None, None, None, "damaged", None, 0, stamp)


def _class(component: Any) -> str | None:
    return component.get("class") if isinstance(component, dict) else None
