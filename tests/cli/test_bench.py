"""``bk bench``: the table, the file, and wrong words."""

import json

import pytest

from beyondkernels.bench import Row
from beyondkernels.cli import main


@pytest.fixture
def rows(monkeypatch):
    found = [
        Row("tangent-finite", "a recipe", 123.456, 120.5, 0.25, 0.5, 40.0, "small"),
        Row("tangent-wide", "a budget", None, None, 2.5, 3.5, None, ""),
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
    assert (
        "tangent-finite: ratio 123, wall_ratio 120, seconds 0.25, wall_seconds 0.5, memory_ratio 40, after" in shown.err
    )
    assert "tangent-wide: seconds 2.5, wall_seconds 3.5, after" in shown.err
    document = json.loads(file.read_text())
    assert document.keys() == {"schema", "benchmark", "complete", "rows", "provenance"}
    assert (document["schema"], document["benchmark"], document["complete"]) == (1, "kernels", True)
    assert document["rows"][0] == {
        "name": "tangent-finite",
        "against": "a recipe",
        "ratio": 123.456,
        "wall_ratio": 120.5,
        "seconds": 0.25,
        "wall_seconds": 0.5,
        "memory_ratio": 40.0,
        "remark": "small",
    }
    assert document["rows"][1]["ratio"] is None
    assert document["provenance"]["command"] == "bk bench kernels --json rows.json"
    assert document["provenance"]["seconds"] >= 0


def test_an_interrupt_leaves_what_was_measured(rows, monkeypatch, capsys, tmp_path):
    file, kept = tmp_path / "rows.json", []

    def interrupted():
        yield rows[0]
        kept.append(json.loads(file.read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr("beyondkernels.bench.kernels.rows", interrupted)
    assert run(monkeypatch, "bench", "kernels", "--json", str(file)) == 130
    document = json.loads(file.read_text())
    assert document == kept[0], "the row was on disk before the next was measured"
    assert document["complete"] is False
    assert [row["name"] for row in document["rows"]] == ["tangent-finite"]
    shown = capsys.readouterr()
    assert "tangent-finite" in shown.out
    assert "interrupted after 1 rows, which" in shown.err
    assert "goes on from there" not in shown.err


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
