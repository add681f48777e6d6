from __future__ import annotations

import fcntl
import shutil
import sqlite3

import pytest

from beyondkernels.core import StoreError, describe
from beyondkernels.runs import Entry, RunSpec, Store, index


@pytest.fixture
def filled(toys, store, outcome):
    learners = [toys.Mean(), toys.Diverging()]
    for seed in range(3):
        outcome.status = "diverged" if seed == 2 else "finished"
        spec = RunSpec(toys.Line(), learners[seed == 2], 5, 5, seed or 2**70)
        store.write(spec.key, describe(spec), outcome, {"seconds": 0.5})
    return store


def by_hand(store):
    """The listing, read from the directories the slow way."""
    found = {}
    for key in list(store.keys()):
        run = store.read(key)
        fields = run.description["fields"]
        directory = store.path / "runs" / key[:2] / key
        size = sum(path.stat().st_size for path in directory.iterdir() if path.name != "done.json")
        names = (fields["problem"]["class"], fields["learner"]["class"])
        found[key] = (*names, fields["seed"], run.outcome.status, run.provenance["seconds"], size)
    return found


def listed(store):
    return {e.key: (e.problem, e.learner, e.seed, e.status, e.seconds, e.bytes) for e in store.listing()}


def test_listing_says_what_the_directories_say(filled):
    assert not (filled.path / "index.sqlite").exists()
    assert listed(filled) == by_hand(filled)
    assert (filled.path / "index.sqlite").exists()
    assert listed(filled) == by_hand(filled)
    size = filled.size()
    assert (size.runs, size.seconds, dict(size.statuses)) == (3, 1.5, {"finished": 2, "diverged": 1})
    assert size.bytes == sum(row[-1] for row in by_hand(filled).values())


def test_index_is_used_and_follows_the_directories(filled, toys, outcome, monkeypatch):
    rows = filled.listing()
    looks = []
    look = index._look
    monkeypatch.setattr(index, "_look", lambda *arguments: looks.append(arguments) or look(*arguments))
    assert filled.listing() == rows
    assert looks == []
    shutil.rmtree(filled.path / "runs" / rows[0].key[:2] / rows[0].key)
    spec = RunSpec(toys.Line(dim=9), toys.Mean(), 5, 5, 0)
    filled.write(spec.key, describe(spec), outcome, {"seconds": None})
    assert listed(filled) == by_hand(filled)
    assert len(looks) == 1


def test_run_made_again_is_read_again(filled, outcome):
    row = filled.listing()[0]
    directory = filled.path / "runs" / row.key[:2] / row.key
    description = filled.read(row.key).description
    shutil.rmtree(directory)
    filled.write(row.key, description, outcome, {"seconds": 77.0})
    assert listed(filled)[row.key][4] == 77.0


@pytest.mark.parametrize("content", [b"", b"not a database at all, not even nearly" * 100, None])
def test_broken_index_costs_nothing(filled, content):
    path = filled.path / "index.sqlite"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE runs (other TEXT)")
        connection.close()
    else:
        path.write_bytes(content)
    assert listed(Store.open(filled.path, read_only=True)) == by_hand(filled)
    assert listed(filled) == by_hand(filled)
    assert len(index._load(path)) == 3


def test_taken_lock_or_unwritable_index_costs_nothing(filled, monkeypatch):
    with (filled.path / "index.lock").open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert listed(filled) == by_hand(filled)
        assert not (filled.path / "index.sqlite").exists()
    (filled.path / "index.sqlite").mkdir()
    assert listed(filled) == by_hand(filled)
    with pytest.raises(StoreError, match="cannot write"):
        filled.rebuild()
    (filled.path / "index.sqlite").rmdir()
    assert filled.rebuild() == 3
    assert list((filled.path / "tmp").iterdir()) == []


def test_rebuild_forgets_what_was_wrong(filled):
    rows = filled.listing()
    lie = [Entry(**{**vars(row), "problem": "a lie"}) for row in rows]
    index.save(filled.path / "index.sqlite", filled.path / "tmp" / "x", lie)
    assert {row.problem for row in filled.listing()} == {"a lie"}
    assert filled.rebuild() == 3
    assert filled.listing() == rows


def test_damaged_run_is_listed_as_such(filled):
    row = filled.listing()[0]
    (filled.path / "runs" / row.key[:2] / row.key / "result.json").write_bytes(b"x")
    filled.rebuild()
    assert filled.size().statuses["damaged"] == 1
    assert filled.size().runs == 3
