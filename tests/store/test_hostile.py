"""Stores with odd or hostile content: every command ends with an answer, nothing outside is touched, all can go on."""

import io
import json
import os
import signal
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome, Saved, StoreError
from beyondkernels.store import MissingRunError, RunSpec, Store, documents, run_directory as rundir
from beyondkernels.store.documents import sealed
from beyondkernels.store.keys import canonical, checksum, key_of
from refusals import refused

KEY = "0" * 32
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.fixture(autouse=True)
def no_waiting():
    """Whoever waits for a pipe that nobody writes to is woken up."""

    def wake(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError("this takes too long")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


SMALL = (rundir.SPEC, rundir.RESULT, rundir.PROVENANCE)


def contents_of(directory: Path, names: tuple[str, ...] = (*SMALL, rundir.ARRAYS)) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in names}


def put(path: Path, kind: str, elsewhere: Path) -> None:
    """Put something else than the content of a store in a place."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(elsewhere)
        case "directory":
            path.mkdir()
        case "deep":
            path.write_bytes(DEEP)
        case "sparse":
            path.touch()
            os.truncate(path, 2**33)
        case _:
            path.touch()


def forge(directory: Path, key: str, **changed: bytes) -> None:
    """Replace files of a run and close it again, as somebody would who knows the format."""
    contents = contents_of(directory) | {
        f"{name}.{'npz' if name == 'arrays' else 'json'}": c for name, c in changed.items()
    }
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    (directory / rundir.DONE).write_bytes(rundir.closing(key, contents))


def expect_damage(store: Store, spec: RunSpec, outcome: Outcome, what: str) -> None:
    """The damage is found, put aside by whoever reads the run, and the run can be made again."""
    findings = store.verify()
    assert [what in finding.what for finding in findings] == [True], findings
    assert store.size().runs <= 1
    assert store.requests() == []
    reader = Store.open(store.path, read_only=True)
    with pytest.raises(MissingRunError):
        reader.read(spec.key)
    with pytest.raises(MissingRunError):
        store.read(spec.key)
    store.write(spec.key, spec.description, outcome, {})
    assert store.read(spec.key).outcome.status == "finished"
    assert store.verify() == []
    assert len(store.quarantine.entries()) == 1
    assert store.quarantine.empty() == 1
    assert store.quarantine.entries() == []


def npz(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def overlapping(count: int, kernel: int) -> bytes:
    """An archive of few bytes whose members hold each other: the data of each are the header and data of the last."""
    body, entries = b"\0" * kernel, []
    for number in range(count):
        name = f"arrays/{number:05d}.npy".encode()
        data = npy(np.frombuffer(body, np.uint8))
        facts = struct.pack("<HHHIIIHH", 0, 0, 0, zlib.crc32(data), len(data), len(data), len(name), 0)
        body = struct.pack("<IHH", 0x04034B50, 20, 0) + facts + name + data
        entries.append((facts, name, len(body)))
    directory = b"".join(
        struct.pack("<IHHH", 0x02014B50, 20, 20, 0)
        + facts
        + struct.pack("<HHHII", 0, 0, 0, 0, len(body) - start)
        + name
        for facts, name, start in entries
    )
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end


def test_members_that_overlap_do_not_unfold(store, spec, outcome, stored):
    bomb = overlapping(50, 100_000)
    with zipfile.ZipFile(io.BytesIO(bomb)) as archive:  # it is an archive that others open
        assert archive.testzip() is None
        assert sum(member.file_size for member in archive.infolist()) > 40 * len(bomb)
    forge(stored, spec.key, arrays=bomb)
    expect_damage(store, spec, outcome, "arrays.npz has members that overlap")


def test_a_shape_beyond_its_bytes_is_not_allocated(store, spec, outcome, stored):
    content = npy(np.zeros(4)).replace(b"(4,), }" + b" " * 12, b"(4398046511104,), }")
    assert len(content) == len(npy(np.zeros(4)))
    forge(stored, spec.key, arrays=npz(("arrays/a.npy", content)))
    expect_damage(store, spec, outcome, "arrays.npz holds arrays/a.npy in another size than its shape")


def test_a_long_list_of_members_is_not_read(store, spec, outcome, stored):
    """400,000 members without content would become as many objects."""
    entry = struct.pack("<IHHH", 0x02014B50, 20, 20, 0) + b"\0" * 36
    directory = entry * 400_000
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    forge(stored, spec.key, arrays=directory + end)
    expect_damage(store, spec, outcome, "arrays.npz lists more members than a run has")
    forge(stored, spec.key, arrays=directory + b"PK\6\7" + b"\0" * 16 + end)
    expect_damage(store, spec, outcome, "arrays.npz does not end as an archive of a store does")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"arrays": npz(("arrays/a.npy", npy([1])), ("arrays/a.npy", npy([2])))}, "arrays.npz holds arrays/a twice"),
        ({"arrays": npz(("elsewhere/a.npy", npy([1])))}, "its files cannot be read"),
        ({"result": DEEP}, "result.json cannot be read as JSON"),
        ({"result": b'{"status":"finished","scalars":' + b"[" * 200 + b"]" * 200 + b"}"}, "result.json is nested"),
        ({"result": b'{"status":"evil","scalars":{}}'}, "result.json has the status 'evil'"),
        ({"result": b'{"status":["finished"],"scalars":{}}'}, "result.json has the status"),
        ({"result": b'{"status":"finished","scalars":[1]}'}, "its files cannot be read"),
        ({"result": b'{"status":"finished","scalars":{"a":' + b"9" * 5000 + b"}}"}, "cannot be read as JSON"),
        ({"provenance": b"[]"}, "provenance.json: it must be a table"),
        ({"provenance": b'{"commit":[]}'}, "provenance.json: commit must be a text"),
        ({"provenance": b'{"seconds":"1"}'}, "provenance.json: seconds must be a number"),
        ({"provenance": DEEP}, "provenance.json cannot be read as JSON"),
        ({"spec": b'{"a":NaN}'}, "spec.json cannot be read as JSON"),
        ({"spec": b'{"a":1e999}'}, "its files cannot be read"),
        ({"spec": DEEP}, "spec.json cannot be read as JSON"),
    ],
)
def test_well_closed_nonsense_is_damaged(store, spec, outcome, stored, changed, what):
    forge(stored, spec.key, **changed)
    expect_damage(store, spec, outcome, what)


@pytest.mark.parametrize("description", [7, [], {"class": 3, "fields": {}}, {"class": "x", "fields": []}])
def test_a_description_of_nothing_is_damaged(store, spec, stored, description):
    key = key_of(description)
    target = store.path / "runs" / key[:2] / key
    target.parent.mkdir(exist_ok=True)
    stored.rename(target)
    forge(target, key, spec=canonical(description))
    assert [finding.what for finding in store.verify()] == ["spec.json does not describe a run"]


def test_done_of_the_wrong_kind_is_damaged(store, spec, stored):
    files = {name: {"bytes": len(c), "sha256": checksum(c)} for name, c in contents_of(stored).items()}
    for odd in (
        {"key": spec.key},
        {"key": spec.key, "files": sorted(files)},
        {"key": spec.key, "files": dict.fromkeys(files, 7)},
        {"key": spec.key, "files": {**files, "spec.json": {"bytes": "many", "sha256": "x"}}},
        {"key": spec.key, "files": {**files, "spec.json": {"bytes": True, "sha256": "x"}}},
        {"key": [], "files": files},
    ):
        (stored / "done.json").write_bytes(sealed(odd))
        assert len(store.verify()) == 1
        assert store.size().runs == 1
    (stored / "done.json").write_bytes(DEEP)
    assert len(store.verify()) == 1
    assert store.size().statuses == {"damaged": 1}


@pytest.mark.parametrize("closed", [False, True])
def test_a_huge_sparse_file_is_not_read(store, spec, outcome, stored, closed):
    size = 2**33
    os.truncate(stored / "arrays.npz", size)
    if closed:
        files = {name: {"bytes": len(c), "sha256": checksum(c)} for name, c in contents_of(stored, SMALL).items()}
        files["arrays.npz"] = {"bytes": size, "sha256": "0" * 64}
        (stored / "done.json").write_bytes(sealed({"key": spec.key, "files": files}))
    what = "more than the 2147483648 that are read" if closed else f"has {size} bytes instead of"
    expect_damage(store, spec, outcome, what)


@pytest.mark.parametrize("name", ["requests/a__b/smoke.json", f"checkpoints/{KEY}.state"])
def test_other_huge_files_are_not_read(store, name):
    path = store.path / name
    path.parent.mkdir(exist_ok=True)
    put(path, "sparse", path)
    (finding,) = store.verify()
    assert "8589934592 bytes, more than" in finding.what
    assert store.requests() == []
    assert store.checkpoints.read(KEY, {}) is None
    assert store.size().runs == 0


def test_what_could_not_be_read_again_is_not_written(store, spec, outcome, monkeypatch):
    monkeypatch.setattr(rundir, "MOST_ARRAYS", 100)
    refused(r"would have \d+ bytes, a store keeps at most 100 in", store.write, spec.key, spec.description, outcome, {})
    from beyondkernels.store import checkpoints

    monkeypatch.setattr(checkpoints, "MOST_ARRAYS", 100)
    with pytest.raises(OSError, match="the state is too large to be saved"):
        store.checkpoints.write(KEY, Saved({}, {"a": np.zeros(100)}), {}, 1.0)
    assert documents.MOST_ARRAYS == 2**31


@pytest.mark.parametrize("name", ["spec.json", "result.json", "arrays.npz", "provenance.json", "done.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_files_that_are_no_files(store, spec, outcome, stored, tmp_path, name, kind):
    secret = tmp_path / "secret"
    secret.write_bytes((stored / name).read_bytes())  # even a link to the right content leads out of the store
    (stored / name).unlink()
    put(stored / name, kind, secret)
    expect_damage(store, spec, outcome, f"{name} is a link" if kind == "link" else f"{name} is not a regular file")
    assert secret.exists()


@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
@pytest.mark.parametrize("level", ["run", "folder"])
def test_directories_that_are_none(store, spec, outcome, stored, tmp_path, kind, level):
    place = stored if level == "run" else stored.parent
    outside = tmp_path / "outside"
    place.rename(outside)
    before = sorted(outside.rglob("*"))
    put(place, kind, outside)
    assert not store.has(spec.key)
    assert store.keys() == []
    expect_damage(store, spec, outcome, "is a link or a file, not a")
    assert sorted(outside.rglob("*")) == before


@pytest.mark.parametrize("name", ["runs", "requests", "checkpoints", "quarantine", "tmp"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_folders_that_are_none(store, tmp_path, name, kind):
    (store.path / name).rmdir()
    (tmp_path / "outside").mkdir()
    put(store.path / name, kind, tmp_path / "outside")
    for read_only in (True, False):
        with pytest.raises(StoreError, match=f"{name} in the store .* is a {kind}, not a directory; move it away"):
            Store.open(store.path, read_only=read_only)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("kind", ["pipe", "deep", "link", "sparse"])
def test_a_mark_that_is_none(tmp_path, kind):
    store = Store.open(tmp_path / "store")
    mark = store.path / "store.json"
    mark.rename(tmp_path / "mark")
    put(mark, kind, tmp_path / "mark")
    with pytest.raises(StoreError, match=r"store.json is damaged"):
        Store.open(store.path)


@pytest.mark.parametrize("kind", ["pipe", "deep", "link", "directory", "stranger"])
def test_requests_that_are_none(store, tmp_path, kind):
    path = store.path / "requests" / "a__b" / ("smoke.txt" if kind == "stranger" else "smoke.json")
    path.parent.mkdir()
    put(path, kind, tmp_path)
    assert store.requests() == []
    findings = store.verify()
    assert [finding.key for finding in findings] == ["requests/a__b/smoke"]
    assert store.put_aside(findings) == 1
    assert store.verify() == []
    assert tmp_path.exists()


def test_a_request_is_not_written_through_a_link(store, tmp_path):
    (tmp_path / "outside").mkdir()
    (store.path / "requests" / "a__b").symlink_to(tmp_path / "outside")
    request: dict[str, Any] = {"name": "a/b", "scale": "smoke", "seeds": [0], "settings": {}}
    request |= {"runs": [], "claims": [], "complete": True, "provenance": {}}
    with pytest.raises(StoreError, match=r"a__b is a link or a file, not a folder; bk store verify --put-aside"):
        store.write_request("a/b", request)
    assert list((tmp_path / "outside").iterdir()) == []
    assert store.put_aside(store.verify()) == 1
    store.write_request("a/b", request)
    assert len(store.requests()) == 1


@pytest.mark.parametrize("kind", ["pipe", "link", "directory", "short"])
def test_checkpoints_that_are_none(store, tmp_path, kind):
    path = store.path / "checkpoints" / f"{KEY}.state"
    put(path, kind, tmp_path / "outside")
    if kind == "short":
        path.write_bytes(sealed({"format": 1, "key": KEY}) + b"\n")
    assert len(store.verify()) == 1
    assert store.size().checkpoints == 1
    assert store.checkpoints.read(KEY, {}) is None
    assert store.put_aside(store.verify()) == (1 if kind == "directory" else 0)  # the others are removed when read
    store.checkpoints.write(KEY, Saved({"step": 1}, {}), {}, 1.0)
    assert store.checkpoints.read(KEY, {}) is not None
    assert not (tmp_path / "outside").exists()


def test_what_is_put_aside_is_counted_and_removed_without_following_links(store, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_bytes(b"x" * 10_000)
    (store.path / "quarantine" / "link").symlink_to(tmp_path / "outside")
    (store.path / "quarantine" / "run").mkdir()
    (store.path / "quarantine" / "run" / "file").write_bytes(b"x" * 3000)
    (store.path / "quarantine" / "run" / "link").symlink_to(tmp_path / "outside")
    assert [entry.name for entry in store.quarantine.entries()] == ["link", "run"]
    assert 3000 <= sum(entry.bytes for entry in store.quarantine.entries()) < 4000
    assert store.quarantine.empty() == 2
    assert (tmp_path / "outside" / "precious").exists()


def test_json_may_be_as_deep_as_ours_is(store, spec, stored):
    inner: Any = 1.0
    for _ in range(60):
        inner = {"mapping": {"a": [inner]}} if _ % 20 == 0 else [inner]
    assert json.loads(canonical(inner)) == documents.parsed(canonical(inner), "x")
