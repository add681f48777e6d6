"""The store: a directory of runs that survives crashes, full disks and other processes.

A store holds ``store.json`` (its format), ``runs/<two digits>/<key>/`` (the runs, which are the truth), ``requests/``
(what was asked of it), ``checkpoints/`` (states of runs that are not over), ``predictors/`` (what trained networks need
to predict), ``quarantine/`` (what was damaged) and ``tmp/`` (what is being written). It may come from somebody else:
whatever is in it, reading it runs no code, follows no link and ends with an answer.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import StoreError, require, shown
from beyondkernels.store import requests, run_directory as rundir
from beyondkernels.store.checkpoints import Checkpoints
from beyondkernels.store.directory import open_directory
from beyondkernels.store.drafts import Drafts
from beyondkernels.store.errors import DamagedError, MissingRunError
from beyondkernels.store.files import entries_of, is_directory, store_errors, sync_directory, unique_name
from beyondkernels.store.keys import WITNESS, is_key, key_of, require_key
from beyondkernels.store.quarantine import Quarantine
from beyondkernels.store.run_directory import StoredRun
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.witness import agrees


@dataclass(frozen=True)
class Finding:
    """Something wrong in a store: which run, request or checkpoint, what is wrong with it, and where it lies."""

    key: str
    what: str
    path: Path = field(default=Path(), compare=False, repr=False)


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
class ListedRun:
    """A run in a list of many.

    Arguments:
        key: its key.
        status: how it ended.
        seconds: what it took.
        bytes: the size of its files.
        written: when it was stored, in seconds since 1970.
        fields: the description of its problem, learner, seed and sizes.
    """

    key: str
    status: str
    seconds: float
    bytes: int
    written: float
    fields: Mapping[str, Any]


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
            # Here, because every process opens the store sooner or later and nobody has to remember it.
            store.drafts.sweep_old()
        return store

    def has(self, key: str) -> bool:
        """Whether a run is there and closed; its checksums are verified when it is read."""
        require_key(key)
        return _is_run(self._directory(key))

    def write(self, key: str, description: Mapping[str, Any], outcome: Outcome, provenance: Mapping[str, Any]) -> None:
        """Store a run; if it is there already, whoever wrote it, nothing happens.

        Arguments:
            key: the run's key.
            description: ``RunSpec.description``, which has that key.
            outcome: what the run left behind.
            provenance: plain data on when and with what it was made.
        """
        self._require_writable()
        require(key_of(description) == key, f"the description has the key {key_of(description)}, got {shown(key)}")
        # Before looking whether it is there: an outcome that cannot be stored is an error whoever was first.
        contents = rundir.encode(description, outcome, provenance)
        if self.has(key):
            return
        with store_errors(self.path, "write to"), self.drafts.directory() as draft:
            try:
                rundir.write(draft, key, contents)
                self._publish(draft, key)
            except FileNotFoundError as error:
                # A missing file elsewhere is another trouble, and has its own message.
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
            self._put_run_aside(key)
            if self.has(key):  # another process was faster and has stored it anew
                return self.read(key)
            raise MissingRunError(f"{sentence} and has been put aside in quarantine; run it again") from error

    def find(self, spec: RunSpec) -> StoredRun | None:
        """The run of a specification, if it is there and whole. Every look-up by what is asked for goes this way.

        A run of a user's own model counts only if the model does the same as the stored one: to the bit on the same
        kind of machine and version of torch, otherwise within ``witness.TOLERANCE`` of the numbers that are kept.

        Arguments:
            spec: the run.
        """
        with contextlib.suppress(MissingRunError):
            return self.read(spec.key)
        if spec.witness is None or "digest" not in spec.witness:
            return None
        for path in entries_of(self._directory(spec.key).parent):
            alike = path.name[:-WITNESS] == spec.key[:-WITNESS]
            if alike and is_key(path.name) and path.name != spec.key:
                with contextlib.suppress(MissingRunError):
                    run = self.read(path.name)
                    if agrees(spec.witness, run.description.get("witness")):
                        return run
        return None

    def keys(self) -> list[str]:
        """The keys of all runs, sorted."""
        with store_errors(self.path, "read"):
            runs = (run for folder in entries_of(self.path / "runs") for run in entries_of(folder))
            return [run.name for run in runs if is_key(run.name) and run == self._directory(run.name) and _is_run(run)]

    def size(self) -> StoreSize:
        """Bytes and counts, from the small files alone: no array is read, so ten thousand runs take seconds."""
        statuses: dict[str, int] = {}
        total, seconds = 0, 0.0
        for key in self.keys():
            try:
                with store_errors(self.path, "read"):
                    status, took, size = rundir.summary(self._directory(key), key)
            except DamagedError:
                # Counting moves nothing; a damaged run is put aside when somebody reads it.
                status, took, size = "damaged", 0.0, 0
            statuses[status] = statuses.get(status, 0) + 1
            total, seconds = total + size, seconds + took
        return StoreSize(
            runs=sum(statuses.values()),
            bytes=total,
            seconds=seconds,
            statuses=statuses,
            requests=len(self.requests()),
            quarantined=len(self.quarantine.entries()),
            checkpoints=len(self.checkpoints.keys()),
            checkpoint_bytes=self.checkpoints.bytes(),
        )

    def listed(self) -> list[ListedRun]:
        """Each run as its small files tell it, without checksums; a damaged one has the status ``damaged``."""
        found = []
        for key in self.keys():
            directory = self._directory(key)
            try:
                with store_errors(self.path, "read"):
                    status, seconds, size = rundir.summary(directory, key)
                    fields = rundir.described(directory)["fields"]
            except DamagedError:
                status, seconds, size, fields = "damaged", 0.0, 0, {}
            with contextlib.suppress(OSError):  # another process may have put it aside
                found.append(ListedRun(key, status, seconds, size, (directory / rundir.DONE).lstat().st_mtime, fields))
        return found

    def verify(self) -> list[Finding]:
        """Read everything and say what is wrong, moving nothing."""
        with store_errors(self.path, "read"):
            findings = [*self._damaged_runs()]
            findings += [Finding(*damage) for damage in requests.damaged(self.path / "requests")]
            findings += [Finding(*damage) for damage in self.checkpoints.damaged()]
            findings += [Finding(*damage) for damage in self.predictors.damaged()]
        return findings

    def put_aside(self, findings: Iterable[Finding]) -> int:
        """Move what :meth:`verify` found into the quarantine; gives how many things were moved."""
        self._require_writable()
        with store_errors(self.path, "put damage aside in"):
            names = [(finding.path, finding.key.replace("/", "__")) for finding in findings]
            return sum(self.quarantine.take(path, name) is not None for path, name in names)

    def _damaged_runs(self) -> Iterator[Finding]:
        for folder in entries_of(self.path / "runs"):
            if not is_directory(folder):
                yield Finding(f"runs/{folder.name}", "is a link or a file, not a folder of runs", folder)
            for directory in entries_of(folder):
                key = directory.name
                if not is_key(key) or key[:2] != folder.name:
                    yield Finding(f"{folder.name}/{key}", "is not where a run belongs", directory)
                    continue
                try:
                    rundir.read(directory, key)
                except DamagedError as error:
                    if os.path.lexists(directory):  # else somebody put it aside while we looked
                        yield Finding(key, str(error), directory)

    @property
    def quarantine(self) -> Quarantine:
        """What was damaged and has been put aside."""
        return Quarantine(self.path / "quarantine")

    @property
    def checkpoints(self) -> Checkpoints:
        """The states of runs that are not over."""
        return Checkpoints(self.path / "checkpoints", self.drafts)

    @property
    def predictors(self) -> Checkpoints:
        """The end states of trained networks, by the keys of their runs. A run is whole without one."""
        return Checkpoints(self.path / "predictors", self.drafts)

    @property
    def drafts(self) -> Drafts:
        """Names below ``tmp/`` for what is being written, with the lock that says its writer is alive."""
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
        """Keep what was asked of an experiment, in place of an earlier request with the same scale, settings and seeds.

        ``request["complete"]`` is false until the call has come to its end.
        """
        self._require_writable()
        with store_errors(self.path, "write to"):
            requests.write(self.path / "requests", self.drafts.new(), experiment_id, request)

    def requests(self) -> list[dict[str, Any]]:
        """The newest request of each experiment, scale, settings and seeds, the newest last.

        Each has its ``digest``, when it was ``written`` (nanoseconds), and whether it is ``complete``.
        """
        with store_errors(self.path, "read"):
            return requests.read_all(self.path / "requests")

    def sweep(self, owner: str) -> None:
        """Remove what a worker that has ended left half written."""
        self.drafts.sweep(owner)

    def _publish(self, draft: Path, key: str) -> None:
        target = self._directory(key)
        self._make_folder(target.parent)
        while True:
            try:
                # One atomic act: readers see no run or all of it. A directory that is not empty cannot be renamed over,
                # so of two writers one fails here.
                draft.rename(target)
                break
            except OSError:
                if self.has(key):  # another process was first, and its run is as good
                    return
                if not os.path.lexists(target):
                    raise
                self._put_run_aside(key)  # a directory without done.json is no run: out of the way
        # The files were synced before; now their place is.
        sync_directory(target.parent)

    def _make_folder(self, folder: Path) -> None:
        """Make a folder of runs, if no other process has made it; a link or a file in its place goes out of the way."""
        try:
            folder.mkdir()  # before any look at it: what another process makes meanwhile must not be taken for rubbish
        except FileExistsError:
            if is_directory(folder):
                return
            self.quarantine.take(folder, f"runs__{folder.name}")
            folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)

    def _put_run_aside(self, key: str) -> None:
        """Put a damaged run aside, unless another process has stored it anew since it was found damaged."""
        source = self._directory(key)
        with store_errors(self.path, "put a damaged run aside in"):
            # Taken first and judged again there: between finding the damage and moving it, another process may have put
            # a sound run in its place, and nobody can change what lies under a new name.
            target = self.quarantine.take(source, key)
            if target is not None:
                with contextlib.suppress(DamagedError, OSError):
                    rundir.read(target, key)
                    target.rename(source)  # it is whole: back with it, unless there is one again

    def _directory(self, key: str) -> Path:
        # In 256 folders: many tools and file systems are slow with folders of a hundred thousand entries.
        return self.path / "runs" / key[:2] / key

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"the store {self.path} was opened for reading only")


def _is_run(directory: Path) -> bool:
    """Whether a run is there and closed, and no link on the way leads out of the store."""
    try:
        closed = stat.S_ISREG((directory / rundir.DONE).lstat().st_mode)
    except OSError:
        return False
    # Each step of the way by itself, because a link at any of them would be followed silently.
    return closed and is_directory(directory) and is_directory(directory.parent)
