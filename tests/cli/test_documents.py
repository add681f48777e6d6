"""Tables of a README from kept results and benchmarks."""

import json
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli.documents import bench_block, contents_block, filled, papers_block, results_block
from beyondkernels.cli.kept_results import kept_results
from beyondkernels.core import Paper


def result(folder: Path, name: str, verdicts: list[bool | None], scale: str = "laptop") -> None:
    path = folder / f"{name}.{scale}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    ours = {"reason": "it was 3", "source": "ours", "place": "", "cause": "size", "because": "α is large"}
    claims = [{"text": f"Claim {i}", "holds": holds, **ours} for i, holds in enumerate(verdicts)]
    path.write_text(json.dumps({"experiment": name, "scale": scale, "claims": claims, "core_seconds": 7200}))


def test_states_and_what_fails(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    result(folder, "features/table1", [True, True])
    result(folder, "features/table1", [True, False, None], "paper")
    result(folder, "resnet/fig3", [False, False])
    lines = results_block(kept_results(folder), "results").splitlines()
    (table1,) = [line for line in lines if line.startswith("| `features/table1` ")]
    assert (
        "✓ laptop scale: [all 2 claims hold](results/features/table1.laptop.json)<br>◐ paper scale: [1 of 3" in table1
    )
    assert "2.0 h on one core<br>2.0 h on one core" in table1
    (fig3,) = [line for line in lines if line.startswith("| `resnet/fig3` ")]
    assert "✗ laptop scale: [none of 2 claims holds, 2 fail]" in fig3.replace("None", "none")
    assert (
        "- `features/table1`, paper scale: Claim 1. Measured: it was 3. Sizes too small for the limit: α is large."
        in lines
    )
    assert sum(line.startswith("- ") for line in lines) == 3
    assert "| `features` | ours | 3 | 1 | 1 |" in lines and "by cause: sizes too small for the limit: 3." in "\n".join(
        lines
    )
    assert "no result kept yet" in next(line for line in lines if line.startswith("| `resnet/fig2a` "))


def bench(complete: bool = True) -> dict[str, Any]:
    rows = [
        {"network": "full", "width": 20, "members": 48, "backend": backend, "ratio_plain": ratio}
        for backend, ratio in (("compiled", 40.53), ("eager", 16.6))
    ]
    return {"schema": 1, "benchmark": "engine", "complete": complete, "rows": rows}


def test_benchmarks(tmp_path: Path) -> None:
    assert bench_block(tmp_path) == "Nothing is measured yet."
    (tmp_path / "bench-engine.json").write_text(json.dumps(bench()))
    assert bench_block(tmp_path).splitlines()[-1] == "| 48 networks, full | 20 | 40.5 | 16.6 |"
    (tmp_path / "bench-engine.json").write_text(json.dumps(bench(complete=False)))
    assert bench_block(tmp_path) == "Nothing is measured yet."


def test_filling_twice_changes_nothing() -> None:
    text = "a\n<!-- results -->\n<!-- /results -->\nb\n<!-- bench -->x<!-- /bench -->\n"
    parts = {"results": "| \\1 |", "bench": "y"}
    once = filled(text, parts)
    assert once == "a\n<!-- results -->\n\n| \\1 |\n\n<!-- /results -->\nb\n<!-- bench -->\n\ny\n\n<!-- /bench -->\n"
    assert filled(once, parts) == once


def test_a_line_for_each_paper(tmp_path: Path) -> None:
    result(tmp_path, "features/table1", [True, True, None])
    result(tmp_path, "features/table2", [True, False])
    (line,) = [line for line in papers_block(kept_results(tmp_path)).splitlines() if line.startswith("- [`features`]")]
    assert line.endswith("17 experiments. 3 of 5 claims hold, 1 fails, 1 is undecided.")


def test_what_nothing_runs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "paper_with_contents"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "contents.toml").write_text(
        '[[part]]\nplace = "Lemma 1"\nsays = "It is so."\ncode = ["papers/x/a.py"]\nexperiments = ["first"]\n'
        'missing = "the case a = 0"\n[[part]]\nplace = "Lemma 2"\nsays = "It is so, too."\n'
    )
    result(tmp_path / "results", "x/first", [True])
    monkeypatch.syspath_prepend(tmp_path)
    paper = Paper("x", "Ada", "On features", 2030, "1", "paper_with_contents", {"first": "a:A"})
    lines = contents_block(paper, kept_results(tmp_path / "results")).splitlines()
    assert lines[2].startswith("| Lemma 1 | It is so. | [`a.py`](../../papers/x/a.py) | [`first`](")
    assert lines[2].endswith(" ✓ ours 1 of 1 |")
    assert lines[-2:] == ["- Lemma 1: the case a = 0", "- Lemma 2: It is so, too."]
