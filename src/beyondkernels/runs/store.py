"""The store: a directory of runs that survives crashes, full disks and other processes.

A store holds ``store.json`` (its format), ``runs/<two digits>/<key>/`` (the runs, which are the truth), ``requests/``
(what was asked of it), ``checkpoints/`` (states of runs that are not over), ``quarantine/`` (damaged runs), ``tmp/``
(what is being written) and ``index.sqlite`` (a cache).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import StoreError, require
from beyondkernels.runs import index, requests, rundir
from beyondkernels.runs.checkpoints import Checkpoints
from beyondkernels.runs.drafts import Drafts
from beyondkernels.runs.errors import DamagedError, MissingRunError
from beyondkernels.runs.files import entries_of, lock, store_errors, sync_directory, unique_name
from beyondkernels.runs.index import Entry
from beyondkernels.runs.keys import is_key, key_of, require_key
from beyondkernels.runs.opening import open_directory
from beyondkernels.runs.rundir import StoredRun


@dataclass(frozen=True)
class Finding:
    """Something wrong in a store: which run, request or checkpoint, and what."""

    key: str
    what: str


@dataclass(frozen=True)
class StoreSize:
    """How much a store holds: runs, their bytes, their seconds of work, how they ended, and what is beside them."""

    runs: int
    bytes: int
    seconds: float
    statuses: Mapping[str, int]
    requests: int
    quarantined: int
    checkpoints: int
    checkpoint_bytes: int


@dataclass(frozen=True)
class Store:
    """A directory of runs; open one with :meth:`Store.open`.

    Arguments:
        path: the directory.
        read_only: whether nothing in it may be changed.
        owner: a random name with which all drafts begin, so that a parent can :meth:`sweep` those of a killed worker.
    """

    path: Path
    read_only: bool = False
    owner: str = field(default_factory=unique_name, compare=False, repr=False)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = True, read_only: bool = False) -> Store:
        """Open the store at a path.

        Arguments:
            path: a store, or a new or empty directory to become one.
            create: make a new store where there is none.
            read_only: change nothing on the disk, not even to put a damaged run aside.
        """
        store = cls(Path(path), read_only)
        open_directory(store.path, create=create, read_only=read_only)
        if not read_only:
            store.drafts.sweep_old()
        return store

    def has(self, key: str) -> bool:
        """Whether a run is there and closed; its checksums are verified when it is read."""
        require_key(key)
        return (self._directory(key) / rundir.DONE).is_file()

    def write(self, key: str, description: Mapping[str, Any], outcome: Outcome, provenance: Mapping[str, Any]) -> None:
        """Store a run; if it is there already, whoever wrote it, nothing happens.

        Arguments:
            key: the run's key.
            description: ``core.describe(spec)``, which has that key.
            outcome: what the run left behind.
            provenance: plain data on when and with what it was made.
        """
        self._require_writable()
        require(key_of(description) == key, f"the description has the key {key_of(description)}, got {key!r}")
        contents = rundir.encode(description, outcome, provenance)
        if self.has(key):
            return
        with store_errors(self.path, "write to"), self.drafts.directory() as draft:
            try:
                rundir.write(draft, key, contents)
                self._publish(draft, key)
            except FileNotFoundError as error:
                if draft.exists():
                    raise
                raise StoreError(
                    f"the draft of the run {key} vanished from {draft.parent} before it was whole; nothing else may "
                    "remove files there while runs are being done"
                ) from error

    def read(self, key: str) -> StoredRun:
        """Read a run and verify its checksums; a damaged one is put aside and :class:`MissingRunError` raised."""
        if not self.has(key):
            raise MissingRunError(f"no run {key} in the store {self.path}")
        try:
            with store_errors(self.path, "read"):
                return rundir.read(self._directory(key), key)
        except DamagedError as error:
            sentence = f"the run {key} is damaged ({error})"
            if self.read_only:
                raise MissingRunError(f"{sentence}; run it again with a store that is not read-only") from error
            self._quarantine(key)
            if self.has(key):  # another process was faster and has stored it anew
                return self.read(key)
            raise MissingRunError(f"{sentence} and has been put aside in quarantine; run it again") from error

    def keys(self) -> list[str]:
        """The keys of all runs, sorted."""
        return [key for key, directory in self._directories() if (directory / rundir.DONE).is_file()]

    def listing(self) -> list[Entry]:
        """A line for each run, sorted by key."""
        with store_errors(self.path, "read"):
            return self._entries(must_save=False)

    def size(self) -> StoreSize:
        """How much there is."""
        rows = self.listing()
        statuses: dict[str, int] = {}
        for row in rows:
            statuses[row.status] = statuses.get(row.status, 0) + 1
        return StoreSize(
            runs=len(rows),
            bytes=sum(row.bytes for row in rows),
            seconds=sum(row.seconds or 0.0 for row in rows),
            statuses=statuses,
            requests=len(self.requests()),
            quarantined=sum(1 for _ in entries_of(self.path / "quarantine")),
            checkpoints=len(self.checkpoints.keys()),
            checkpoint_bytes=self.checkpoints.bytes(),
        )

    def rebuild(self) -> int:
        """Make the index anew from the directories; gives the number of runs."""
        self._require_writable()
        with store_errors(self.path, "write to"):
            (self.path / "index.sqlite").unlink(missing_ok=True)
            return len(self._entries(must_save=True))

    def verify(self) -> list[Finding]:
        """Read everything and say what is wrong, moving nothing."""
        findings = []
        with store_errors(self.path, "read"):
            for folder in entries_of(self.path / "runs"):
                for directory in entries_of(folder):
                    key = directory.name
                    if not is_key(key) or key[:2] != folder.name:
                        findings.append(Finding(f"{folder.name}/{key}", "is not where a run belongs"))
                        continue
                    try:
                        rundir.read(directory, key)
                    except DamagedError as error:
                        if directory.exists():  # else somebody put it aside while we looked
                            findings.append(Finding(key, str(error)))
            findings += [Finding(*damage) for damage in requests.damaged(self.path / "requests")]
            findings += [Finding(*damage) for damage in self.checkpoints.damaged()]
        return findings

    @property
    def checkpoints(self) -> Checkpoints:
        """The states of runs that are not over."""
        return Checkpoints(self.path / "checkpoints", self.drafts)

    @property
    def drafts(self) -> Drafts:
        """What is being written."""
        return Drafts(self.path / "tmp", self.owner)

    def prune(self, days: float = 30.0) -> int:
        """Remove checkpoints nobody will use: damaged ones, those of stored runs, and old ones; gives their number.

        Arguments:
            days: a checkpoint that was not written for so long counts as abandoned.
        """
        self._require_writable()
        require(days >= 0, f"days must not be negative, got {days}")
        with store_errors(self.path, "write to"):
            return self.checkpoints.prune(lambda key: is_key(key) and self.has(key), 86400.0 * days)

    def write_request(self, experiment_id: str, request: dict[str, Any]) -> None:
        """Keep what was asked of an experiment, in place of an earlier request at the same ``request["scale"]``."""
        self._require_writable()
        with store_errors(self.path, "write to"):
            requests.write(self.path / "requests", self.drafts.new(), experiment_id, request)

    def read_request(self, experiment_id: str, scale: str | None = None) -> dict[str, Any]:
        """The newest request of an experiment, at a scale or at any; :class:`MissingRequestError` if there is none."""
        with store_errors(self.path, "read"):
            return requests.read(self.path / "requests", experiment_id, scale)

    def requests(self) -> list[dict[str, Any]]:
        """The newest request of each experiment and scale, the newest last."""
        with store_errors(self.path, "read"):
            return requests.read_all(self.path / "requests")

    def sweep(self, owner: str) -> None:
        """Remove what a worker that has ended left half written."""
        self.drafts.sweep(owner)

    def _publish(self, draft: Path, key: str) -> None:
        target = self._directory(key)
        if not target.parent.exists():
            target.parent.mkdir(exist_ok=True)
            sync_directory(target.parent.parent)
        while True:
            try:
                draft.rename(target)
                break
            except OSError:
                if self.has(key):  # another process was first, and its run is as good
                    return
                if not target.exists():
                    raise
                self._quarantine(key)  # a directory without done.json is no run: out of the way
        sync_directory(target.parent)

    def _quarantine(self, key: str) -> None:
        """Put a damaged run aside, unless another process has stored it anew since it was found damaged."""
        source = self._directory(key)
        with store_errors(self.path, "put a damaged run aside in"):
            for number in itertools.count(1):
                target = self.path / "quarantine" / f"{key}-{number}"
                try:
                    if not target.exists():
                        source.rename(target)
                        with contextlib.suppress(DamagedError, OSError):
                            rundir.read(target, key)
                            target.rename(source)  # it is whole: back with it, unless there is one again
                        return
                except OSError:
                    if not source.exists():  # another process did it
                        return
                    if not target.exists():
                        raise

    def _entries(self, *, must_save: bool) -> list[Entry]:
        path = self.path / "index.sqlite"
        rows, changed = index.entries(path, {key: self._directory(key) for key in self.keys()})
        if self.read_only or not (changed or must_save):
            return rows
        with lock(self.path / "index.lock", wait=must_save) as held:
            try:
                if held:
                    index.save(path, self.drafts.new(), rows)
            except (OSError, index.sqlite3.Error) as error:
                if must_save:
                    raise StoreError(f"cannot write the index of the store {self.path}: {error}") from error
        return rows

    def _directories(self) -> Iterator[tuple[str, Path]]:
        with store_errors(self.path, "read"):
            for folder in entries_of(self.path / "runs"):
                for directory in entries_of(folder):
                    if is_key(directory.name) and directory.name[:2] == folder.name:
                        yield directory.name, directory

    def _directory(self, key: str) -> Path:
        return self.path / "runs" / key[:2] / key

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"the store {self.path} was opened for reading only")
