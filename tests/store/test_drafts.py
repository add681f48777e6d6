"""Drafts of several processes, some of them in containers where process numbers say nothing."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beyondkernels.core import Saved, StoreError
from beyondkernels.execution import LocalExecutor, executor, worker_process as pool
from beyondkernels.store import RunSpec, Store, run_directory as rundir

HERE = Path(__file__).parent
LONG_AGO = time.time() - 7200


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make(folder, name, when):
    (folder / name).mkdir()
    (folder / name / "arrays.npz").touch()
    for path in (folder / name / "arrays.npz", folder / name):
        os.utime(path, (when, when))


def test_only_old_drafts_that_nobody_holds_are_swept(store):
    folder = store.path / "tmp"
    dead = 2**22 + 1  # above the largest process number there can be; an earlier version began names with it
    for name, when in (("a-old", LONG_AGO), (f"{dead}-old", LONG_AGO), (f"{dead}-young", time.time())):
        make(folder, name, when)
    make(folder, "b-being-written", LONG_AGO)
    os.utime(folder / "b-being-written" / "arrays.npz")
    (folder / "c-link").symlink_to(folder / f"{dead}-young")
    os.utime(folder / "c-link", (LONG_AGO, LONG_AGO), follow_symlinks=False)
    with store.drafts.directory() as held:
        os.utime(held, (LONG_AGO, LONG_AGO))
        Store.open(store.path, read_only=True)
        assert len(names(folder)) == 6
        Store.open(store.path)
        assert names(folder) == sorted([f"{dead}-young", "b-being-written", held.name])
    assert names(folder) == [f"{dead}-young", "b-being-written"]
    store.sweep("b")
    assert names(folder) == [f"{dead}-young"]


def test_every_opening_has_a_name_of_its_own(store):
    other = Store.open(store.path)
    assert store.owner != other.owner
    assert store == other
    drafts = [opened.drafts.new().name for opened in (store, store, other)]
    assert len(set(drafts)) == 3
    assert not any(name.startswith(str(os.getpid())) for name in drafts)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_draft_that_vanished_is_an_error(store, spec, outcome, monkeypatch, when):
    real = rundir.write

    def write(draft, key, contents):
        if when == "after":
            real(draft, key, contents)
        shutil.rmtree(draft)
        if when == "before":
            real(draft, key, contents)

    monkeypatch.setattr(rundir, "write", write)
    with pytest.raises(StoreError, match=f"the draft of the run {spec.key} vanished from .*tmp before it was whole"):
        store.write(spec.key, spec.description, outcome, {})
    assert not store.has(spec.key)
    (store.path / "runs" / spec.key[:2] / spec.key).mkdir(
        parents=True
    )  # nor does an empty directory in the way hide it
    with pytest.raises(StoreError, match="vanished"):
        store.write(spec.key, spec.description, outcome, {})
    assert not store.has(spec.key)


def test_the_end_of_a_worker_costs_no_other_container_its_draft(toys, store, spec, outcome, monkeypatch):
    """In the middle of our write, a worker that has our process number ends in another container."""

    class SameNumber(pool.WorkerProcess):
        def __init__(self, start):
            super().__init__(start)
            self.pid = os.getpid()

    monkeypatch.setattr(executor, "WorkerProcess", SameNumber)
    real = rundir.write

    def write(draft, key, contents):
        real(draft, key, contents)
        other = RunSpec(toys.Line(), toys.Mean(), 20, 10, 7)
        events = list(LocalExecutor(1, [HERE / "toys.py"]).execute([other], Store.open(store.path)))
        assert [event.status for event in events if event.kind == "run"] == ["finished"]

    monkeypatch.setattr(rundir, "write", write)
    store.write(spec.key, spec.description, outcome, {})
    assert store.read(spec.key).outcome.status == "finished"
    assert len(store.keys()) == 2
    assert names(store.path / "tmp") == []


def test_a_killed_workers_draft_is_swept_by_its_parent(store, monkeypatch):
    owner = store.drafts.owner
    monkeypatch.setattr(os, "replace", lambda *_: None)
    monkeypatch.setattr(Path, "replace", lambda *_: None)  # killed before the name is changed
    store.checkpoints.write("0" * 32, Saved({}, {}), {}, 1.0)
    assert len(names(store.path / "tmp")) == 1
    store.sweep("another")
    assert len(names(store.path / "tmp")) == 1
    store.sweep(owner)
    assert names(store.path / "tmp") == []


def in_a_namespace(*command):
    return ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", *map(str, command)]


def namespaces_are_allowed():
    try:
        return subprocess.run(in_a_namespace("true"), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not namespaces_are_allowed(), reason="process-id namespaces are not allowed here")
def test_two_process_id_namespaces_on_one_store(tmp_path):
    path, runs = tmp_path / "store", 12
    command = in_a_namespace(sys.executable, HERE / "drive.py", path, runs, 0.03, 300_000)
    processes = [
        subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for first in (0, 100)
    ]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert (out.splitlines()[-1], err) == ("complete", "")
        assert "crashed" not in out
    store = Store.open(path)
    assert store.verify() == []
    assert len(store.keys()) == 2 * runs
    assert names(path / "tmp") == names(path / "quarantine") == []
