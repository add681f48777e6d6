"""Results kept with the code, as ``bk list`` and ``bk show`` tell of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli import kept
from beyondkernels.cli.kept import Kept, kept_results


def result(experiment: str, scale: str, verdicts: list[bool | None], seconds: Any = 90.0) -> str:
    claims = [{"holds": holds} for holds in verdicts]
    return json.dumps({"experiment": experiment, "scale": scale, "claims": claims, "provenance": {"seconds": seconds}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    results = tmp_path / "results"
    (results / "resnet").mkdir(parents=True)
    (results / "a.json").write_text(result("features/table1", "paper", [True, False, None]))
    (results / "b.json").write_text(result("features/table1", "laptop", [True, True]))
    (results / "resnet" / "c.json").write_text(result("resnet/fig3", "laptop", [None], "long"))
    for name, text in {"d": "{", "e": "[]", "f": result("x", "huge", []), "g": '{"claims": 3}'}.items():
        (results / f"{name}.json").write_text(text)
    monkeypatch.setattr(kept, "FOLDERS", (tmp_path / "none", results))
    return results


def test_what_is_kept(folder: Path) -> None:
    assert kept_results() == {
        "features/table1": [
            Kept("features/table1", "laptop", 2, 2, 90.0),
            Kept("features/table1", "paper", 1, 2, 90.0),
        ],
        "resnet/fig3": [Kept("resnet/fig3", "laptop", 0, 0, None)],
    }


def test_list_tells_states_and_costs(bk: Any, folder: Path) -> None:
    shown = bk("list").stdout
    assert "✓ 2 of 2 claims hold at laptop scale, in 2 min" in shown
    assert "✗ 1 of 2 claims hold at paper scale, in 2 min" in shown
    assert "– no claim decided at laptop scale" in shown
    assert max(map(len, shown.splitlines())) <= 80
    listed = {entry["id"]: entry["results"] for entry in json.loads(bk("list", "--json").stdout)["experiments"]}
    assert listed["features/table1"][0] == {"scale": "laptop", "holds": 2, "claims": 2, "seconds": 90.0}
    assert listed["resnet/fig2a"] == []
    assert "2 of 2 claims hold at laptop scale" in bk("show", "features/table1").stdout


def test_without_results_nothing_is_said(bk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDERS", ())
    assert kept_results() == {}
    assert "claims hold" not in bk("list").stdout


def test_looking_imports_neither_torch_nor_pandas() -> None:
    program = """
import sys
from beyondkernels.cli.app import app
for words in (["--help"], ["run", "-h"], ["list"], ["list", "--json"],
              ["show", "features/table1"], ["show", "resnet/fig2a"]):
    app(words, standalone_mode=False)
    assert not {"torch", "pandas", "numpy", "scipy", "matplotlib"} & set(sys.modules), words
print("none of them")
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.splitlines()[-1] == "none of them"
