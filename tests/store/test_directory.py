import json
import os
import subprocess
import sys

import pytest

from beyondkernels import __version__
from beyondkernels.core import StoreError
from beyondkernels.store import Store, directory as opening


def mark(path, **data):
    path.mkdir(exist_ok=True)
    (path / "store.json").write_text(json.dumps(data))
    return path


def test_new_store_is_marked(tmp_path):
    for path in (tmp_path / "deep" / "down", tmp_path / "empty"):
        if path.name == "empty":
            path.mkdir()
        store = Store.open(path)
        assert json.loads((path / "store.json").read_text()) == {"format": 1, "made_by": __version__}
        assert store.keys() == []
        assert Store.open(str(path), create=False).path == path


def test_directory_of_other_things_is_not_a_store(tmp_path):
    (tmp_path / "thesis.tex").touch()
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(StoreError, match=r"is not a store \(no store.json in it\)"):
            Store.open(tmp_path, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_missing_store_is_made_only_on_request(tmp_path):
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(StoreError, match="there is no store at"):
            Store.open(tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_file_is_not_a_store(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a file, a store is a directory"):
        Store.open(tmp_path / "file")
    with pytest.raises(StoreError, match=r"cannot \w+ the store .*: not a directory"):
        Store.open(tmp_path / "file" / "below")


def test_store_of_a_newer_version_is_refused(tmp_path):
    mark(tmp_path, format=2, made_by="9.9")
    with pytest.raises(StoreError, match=f"has format 2, made by version 9.9; this is version {__version__}"):
        Store.open(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"format": "1"}', '{"format": true}', '{"made_by": "x"}'])
def test_damaged_mark_is_refused(tmp_path, content):
    (tmp_path / "store.json").write_text(content)
    with pytest.raises(StoreError, match=r"store.json is damaged"):
        Store.open(tmp_path)


def test_old_store_is_migrated_once(tmp_path, monkeypatch, spec, outcome):
    path = mark(tmp_path / "old", format=-1, made_by="0.0.1")
    (path / "outputs").mkdir()
    with pytest.raises(StoreError, match="has format -1, which this version cannot migrate"):
        Store.open(path)
    steps = []

    def rename_outputs(root):
        (root / "outputs").rename(root / "results")

    def rename_results(root):
        steps.append(root)
        (root / "results").rename(root / "runs")

    monkeypatch.setitem(opening.MIGRATIONS, -1, rename_outputs)
    monkeypatch.setitem(opening.MIGRATIONS, 0, rename_results)
    with pytest.raises(StoreError, match="has the old format -1; open it for writing once"):
        Store.open(path, read_only=True)
    store = Store.open(path)
    store.write(spec.key, spec.description, outcome, {})
    assert Store.open(path).keys() == [spec.key]
    assert steps == [path]
    assert json.loads((path / "store.json").read_text())["format"] == 1


def test_interrupted_migration_is_taken_up_again(tmp_path, monkeypatch):
    path = mark(tmp_path, format=0)
    answers = iter([OSError(28, "No space left on device"), None])

    def step(root):
        if (answer := next(answers)) is not None:
            raise answer

    monkeypatch.setitem(opening.MIGRATIONS, 0, step)
    with pytest.raises(StoreError, match="the disk is full"):
        Store.open(path)
    assert json.loads((path / "store.json").read_text())["format"] == 0
    assert Store.open(path).keys() == []


FORBIDDEN = """
import os, sys
from pathlib import Path
from beyondkernels.core import StoreError
from beyondkernels.store import Store
os.chmod(sys.argv[1], 0o555)
for path in (Path(sys.argv[1]), Path(sys.argv[1]) / "below", Path(sys.argv[2])):
    try:
        Store.open(path)
    except StoreError as error:
        print(error)
print(len(Store.open(sys.argv[2], read_only=True).keys()))
"""


def test_forbidden_places_are_named(tmp_path):
    (tmp_path / "forbidden").mkdir()
    store = Store.open(tmp_path / "store")
    (store.path / "tmp").chmod(0o555)

    def obey_permissions():  # the superuser writes everywhere unless this capability is gone
        import ctypes

        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)

    as_root = sys.platform == "linux" and os.geteuid() == 0
    answer = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, tmp_path / "forbidden", store.path],
        preexec_fn=obey_permissions if as_root else None,
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "forbidden").chmod(0o755)
    lines = answer.stdout.splitlines()
    reason = "it is read-only or not yours; choose another place with --store"
    assert lines == [
        f"cannot make the store {tmp_path / 'forbidden'}: {reason}",
        f"cannot make the store {tmp_path / 'forbidden' / 'below'}: {reason}",
        f"cannot open the store {store.path}: {reason}",
        "0",
    ]
