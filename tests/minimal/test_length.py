"""One file for each paper can be read at once."""

from pathlib import Path


def test_they_are_short():
    files = list((Path(__file__).parents[2] / "minimal").glob("*.py"))
    assert len(files) == 4
    assert all(len(file.read_text(encoding="utf-8").splitlines()) <= 150 for file in files)
