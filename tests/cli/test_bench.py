"""``bk bench``: the table, the file, and wrong words."""

from __future__ import annotations

import json

import pytest

from beyondkernels.bench import Row
from beyondkernels.cli import main


@pytest.fixture
def rows(monkeypatch):
    found = [
        Row("tangent-finite", "a recipe", 123.456, 0.25, 40.0, "small"),
        Row("tangent-wide", "a budget", None, 2.5, None, ""),
    ]
    monkeypatch.setattr("beyondkernels.bench.kernels.rows", lambda: iter(found))
    return found


def run(monkeypatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["bk", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_table_and_file(rows, monkeypatch, capsys, tmp_path):
    file = tmp_path / "rows.json"
    assert run(monkeypatch, "bench", "kernels", "--json", str(file)) == 0
    shown = capsys.readouterr()
    assert "tangent-finite" in shown.out
    assert "123" in shown.out
    assert "tangent-wide done after" in shown.err
    document = json.loads(file.read_text())
    assert document.keys() == {"rows", "provenance"}
    assert document["rows"][0] == {
        "name": "tangent-finite",
        "against": "a recipe",
        "ratio": 123.456,
        "seconds": 0.25,
        "memory_ratio": 40.0,
        "remark": "small",
    }
    assert document["rows"][1]["ratio"] is None
    assert document["provenance"]["command"] == "bk bench kernels --json rows.json"
    assert document["provenance"]["seconds"] >= 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no benchmark is named; bk bench kernels"),
        (("kernals",), "unknown benchmark 'kernals', did you mean kernels?"),
        (("kernels", "--json", "nowhere/rows.json"), "its directory does not exist"),
    ],
)
def test_wrong_words_cost_no_time(rows, monkeypatch, capsys, words, sentence):
    assert run(monkeypatch, "bench", *words) == 2
    assert sentence in capsys.readouterr().err
