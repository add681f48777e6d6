"""Tables of a README from kept results and benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli.readme import bench_block, filled, results_block, update_readme


def result(folder: Path, name: str, verdicts: list[bool | None], scale: str = "laptop") -> None:
    path = folder / f"{name}.{scale}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    claims = [{"text": f"Claim {i}", "holds": holds, "reason": "it was 3"} for i, holds in enumerate(verdicts)]
    path.write_text(json.dumps({"experiment": name, "scale": scale, "claims": claims, "core_seconds": 7200}))


def test_states_and_what_fails(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    result(folder, "features/table1", [True, True])
    result(folder, "features/table1", [True, False, None], "paper")
    result(folder, "resnet/fig3", [False, False])
    lines = results_block(folder).splitlines()
    (table1,) = [line for line in lines if line.startswith("| `features/table1` ")]
    assert (
        "✓ laptop scale: [all 2 claims hold](results/features/table1.laptop.json)<br>◐ paper scale: [1 of 3" in table1
    )
    assert "2.0 h on one core<br>2.0 h on one core" in table1
    (fig3,) = [line for line in lines if line.startswith("| `resnet/fig3` ")]
    assert "✗ laptop scale: [none of 2 claims holds, 2 fail]" in fig3.replace("None", "none")
    assert "- `features/table1`, paper scale: Claim 1. Measured: it was 3." in lines
    assert sum(line.startswith("- ") for line in lines) == 3
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


@pytest.mark.parametrize("text", [None, "no markers"])
def test_a_readme_without_markers_is_left_alone(tmp_path: Path, text: str | None) -> None:
    readme = tmp_path / "README.md"
    if text is not None:
        readme.write_text(text)
    assert update_readme(readme, tmp_path / "results", write=True) is None
    assert readme.exists() is (text is not None)
