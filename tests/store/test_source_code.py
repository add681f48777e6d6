"""A checksum of the code at work: it changes with every file that matters."""

import sys
from pathlib import Path

import pytest

from beyondkernels.core import load_file
from beyondkernels.store import source_code as source


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    for name in ("a.py", "inner/b.cpp", "inner/c.h"):
        (tmp_path / name).write_text(f"of {name}")
    return tmp_path


@pytest.mark.parametrize("name", ["a.py", "inner/b.cpp", "inner/c.h"])
def test_every_file_counts(package, name):
    before = source.files_checksum(package)
    assert source.files_checksum(package) == before
    (package / "notes.txt").touch()
    assert source.files_checksum(package) == before
    (package / name).write_text("edited")
    edited = source.files_checksum(package)
    assert edited != before
    (package / name).rename(package / f"other-{Path(name).name}")
    assert source.files_checksum(package) not in (before, edited)


def test_files_a_user_has_loaded_count_as_they_were_loaded(tmp_path):
    bare = source.code_checksum()
    assert source.code_checksum() == bare
    file = tmp_path / "checked.py"
    file.write_text("x = 1")
    try:
        load_file(file)
        first = source.code_checksum()
        assert first != bare
        file.write_text("x = 2")
        assert source.code_checksum() == first  # what is at work is what was loaded
        load_file(file)
        assert source.code_checksum() not in (first, bare)
    finally:
        del sys.modules["beyondkernels_user.checked"]
    assert source.code_checksum() == bare
