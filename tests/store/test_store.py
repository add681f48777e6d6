import dataclasses
import hashlib
import io
import json
import math
import os
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beyondkernels.core import InputError, Outcome, StoreError
from beyondkernels.store import MissingRunError, RunSpec, Store, key_of
from beyondkernels.store.encoding import decode_arrays, decode_result, encode_arrays, encode_result
from beyondkernels.store.run_directory import closing
from refusals import refused

FILES = ["arrays.npz", "done.json", "provenance.json", "result.json", "spec.json"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_run_comes_back_exactly(store, spec, outcome, stored):
    assert store.has(spec.key)
    run = store.read(spec.key)
    assert (run.key, run.description, run.provenance) == (spec.key, spec.description, {"seconds": 1.5})
    assert run.outcome.status == "finished"
    assert run.outcome.scalars.keys() == outcome.scalars.keys()
    for name, value in outcome.scalars.items():
        assert math.isnan(value) == math.isnan(run.outcome.scalars[name])
        assert math.isnan(value) or run.outcome.scalars[name].hex() == value.hex()  # hex tells -0.0 from 0.0
    for before, after in ((outcome.series, run.outcome.series), (outcome.arrays, run.outcome.arrays)):
        assert before.keys() == after.keys()
        assert all(same(before[name], after[name]) for name in before)


def test_run_is_a_directory_with_checksums(store, spec, stored):
    assert names(stored) == FILES
    assert names(store.path / "tmp") == []
    assert stored == store.path / "runs" / spec.key[:2] / spec.key
    done = json.loads((stored / "done.json").read_text())
    for name in FILES:
        if name != "done.json":
            content = (stored / name).read_bytes()
            expected = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            assert done["files"][name] == expected
    assert json.loads((stored / "spec.json").read_text()) == spec.description
    result = json.loads((stored / "result.json").read_text())
    assert (result["scalars"]["never"], result["scalars"]["down"]) == ("nan", "-inf")
    with zipfile.ZipFile(stored / "arrays.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert "series/loss.npy" in archive.namelist()
    assert json.loads((store.path / "store.json").read_text())["format"] == 1


@given(st.dictionaries(st.text("abcé/. ", min_size=1), st.floats() | st.integers(-(2**53), 2**53)))
def test_scalars_survive(scalars):
    status, back = decode_result(encode_result(Outcome("diverged", scalars)))
    assert status == "diverged"
    assert {name: float(value).hex() for name, value in scalars.items()} == {n: v.hex() for n, v in back.items()}


def test_equal_outcomes_are_equal_bytes(outcome):
    turned = Outcome("finished", {}, dict(reversed(outcome.series.items())), dict(reversed(outcome.arrays.items())))
    assert encode_arrays(turned) == encode_arrays(outcome)
    assert decode_arrays(encode_arrays(Outcome())) == ({}, {})


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (Outcome("finished", {"n": 2**53 + 1}), "the scalar n must be a number that a float holds"),
        (Outcome("finished", {"n": "1"}), "the scalar n must be a number"),  # pyright: ignore[reportArgumentType]
        (Outcome("finished", {"n": None}), "the scalar n must be a number"),  # pyright: ignore[reportArgumentType]
        (Outcome("finished", {"": 1.0}), "'' cannot name a result"),
        (Outcome(arrays={"o": np.array([{}])}), "arrays/o holds Python objects"),
    ],
)
def test_what_cannot_be_stored_is_refused(store, spec, outcome, sentence):
    refused(sentence, store.write, spec.key, spec.description, outcome, {})
    assert not store.has(spec.key)
    assert names(store.path / "tmp") == []


def test_keys_are_checked(store, spec, outcome):
    refused(r"a run's key is 32 hexadecimal digits, got '\.\./", store.has, "../../x")
    with pytest.raises(InputError, match=f"the description has the key {spec.key}, got '{'0' * 32}'"):
        store.write("0" * 32, spec.description, outcome, {})
    refused(
        "only plain JSON data can be stored", store.write, spec.key, spec.description, outcome, {"seconds": math.nan}
    )
    with pytest.raises(MissingRunError, match=f"no run {spec.key} in the store"):
        store.read(spec.key)


def test_every_flipped_byte_is_found(store, stored):
    assert store.verify() == []
    for name in FILES:
        path = stored / name
        content = path.read_bytes()
        step = 1 if name == "done.json" else max(1, len(content) // 40)  # done.json guards itself: try all of it
        for position in [*range(0, len(content), step), len(content) - 1]:
            flipped = bytearray(content)
            flipped[position] ^= 32 if position % 2 else 1  # 32 turns letters into capitals
            path.write_bytes(flipped)
            (finding,) = store.verify()
            assert finding.key == stored.name
            assert name in finding.what
        path.write_bytes(content)
        assert store.verify() == []
    assert stored.exists()


@pytest.mark.parametrize("damage", ["shorter", "longer", "missing", "stranger", "space"])
def test_other_damage_is_found(store, stored, damage):
    result = stored / "result.json"
    match damage:
        case "shorter":
            os.truncate(result, 5)
        case "longer":
            result.write_bytes(result.read_bytes() + b" ")
        case "missing":
            result.unlink()
        case "stranger":
            (stored / "notes.txt").touch()
        case "space":  # the same JSON in other bytes
            done = stored / "done.json"
            done.write_text(done.read_text() + "\n")
    (finding,) = store.verify()
    assert finding.key == stored.name
    assert ("result.json" if damage in ("shorter", "longer", "missing") else "") in finding.what


def test_damaged_run_is_put_aside_and_made_again(store, spec, outcome, stored):
    for number in (1, 2):
        (stored / "arrays.npz").write_bytes(b"nonsense")
        with pytest.raises(MissingRunError, match=r"arrays\.npz has 8 bytes instead of .* put aside in quarantine"):
            store.read(spec.key)
        assert not store.has(spec.key)
        assert names(store.path / "quarantine")[-1] == f"{spec.key}-{number}"
        store.write(spec.key, spec.description, outcome, {"seconds": 2.5})
        assert store.read(spec.key).provenance == {"seconds": 2.5}
    assert store.size().quarantined == 2
    assert store.verify() == []


def test_files_that_systems_hide_are_no_damage(store, spec, stored):
    for folder in (stored, stored.parent, stored.parent.parent):
        for name in (".DS_Store", ".nfs0001", "._spec.json"):
            (folder / name).touch()
    assert store.verify() == []
    assert store.read(spec.key).key == spec.key


def test_a_run_stored_anew_while_we_found_damage_stays(store, spec, outcome, stored, monkeypatch):
    (stored / "arrays.npz").write_bytes(b"nonsense")
    quarantine = Store._put_run_aside

    def late(self, key):  # between our look and our move another process puts it aside and stores it anew
        monkeypatch.undo()
        with pytest.raises(MissingRunError):
            store.read(key)
        store.write(key, spec.description, outcome, {"seconds": 2.5})
        quarantine(self, key)

    monkeypatch.setattr(Store, "_put_run_aside", late)
    assert store.read(spec.key).provenance == {"seconds": 2.5}
    assert names(store.path / "quarantine") == [f"{spec.key}-1"]
    assert store.verify() == []


def test_a_run_stored_while_a_writer_clears_the_way_stays(store, spec, outcome, stored, monkeypatch):
    (stored / "done.json").unlink()
    quarantine = Store._put_run_aside

    def late(self, key):
        monkeypatch.undo()
        store.write(key, spec.description, outcome, {"seconds": 2.5})
        quarantine(self, key)

    monkeypatch.setattr(Store, "_put_run_aside", late)
    store.write(spec.key, spec.description, outcome, {"seconds": 9.0})
    assert store.read(spec.key).provenance == {"seconds": 2.5}
    assert names(store.path / "tmp") == []
    assert names(store.path / "quarantine") == [f"{spec.key}-1"]


def test_well_formed_but_wrong_runs_are_damaged(store, spec, outcome, stored):
    contents = {name: (stored / name).read_bytes() for name in FILES if name != "done.json"}
    other = dataclasses.replace(spec, seed=9).description
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{"series/x": np.zeros(10**6)})  # pyright: ignore[reportArgumentType]
    for name, content, what in (
        ("spec.json", json.dumps(other).encode(), "spec.json belongs to another run"),
        ("arrays.npz", buffer.getvalue(), "arrays.npz is compressed"),
        ("arrays.npz", b"PK", "arrays.npz does not end as an archive"),
        ("result.json", b"[]", "its files cannot be read"),
    ):
        changed = {**contents, name: content}
        (stored / name).write_bytes(content)
        (stored / "done.json").write_bytes(closing(spec.key, changed))
        assert [what in finding.what for finding in store.verify()] == [True]
        (stored / name).write_bytes(contents[name])
    for content in (closing(key_of(other), contents), closing(spec.key, {**contents, "../x": b""})):
        (stored / "done.json").write_bytes(content)
        assert len(store.verify()) == 1


def test_directory_without_done_is_no_run(store, spec, outcome, stored):
    (stored / "done.json").unlink()
    assert not store.has(spec.key)
    assert store.keys() == []
    assert "done.json" in store.verify()[0].what
    store.write(spec.key, spec.description, outcome, {})
    assert store.keys() == [spec.key]
    assert names(store.path / "quarantine") == [f"{spec.key}-1"]


def test_misplaced_directory_is_found(store, stored):
    stored.rename(stored.parent / "not-a-key")
    assert [finding.what for finding in store.verify()] == ["is not where a run belongs"]
    assert store.keys() == []


def test_second_writer_discards_quietly(store, spec, outcome, stored, monkeypatch):
    before = (stored / "provenance.json").read_bytes()
    store.write(spec.key, spec.description, outcome, {"seconds": 9.0})
    real, answers = Store.has, [False]  # as if the other process had finished only after we looked
    monkeypatch.setattr(Store, "has", lambda self, key: answers.pop() if answers else real(self, key))
    store.write(spec.key, spec.description, outcome, {"seconds": 9.0})
    assert answers == []
    assert (stored / "provenance.json").read_bytes() == before
    assert names(store.path / "tmp") == names(store.path / "quarantine") == []


def test_writers_at_the_same_moment(toys, store, outcome):
    specs = [RunSpec(toys.Line(), toys.Mean(), 5, 5, seed) for seed in range(15)]
    ready = threading.Barrier(4)
    errors = []

    def write():
        ready.wait()
        for spec in specs:
            try:
                store.write(spec.key, spec.description, outcome, {})
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.keys() == sorted(spec.key for spec in specs)
    assert store.verify() == []
    assert names(store.path / "tmp") == names(store.path / "quarantine") == []


def test_read_only_store_changes_nothing(store, spec, outcome, stored):
    (stored / "result.json").write_bytes(b"{}")
    before = sorted(store.path.rglob("*"))
    reader = Store.open(store.path, read_only=True)
    with pytest.raises(MissingRunError, match=r"is damaged .* run it again with a store that is not read-only"):
        reader.read(spec.key)
    for change in (
        lambda: reader.write(spec.key, spec.description, outcome, {}),
        lambda: reader.write_request("a/b", {"scale": "smoke"}),
        lambda: reader.put_aside([]),
    ):
        with pytest.raises(StoreError, match="was opened for reading only"):
            change()
    assert reader.size().runs == 1
    assert sorted(store.path.rglob("*")) == before


def test_a_folder_that_another_process_makes_meanwhile_is_no_rubbish(store, spec, outcome, monkeypatch):
    from beyondkernels.store import store as module

    looked = module.is_directory

    def made_meanwhile(path: Path) -> bool:
        found = looked(path)
        path.mkdir(exist_ok=True)  # right after the look
        return found

    monkeypatch.setattr(module, "is_directory", made_meanwhile)
    store.write(spec.key, spec.description, outcome, {})
    assert store.has(spec.key)
    assert names(store.path / "quarantine") == []
