"""Results kept with the code, as ``bk list`` and ``bk show`` tell of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli import kept_results as kept
from beyondkernels.cli.kept_results import Kept, kept_results


def result(experiment: str, scale: str, verdicts: list[bool | None], seconds: Any = 90.0) -> str:
    claims = [{"holds": holds, "text": "It is so", "reason": "by 2", "source": "ours"} for holds in verdicts]
    return json.dumps({"experiment": experiment, "scale": scale, "claims": claims, "core_seconds": seconds})


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


FAILING = {"holds": False, "text": "It is so", "reason": "by 2", "source": "ours"}


def verdicts(holds: int, fails: int, silent: int) -> Any:
    ours = {"holds": holds, "fails": fails, "undecided": silent}
    return {"paper": dict.fromkeys(ours, 0), "ours": ours}


def test_what_is_kept(folder: Path) -> None:
    found = {name: [replace(each, claims=()) for each in several] for name, several in kept_results().items()}
    assert found == {
        "features/table1": [
            Kept("features/table1", "laptop", verdicts(2, 0, 0), 90.0),
            Kept("features/table1", "paper", verdicts(1, 1, 1), 90.0),
        ],
        "resnet/fig3": [Kept("resnet/fig3", "laptop", verdicts(0, 0, 1), None)],
    }
    assert [each.failing for each in kept_results()["features/table1"]] == [[], [FAILING]]


def test_list_tells_states_and_costs(bk: Any, folder: Path) -> None:
    shown = bk("list").stdout
    words = " ".join(shown.split())
    assert "✓ laptop scale: all 2 claims hold (2 min on one core)" in words
    assert "◐ paper scale: 1 of 3 claims holds, 1 fails, 1 is undecided (2 min on one core)" in words
    assert "– laptop scale: its one claim is undecided" in words
    assert max(map(len, shown.splitlines())) <= 80
    listed = {entry["id"]: entry["results"] for entry in json.loads(bk("list", "--json").stdout)["experiments"]}
    assert listed["features/table1"][0] == {
        "scale": "laptop",
        "state": "holds",
        "claims": verdicts(2, 0, 0),
        "core_seconds": 90.0,
    }
    assert listed["resnet/fig2a"] == []
    assert "✓ laptop scale: all 2 claims hold" in bk("show", "features/table1").stdout


def test_without_results_nothing_is_said(bk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDERS", ())
    assert kept_results() == {}
    assert "scale:" not in bk("list").stdout
