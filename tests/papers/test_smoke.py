"""Whole experiments at smoke scale."""

import json
from pathlib import Path
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import CATALOGUE, specs_of
from beyondkernels.store import Store


@pytest.mark.parametrize("name", CATALOGUE)
def test_smoke(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # in this process: whether workers give the same is the executors' business, and each takes seconds to start
    result = bk.run(name, "smoke", executor=SerialExecutor(), store=tmp_path / "store", progress=False)
    request = result.request
    assert (request.seeds, result.missing) == ((0, 1), {})
    assert set(result.finished) == set(specs_of(request.experiment, request.settings, request.seeds, result.finished))
    assert {row["status"] for row in result.rows} == {"finished"}
    assert {0, 1} <= {row["seed"] for row in result.rows}  # and those of a search, where its runs are rows too
    assert all(claim.holds is None and claim.reason for claim in result.claims)
    check_json(result.as_json())
    page = result.page()
    assert page.figures and page.rows and page.settings
    assert Store.open(tmp_path / "store").verify() == []

    def refuse(*_: Any) -> Any:
        raise AssertionError("something was executed again")

    monkeypatch.setattr(SerialExecutor, "execute", refuse)
    again = bk.run(name, "smoke", executor=SerialExecutor(), store=tmp_path / "store", progress=False)
    assert again.rows == result.rows
    assert again.claims == result.claims


def check_json(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert set(document) == {"experiment", "scale", "seeds", "settings", "rows", "claims", "provenance"}
    for claim in document["claims"]:
        assert {"id", "text", "paper", "measured", "low", "high", "interval", "holds", "reason"} <= set(claim)
    assert set(document["provenance"]) == {"version", "commit", "dirty", "command", "libraries", "cpu", "seconds"}
