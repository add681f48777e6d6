import dataclasses
import time
from pathlib import Path

import pytest

from beyondkernels.core import InputError, StoreError, UncacheableError, build
from beyondkernels.execution import LocalExecutor, SerialExecutor, executor, worker_process as pool
from beyondkernels.store import RunSpec, Store
from processes import is_running, results
from refusals import refused

TOYS = Path(__file__).parents[1] / "store" / "toys.py"


def seeds(problem, learner, count):
    return [RunSpec(problem, learner, 20, 10, seed) for seed in range(count)]


def ends(events):
    return {event.key: event.status for event in events if event.kind == "run"}


def local(workers=2):
    return LocalExecutor(workers, [TOYS], command="/usr/bin/bk run toy")


@pytest.fixture
def started(monkeypatch):
    """The process numbers of all workers, in the order they were started."""
    pids = []

    class Noted(pool.WorkerProcess):
        def __init__(self, start):
            super().__init__(start)
            pids.append(self.pid)

    monkeypatch.setattr(executor, "WorkerProcess", Noted)
    return pids


def test_workers_and_this_process_give_the_same_bytes(toys, tmp_path, started):
    specs = [
        *seeds(toys.Line(), toys.Mean(seconds=0.01), 6),
        *seeds(toys.Line(dim=2), toys.Diverging(), 2),
        RunSpec(toys.Line(), toys.Mean(), 20, 10, 0, (toys.Doubled(),)),
    ]
    here, there = Store.open(tmp_path / "here"), Store.open(tmp_path / "there")
    alone = list(SerialExecutor().execute([*specs, specs[0]], here))
    events = list(local().execute([*specs, specs[0]], there))
    for run_events in (alone, events):
        assert len([event for event in run_events if event.kind == "run"]) == len(specs)  # the double is done once
        expected = {spec.key: "diverged" if isinstance(spec.learner, toys.Diverging) else "finished" for spec in specs}
        assert ends(run_events) == expected
    assert results(here) == results(there)
    assert here.verify() == there.verify() == []
    assert len(started) == 2
    assert not any(map(is_running, started))
    run = there.read(specs[0].key)
    assert build(run.description) == specs[0]
    assert run.provenance["command"] == "bk run toy"
    assert 0.01 <= run.provenance["seconds"] < 5

    assert list(local().execute([], there)) == []
    again = [event for event in local(1).execute(specs[:2], there) if event.kind == "run"]
    assert [(event.status, event.message) for event in again] == [("finished", "stored already")] * 2


def test_progress_is_told_but_not_too_often(toys, store):
    specs = seeds(toys.Line(), toys.Mean(seconds=0.4), 2)
    start = time.monotonic()
    told = [event for event in local(1).execute(specs, store) if event.kind == "progress"]
    assert 2 <= len(told) <= 1 + (time.monotonic() - start) / 0.2  # the learners report every 0.02 s
    fractions = [event.fraction for event in told]
    assert fractions == sorted(fractions)
    assert all(0 <= fraction <= 1 for fraction in fractions)
    assert {event.chunk for event in told} == {tuple(spec.key for spec in specs)}


@pytest.mark.parametrize("where", ["here", "there"])
def test_exception_costs_one_run_and_says_why(toys, store, where):
    labels = ["", "nothing", "", "exit"]
    specs = [RunSpec(toys.Line(), toys.Raising(label=label), 20, 10, seed) for seed, label in enumerate(labels)]
    specs += [RunSpec(toys.Line(), toys.Allocating(), 20, 10, 0), RunSpec(toys.Line(), toys.Strange(), 20, 10, 0)]
    used = SerialExecutor() if where == "here" else local(1)
    events = {event.key: event for event in used.execute(specs, store) if event.kind == "run"}
    assert [events[spec.key].status for spec in specs] == ["finished", "crashed"] * 2 + ["crashed"] * 2
    messages = [events[spec.key].message for spec in specs]
    assert messages[1] == "ValueError: nothing is wrong in place.txt"
    assert messages[3] == "SystemExit: 7"
    assert "MemoryError: Unable to allocate" in messages[4]
    assert messages[5] == "InputError: arrays/objects holds Python objects, only arrays of numbers can be stored"
    assert store.keys() == sorted(spec.key for spec in (specs[0], specs[2]))


def test_killed_worker_loses_only_its_own_chunk(toys, store, tmp_path, started):
    marker = str(tmp_path / "marker")
    killer = toys.Killing(marker=marker, at_once=3)
    calm = dataclasses.replace(killer, label="calm")
    specs = [RunSpec(toys.Line(), learner, 20, 10, seed) for seed, learner in enumerate([calm, killer, calm])]
    others = seeds(toys.Line(), toys.Mean(), 2)
    events = list(local(1).execute([*specs, *others], store))
    assert ends(events) == {spec.key: "finished" for spec in [*specs, *others]}
    assert len(list(tmp_path.glob("marker-*"))) == 1
    assert len(started) == 5  # one died, one went on with the others, and each of the three runs had a fresh one
    logs = [event.message for event in events if event.kind == "log"]
    assert logs == ["a worker was ended by SIGKILL (often a lack of memory); its 3 runs are tried again, one at a time"]
    assert store.verify() == []


def test_run_that_kills_twice_has_crashed(toys, store, tmp_path):
    killer = toys.Killing(marker=str(tmp_path / "marker"), deaths=99)
    specs = [RunSpec(toys.Line(), killer, 20, 10, 0), RunSpec(toys.Line(), toys.Mean(), 20, 10, 0)]
    events = {event.key: event for event in local(2).execute(specs, store) if event.kind == "run"}
    assert ends(events.values()) == {specs[0].key: "crashed", specs[1].key: "finished"}
    assert events[specs[0].key].message == "its worker was ended by SIGKILL (often a lack of memory), twice"
    assert len(list(tmp_path.glob("marker-*"))) == 2
    assert store.keys() == [specs[1].key]


def test_what_a_learner_prints_becomes_log(toys, store):
    specs = seeds(toys.Line(), toys.Printing(), 1)
    events = list(local(1).execute(specs, store))
    assert ends(events) == {specs[0].key: "finished"}
    logs = [event.message for event in events if event.kind == "log"]
    assert {'{"kind": "done"}', "raw to one", "to the error stream"} <= set(logs)
    assert sum(map(len, logs)) > 5000


def test_workers_use_one_thread_of_torch(toys, store, monkeypatch):
    monkeypatch.setenv("TOYS_WITH_TORCH", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    specs = seeds(toys.Line(), toys.Threads(), 1)
    assert ends(local(1).execute(specs, store)) == {specs[0].key: "finished"}
    assert store.read(specs[0].key).outcome.scalars == {"total": 1000, "threads": 1, "variables": 1}


@pytest.mark.parametrize("how", ["close", "interrupt"])
def test_stopping_ends_all_workers_and_keeps_what_is_finished(toys, store, started, how):
    quick = seeds(toys.Line(), toys.Mean(at_once=1), 1)
    slow = seeds(toys.Line(), toys.Mean(seconds=30), 3)
    events = local(2).execute([*slow, *quick], store) if how == "close" else local(2).execute([*quick, *slow], store)
    if how == "close":
        for event in events:
            if event.kind == "progress":
                break
        events.close()
    else:
        for event in events:
            if event.kind == "run":
                break
        with pytest.raises(KeyboardInterrupt):
            events.throw(KeyboardInterrupt)
        assert store.keys() == [quick[0].key]
    assert len(started) == 2
    assert not any(map(is_running, started))
    assert list((store.path / "tmp").iterdir()) == []
    assert list(events) == []


def test_bad_specifications_are_refused_at_once(toys, store):
    @dataclasses.dataclass(frozen=True)
    class Local(toys.Mean):
        pass

    unnamed = RunSpec(toys.Line(), toys.Mean(label=lambda: 0), 20, 10, 0)
    for used in (local(), SerialExecutor()):
        with pytest.raises(UncacheableError, match=r"Mean\.label holds an unnamed function"):
            used.execute([unnamed], store)
    refused("defined in the main script or inside", local().execute, [RunSpec(toys.Line(), Local(), 20, 10, 0)], store)
    for workers in (0, -1, 1.5):
        refused("workers must be a positive whole number, got", LocalExecutor, workers)


def test_component_that_workers_do_not_find(toys, store):
    specs = seeds(toys.Line(), toys.Mean(), 2)
    events = [event for event in LocalExecutor(1).execute(specs, store) if event.kind == "run"]
    assert [event.status for event in events] == ["crashed"] * 2
    assert "a worker cannot build it: InputError: no component" in events[0].message


def test_file_that_cannot_be_loaded(toys, store, tmp_path, started):
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found")
    with pytest.raises(InputError, match=r"broken\.py cannot be imported: ModuleNotFoundError"):
        list(LocalExecutor(1, [tmp_path / "broken.py"]).execute(seeds(toys.Line(), toys.Mean(), 1), store))
    assert not any(map(is_running, started))


def test_store_that_vanishes_is_a_store_error(toys, store, started):
    (store.path / "store.json").unlink()
    with pytest.raises(StoreError, match="is not a store"):
        list(local(2).execute(seeds(toys.Line(), toys.Mean(), 4), store))
    assert not any(map(is_running, started))


def test_workers_that_do_not_start_are_an_error(toys, store, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no interpreter here >&2\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(pool.sys, "executable", str(python))
    with pytest.raises(RuntimeError, match="ended by itself with exit code 3: no interpreter here"):
        list(local(2).execute(seeds(toys.Line(), toys.Mean(), 4), store))
