"""Disks that fill up, and processes that die in the middle of a write."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import InputError, StoreError, load_file
from beyondkernels.store import RunSpec, Store

HERE = Path(__file__).parent


def test_death_at_every_step_of_a_write_leaves_the_store_whole(tmp_path):
    command = [sys.executable, HERE / "write_and_die.py", tmp_path / "store"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    steps, leftovers = map(int, answer.stdout.split())
    assert steps >= 15  # five files opened, written and synced at the least
    assert leftovers > 5
    for path in (tmp_path / "store" / "tmp").rglob("*"):
        os.utime(path, (0, 0))
    store = Store.open(tmp_path / "store")
    assert list((store.path / "tmp").iterdir()) == []  # old, and of nobody who lives


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_full_disk_at_every_step_of_a_write_loses_nothing(tmp_path, number):
    script = load_file(HERE / "write_and_die.py")
    store = Store.open(tmp_path / "store")
    sentence = {
        errno.ENOSPC: "the disk is full; free some space and start again, nothing that was stored is lost",
        errno.EROFS: "it is read-only or not yours; choose another place with --store",
        errno.EIO: "input/output error",
    }[number]

    def fail():
        raise OSError(number, errno.errorcode[number] if number != errno.EIO else "Input/output error")

    count = 0
    while not store.has(script.key_of(script.DESCRIPTION)):
        with pytest.MonkeyPatch.context() as patch:
            calls = script.fail_at(count, fail, patch.setattr)
            try:
                script.write(store)
            except StoreError as error:
                assert str(error) == f"cannot write to the store {store.path}: {sentence}"
            else:
                assert calls == [count]
        assert list((store.path / "tmp").iterdir()) == []
        assert store.verify() == []
        count += 1
    assert count >= 15
    empty: dict[str, Any] = {"seeds": [0], "settings": {}, "runs": [], "claims": [], "complete": True, "provenance": {}}
    request = {"name": "a/b", "scale": "smoke", "n": 1, **empty}
    store.write_request("a/b", request)
    for count in range(3):
        with pytest.MonkeyPatch.context() as patch:
            script.fail_at(count, fail, patch.setattr)
            with pytest.raises(StoreError, match=sentence.split(";")[0]):
                store.write_request("a/b", {**request, "n": 2})
        assert [kept["n"] for kept in store.requests()] == [1]
        assert list((store.path / "tmp").iterdir()) == []


FULL = """
import resource, sys
from beyondkernels.core import StoreError, build, load_file
from beyondkernels.execution import LocalExecutor
from beyondkernels.store import RunSpec, Store
toys = load_file(sys.argv[1])
store = Store.open(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
specs = [RunSpec(toys.Line(), toys.Mean(numbers=n, at_once=1), 20 - n // 20_000, 5, 0) for n in (10, 20_000)]
try:
    for event in LocalExecutor(1, [sys.argv[1]]).execute(specs, store):
        print(event.kind, event.status)
except StoreError as error:
    print(error)
"""


def test_disk_that_is_full_for_a_worker_stops_the_work(toys, tmp_path):
    command = [sys.executable, "-c", FULL, HERE / "toys.py", tmp_path / "store"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in answer.stdout.splitlines() if not line.startswith("progress")]
    path = (tmp_path / "store").resolve()
    full = f"cannot write to the store {path}: the disk is full; free some space and start again"
    assert lines == ["run finished", f"{full}, nothing that was stored is lost"]
    store = Store.open(tmp_path / "store")
    assert store.verify() == []
    assert len(store.keys()) == 1
    assert list((store.path / "tmp").iterdir()) == []


def test_unreadable_run_is_not_called_damaged(store, spec: RunSpec, stored, monkeypatch):
    def refuse(*_: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(StoreError, match="cannot read the store"):
            store.read(spec.key)
    assert store.read(spec.key).description == spec.description
    assert issubclass(StoreError, InputError)


def test_everything_is_synced_before_the_run_appears_and_its_folder_after(store, spec: RunSpec, outcome, monkeypatch):
    happened = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(descriptor):
        happened.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        return fsync(descriptor)

    def noted_rename(source, target):
        happened.append("appears")
        return rename(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    store.write(spec.key, spec.description, outcome, {})
    appears = happened.index("appears")
    assert set(happened[: appears - 3]) == {"spec.json", "result.json", "arrays.npz", "provenance.json"}
    assert happened[appears - 3] == "done.json"
    assert happened[appears - 2].startswith(f"{store.owner}-")  # the names in the draft
    assert happened[appears - 1 :] == ["runs", "appears", spec.key[:2]]
