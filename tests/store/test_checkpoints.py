"""States of runs that are not over: kept, found again, and left alone where they are wrong."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Saved, StoreError, load_file
from beyondkernels.core.components import USER_MODULES
from beyondkernels.execution import Event, LocalExecutor, SerialExecutor
from beyondkernels.execution.checkpoint_schedule import Saving
from beyondkernels.execution.chunk_worker import work
from beyondkernels.store import RunSpec, Store, checkpoints, provenance
from refusals import refused

HERE = Path(__file__).parent
KEY, OTHER = "0" * 32, "1" * 32
STATE = Saved({"step": 3, "names": ["b", "a"]}, {"params/w": np.arange(6.0).reshape(2, 3), "empty": np.empty((0, 2))})
MADE = {"version": "1", "commit": "abc", "dirty": False, "libraries": {"torch": "2"}, "cpu": "x", "python": "3"}


def state_file(store: Store, key: str = KEY) -> Path:
    return store.path / "checkpoints" / f"{key}.state"


def test_what_is_saved_is_found_again(store):
    assert store.checkpoints.read(KEY, MADE) is None
    for seconds in (1.5, 2.5):
        store.checkpoints.write(KEY, STATE, MADE | {"command": "bk run", "seconds": None}, seconds)
    found: Any = store.checkpoints.read(KEY, MADE | {"command": "another", "seconds": 3.0})
    state, seconds = found
    assert seconds == 2.5
    assert state.facts == STATE.facts
    assert state.arrays.keys() == STATE.arrays.keys()
    for name, array in STATE.arrays.items():
        np.testing.assert_array_equal(state.arrays[name], array)
        assert state.arrays[name].dtype == array.dtype
    assert list((store.path / "tmp").iterdir()) == []
    assert store.checkpoints.keys() == [KEY]
    assert store.size().checkpoints == 1
    assert store.size().checkpoint_bytes == state_file(store).stat().st_size
    store.checkpoints.drop(KEY)
    store.checkpoints.drop(KEY)
    assert store.checkpoints.read(KEY, MADE) is None
    assert store.size().checkpoints == store.size().checkpoint_bytes == 0


def test_every_flipped_byte_is_found_and_the_state_removed(store):
    store.checkpoints.write(KEY, STATE, MADE, 1.0)
    content = state_file(store).read_bytes()
    for position in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[position] ^= 1
        state_file(store).write_bytes(flipped)
        (finding,) = store.verify()
        assert finding.key == f"checkpoints/{KEY}"
        assert "does not have its checksum" in finding.what
        assert store.checkpoints.read(KEY, MADE) is None
        assert not state_file(store).exists()
    for half in (content[:-1], content + b"x", content[:50], b""):
        state_file(store).write_bytes(half)
        assert store.checkpoints.read(KEY, MADE) is None
        assert not state_file(store).exists()


@pytest.mark.parametrize(
    "made", [MADE | {"version": "2"}, MADE | {"dirty": True}, MADE | {"libraries": {"torch": "3"}}, {}]
)
def test_what_something_else_began_is_left_to_it(store, made):
    store.checkpoints.write(KEY, STATE, MADE, 1.0)
    assert store.checkpoints.read(KEY, made) is None
    assert store.checkpoints.read(KEY, MADE) is not None  # whoever began it may still be at work
    store.checkpoints.write(KEY, STATE, made, 2.0)
    assert store.checkpoints.read(KEY, MADE) is None


def test_other_code_of_the_same_commit_does_not_go_on(store, monkeypatch):
    store.checkpoints.write(KEY, STATE, MADE | {"dirty": True}, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "code_checksum", lambda: "edited")
        assert store.checkpoints.read(KEY, MADE | {"dirty": True}) is None
    assert store.checkpoints.read(KEY, MADE | {"dirty": True}) is not None


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), OSError(errno.EIO, "I/O"), MemoryError()]
)
def test_a_state_that_cannot_be_read_at_the_moment_stays(store, monkeypatch, error):
    store.checkpoints.write(KEY, STATE, MADE, 1.0)

    def fail(*_: object) -> int:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        assert store.checkpoints.read(KEY, MADE) is None
    assert store.checkpoints.read(KEY, MADE) is not None


def test_a_state_of_another_run_is_removed_and_one_of_another_format_not_used(store, monkeypatch):
    store.checkpoints.write(OTHER, STATE, MADE, 1.0)
    state_file(store, OTHER).rename(state_file(store))
    assert [finding.what for finding in store.verify()] == ["is not where a checkpoint belongs"]
    assert store.checkpoints.read(KEY, MADE) is None
    assert not state_file(store).exists()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "FORMAT", 2)
        store.checkpoints.write(KEY, STATE, MADE, 1.0)
    assert [finding.what for finding in store.verify()] == [f"{KEY}.state has format 2, this version writes 1"]
    assert store.checkpoints.read(KEY, MADE) is None
    assert state_file(store).exists()


def test_no_pickle_is_opened(store):
    store.checkpoints.write(KEY, STATE, MADE, 1.0)
    evil = Saved({}, {"objects": np.array([None])})
    refused("only arrays of numbers can be stored", store.checkpoints.write, KEY, evil, MADE, 1.0)
    header, _, _ = state_file(store).read_bytes().partition(b"\n")
    data = json.loads(header)
    import io

    buffer = io.BytesIO()
    np.savez(buffer, **{"arrays/objects": np.array([print], dtype=object)})  # pyright: ignore[reportArgumentType]
    data.pop("checksum")
    data |= {"bytes": len(buffer.getvalue()), "sha256": checkpoints.checksum(buffer.getvalue())}
    state_file(store).write_bytes(checkpoints.sealed(data) + b"\n" + buffer.getvalue())
    assert "cannot be read: ValueError: Object arrays cannot be loaded" in store.verify()[0].what
    assert store.checkpoints.read(KEY, MADE) is None


def test_prune(store, spec, stored):
    keys = [KEY, OTHER, "2" * 32, spec.key]
    for key in keys:
        store.checkpoints.write(key, STATE, MADE, 1.0)
    os.utime(state_file(store, OTHER), (0, 0))
    state_file(store, "2" * 32).write_bytes(b"damaged")
    assert len(store.verify()) == 1
    with pytest.raises(StoreError, match="opened for reading only"):
        Store.open(store.path, read_only=True).prune()
    refused("days must not be negative, got -1", store.prune, -1)
    assert store.prune() == 3
    assert store.checkpoints.keys() == [KEY]
    assert store.verify() == []
    assert store.prune(0) == 1
    assert store.prune(0) == 0


def test_saving_takes_a_fiftieth_of_the_time_at_most(store, monkeypatch):
    clock, cost = [0.0], [0.0]
    monkeypatch.setattr("beyondkernels.execution.checkpoint_schedule.time.monotonic", lambda: clock[0])
    write = type(store.checkpoints).write

    def slow(*arguments):
        clock[0] += cost[0]
        write(*arguments)

    monkeypatch.setattr(type(store.checkpoints), "write", slow)
    one, two = Saving(store.checkpoints, [KEY, OTHER], MADE, 10.0, print).members
    assert not one.due()
    clock[0] = 9.9
    assert not one.due()
    clock[0] = 10.0
    assert one.due()
    assert two.due()
    one.save(STATE)
    assert not one.due()
    assert two.due()
    cost[0] = 0.5
    two.save(STATE)  # two members of half a second: fifty seconds until the next round
    clock[0] = 59.9
    assert not one.due()
    clock[0] = 60.1
    assert one.due()
    assert not two.due()
    assert two.seconds == pytest.approx(30.05)
    found: Any = store.checkpoints.read(OTHER, MADE)
    assert found[1] == pytest.approx(5.0)
    (always,) = Saving(store.checkpoints, [KEY], MADE, 0.0, print).members
    always.save(STATE)
    assert always.due()


def steps(toys: Any, **fields: Any) -> RunSpec:
    return RunSpec(toys.Line(), toys.Saving(**fields), 20, 10, 0)


def perform(spec: RunSpec, store: Store, **words: Any) -> list[Event]:
    events: list[Event] = []
    work([spec], store, provenance(), events.append, **{"save_every": 0.0, **words})
    return [event for event in events if event.kind != "progress"]


def test_a_run_goes_on_and_its_state_is_removed_at_its_end(toys, store, tmp_path):
    wanted = steps(toys, label="stumbles", count=10, marker=str(tmp_path / "fell"))
    (event,) = perform(wanted, store)
    assert (event.status, event.message) == ("crashed", "RuntimeError: at 5")
    assert store.checkpoints.keys() == [wanted.key]
    (event,) = perform(wanted, store)
    assert event.status == "finished"
    assert store.read(wanted.key).outcome.scalars == {"began": 5.0, "steps": 10.0}
    assert event.seconds == store.read(wanted.key).provenance["seconds"] > 0.1  # what was done before counts
    assert store.checkpoints.keys() == []
    store.checkpoints.write(wanted.key, STATE, MADE, 1.0)  # by a process that was slower
    (event,) = perform(wanted, store)
    assert event.message == "stored already"
    assert store.checkpoints.keys() == []


def test_a_state_that_makes_a_run_crash_is_used_once(toys, store):
    wanted = steps(toys, label="hates 3", count=5)
    store.checkpoints.write(wanted.key, Saved({"step": 3}, {}), provenance(), 1.0)
    log, end = perform(wanted, store)
    assert (log.kind, log.message) == (
        "log",
        "a run failed after it went on from a saved state (ValueError: three); it begins anew",
    )
    assert end.status == "finished"
    assert store.read(wanted.key).outcome.scalars["began"] == 0
    assert store.checkpoints.keys() == []


def test_a_run_that_fails_after_newer_states_does_not_begin_anew(toys, store, tmp_path):
    wanted = steps(toys, label="stumbles", count=10, marker=str(tmp_path / "fell"))
    store.checkpoints.write(wanted.key, Saved({"step": 3}, {}), provenance(), 1.0)
    (event,) = perform(wanted, store)
    assert (event.status, event.message) == ("crashed", "RuntimeError: at 5")
    assert [event.status for event in perform(wanted, store)] == ["finished"]
    assert store.read(wanted.key).outcome.scalars["began"] == 5


def test_a_state_that_kills_its_worker_twice_is_removed(toys, store, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(f"{USER_MODULES}.") and name != toys.__name__]:
        monkeypatch.delitem(sys.modules, name)  # a worker has not loaded what other tests did
    wanted = steps(toys, label="dies of 3", count=5)
    store.checkpoints.write(wanted.key, Saved({"step": 3}, {}), provenance(), 1.0)
    executor = LocalExecutor(1, [HERE / "toys.py"], save_every=3600.0)
    for status, left in (("crashed", 0), ("finished", 0)):
        (event,) = [event for event in executor.execute([wanted], store) if event.kind == "run"]
        assert (event.status, len(store.checkpoints.keys())) == (status, left)
    assert store.read(wanted.key).outcome.scalars["began"] == 0


def test_a_state_newer_than_the_last_start_stays_when_a_worker_dies_twice(toys, store):
    wanted = steps(toys, label="dies later", count=8)
    executor = LocalExecutor(1, [HERE / "toys.py"], save_every=0.0)
    for status, left in (("crashed", 1), ("finished", 0)):
        (event,) = [event for event in executor.execute([wanted], store) if event.kind == "run"]
        assert (event.status, len(store.checkpoints.keys())) == (status, left)
    assert store.read(wanted.key).outcome.scalars["began"] == 6


def test_nothing_is_saved_where_nobody_wants_it(toys, store, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(type(store.checkpoints), "write", refuse)
    for every, count in ((None, 4), (3600.0, 5)):
        assert [e.status for e in perform(steps(toys, count=count), store, save_every=every)] == ["finished"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_does_not_end_a_run_that_saves_its_state(toys, store, number):
    script = load_file(HERE / "write_and_die.py")
    for count in range(8):  # at every system call of a save, and of the one after
        wanted = RunSpec(toys.Line(), toys.Saving(count=3), 20, 10, count)
        told: list[Event] = []

        def fail():
            raise OSError(number, os.strerror(number))

        with pytest.MonkeyPatch.context() as patch:
            perform_here = type(store).write

            def healed(*arguments, patch=patch, perform_here=perform_here):
                patch.undo()  # for the run itself there is room
                perform_here(*arguments)

            patch.setattr(type(store), "write", healed)
            script.fail_at(count, fail, patch.setattr)
            work([wanted], store, {}, told.append, 0.0)
        ends = [event for event in told if event.kind == "run"]
        assert [event.status for event in ends] == ["finished"]
        logs = [event.message for event in told if event.kind == "log"]
        assert logs == [f"states of runs cannot be saved, the runs go on without: {os.strerror(number).lower()}"]
        assert list((store.path / "tmp").iterdir()) == []
        assert store.verify() == []


def test_a_store_that_refuses_the_run_itself_still_says_so(toys, store, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("beyondkernels.store.run_directory.write_file", full)
    with pytest.raises(StoreError, match="the disk is full; free some space and start again"):
        perform(steps(toys, count=3), store)
    assert len(store.checkpoints.keys()) == 1  # so that the next time is short


def test_workers_save_too(toys, store, tmp_path):
    wanted = steps(toys, label="dies", count=10, marker=str(tmp_path / "died"))
    executor = LocalExecutor(1, [HERE / "toys.py"], save_every=0.0)
    (event,) = [event for event in executor.execute([wanted], store) if event.kind == "run"]
    assert event.status == "finished"
    assert store.read(wanted.key).outcome.scalars == {"began": 5.0, "steps": 10.0}
    assert store.checkpoints.keys() == []


def test_a_training_killed_again_and_again_gives_the_same_bytes(tmp_path):
    script, backends = load_file(HERE / "train_and_die.py"), ("compiled", "growing")
    command = [sys.executable, HERE / "train_and_die.py", tmp_path / "killed", ",".join(backends), "1", "4", "9", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr
    whole, killed = Store.open(tmp_path / "whole"), Store.open(tmp_path / "killed")
    for backend, line in zip(backends, answer.stdout.splitlines(), strict=True):
        died_at = [int(step) for step in line.split()]
        assert died_at == sorted(set(died_at))
        assert len(died_at) == 4
        assert died_at[0] > 0
        assert died_at[-1] < 400
        script.train(whole, backend)
        key = script.spec(backend).key
        for name in ("spec.json", "result.json", "arrays.npz"):
            one, other = (store.path / "runs" / key[:2] / key / name for store in (whole, killed))
            assert one.read_bytes() == other.read_bytes()
    assert killed.checkpoints.keys() == whole.checkpoints.keys() == []
    assert killed.verify() == []


def test_a_store_made_before_there_were_checkpoints(store):
    (store.path / "checkpoints").rmdir()
    again = Store.open(store.path, read_only=True)
    assert again.size().checkpoints == 0
    assert again.verify() == []
    assert again.checkpoints.read(KEY, MADE) is None


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "60", True])
def test_save_every_is_seconds(value):
    for executor in (SerialExecutor, LocalExecutor):
        refused("save_every must be seconds, at least 0, or None to save nothing, got", executor, save_every=value)
