"""Processes that end at the wrong moment: the store stays whole, no worker stays behind, and the work is taken up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beyondkernels.core import load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.store import Store
from processes import children, is_running, results, wait_until

DRIVE = Path(__file__).with_name("drive.py")
SIZES = (8, 0.1, 300_000)  # runs, seconds for each, numbers for each: writing 2.4 MB takes a moment too


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the runs of drive.py leave when nothing goes wrong, by (key, file)."""
    toys = sys.modules.get("beyondkernels_user.toys") or load_file(DRIVE.with_name("toys.py"))
    store = Store.open(tmp_path_factory.mktemp("undisturbed") / "store")
    specs = load_file(DRIVE).specs(toys, *SIZES)
    assert all(event.status == "finished" for event in SerialExecutor().execute(specs, store) if event.kind == "run")
    return results(store)


def drive(store_path, sizes=SIZES, **options):
    command = [sys.executable, str(DRIVE), str(store_path), *map(str, sizes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_parent_killed_at_any_moment(tmp_path, undisturbed):
    path = tmp_path / "store"
    for delay in (0.0, 0.05, 0.1, 0.3, 0.45):  # from the moment its second worker exists, to the middle of the work
        with drive(path) as parent:
            wait_until(lambda parent=parent: len(children(parent.pid)) == 2 or parent.poll() is not None)
            time.sleep(delay)
            workers = children(parent.pid)
            parent.kill()
        assert workers
        wait_until(lambda workers=workers: not any(map(is_running, workers)), 10)
        store = Store.open(path)
        assert store.verify() == []
        assert results(store).items() <= undisturbed.items()
    with drive(path) as parent:
        out, err = parent.communicate(timeout=30)
    assert (out.splitlines()[-1], err) == ("complete", "")
    assert Store.open(path).verify() == []
    assert results(Store.open(path)) == undisturbed


def test_worker_killed_from_outside(tmp_path, undisturbed):
    path = tmp_path / "store"
    with drive(path) as parent:
        wait_until(lambda: len(children(parent.pid)) == 2)
        wait_until(lambda: path.exists() and any(path.glob("runs/*/*")))
        os.kill(children(parent.pid)[0], signal.SIGKILL)
        out, err = parent.communicate(timeout=30)
    assert (out.splitlines()[-1], err) == ("complete", "")
    assert "crashed" not in out
    assert results(Store.open(path)) == undisturbed
    assert list((path / "tmp").iterdir()) == []


def test_two_processes_on_one_store(tmp_path, undisturbed):
    path = tmp_path / "store"
    with drive(path) as one, drive(path) as two:
        for process in (one, two):
            out, err = process.communicate(timeout=30)
            assert (out.splitlines()[-1], err) == ("complete", "")
            assert "crashed" not in out
    store = Store.open(path)
    assert store.verify() == []
    assert results(store) == undisturbed
    assert list((path / "tmp").iterdir()) == list((path / "quarantine").iterdir()) == []
    assert store.size().runs == SIZES[0]
