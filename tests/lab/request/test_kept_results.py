"""What is kept of a result, and which changes of the code make it out of date."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import InputError
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import (
    CATALOGUE,
    AtMost,
    Result,
    ask,
    claim,
    judged_again,
    kept_path,
    of,
    out_of_date,
    run,
    write_judged,
    write_kept,
)
from beyondkernels.lab.request.kept_results import _kept_rows, _read_rows, _rounded, kept_document


@pytest.fixture
def result(user: Any, tmp_path: Path) -> Result:
    return run(user.Plain(), "smoke", store=tmp_path / "store", executor=SerialExecutor(), progress=False)


def test_the_lines_are_those_a_reader_sees(result: Result) -> None:
    document = kept_document(result)
    assert document["table"]["columns"][:3] == ["guess", "seed", "status"]
    assert [line[:3] for line in document["table"]["lines"]] == [
        [guess, seed, "finished"] for guess in ("g0", "g1") for seed in ("0", "1")
    ]
    shaken = [claim.pop("noticed") for claim in document["claims"]]
    assert document["claims"] == result.as_json()["claims"] and shaken == [["error × 10", "error × 100"]]
    assert document["settings"]["samples"] == 5
    seconds = sum(stored.provenance["seconds"] for stored in result.finished.values())
    assert document["core_seconds"] == round(seconds, 1)


def test_the_same_runs_give_the_same_bytes(result: Result, tmp_path: Path) -> None:
    again = run(result.request, store=tmp_path / "store", executor=SerialExecutor(), progress=False)
    for name, each in (("one", result), ("two", replace(again, provenance=result.provenance))):
        write_kept(kept_path(tmp_path / name, each.request), each)
    one, two = (sorted(path for path in (tmp_path / name).rglob("*") if path.is_file()) for name in ("one", "two"))
    assert len(one) == 2
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_a_result_is_out_of_date_when_its_runs_are_computed_otherwise(
    result: Result, user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept_path(tmp_path, result.request)
    write_kept(path, result)
    assert out_of_date(path, ask(user.Plain(), "smoke")) == ""
    monkeypatch.setattr(user.Guess, "revision", 2, raising=False)
    assert out_of_date(path, ask(user.Plain(), "smoke")) == "the runs it needs are others"


def test_a_changed_claim_is_judged_again_from_the_rows(
    result: Result, user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept_path(tmp_path, result.request)
    write_kept(path, result)
    same = judged_again(path, ask(user.Plain(), "smoke"))
    assert same == json.loads(path.read_text(encoding="utf-8"))  # rows that were written give the claims that were
    stricter = [claim("error", "The error is tiny", of("error", guess="g0").median(), AtMost(1e-9))]
    monkeypatch.setattr(user.Plain, "claims", lambda self, settings: stricter)
    request = ask(user.Plain(), "smoke")
    assert out_of_date(path, request) == "the claim error has changed"
    document = judged_again(path, request)
    assert document is not None and [each["holds"] for each in document["claims"]] == [False]
    write_judged(path, document)
    assert out_of_date(path, request) == ""
    monkeypatch.setattr(user.Guess, "revision", 2, raising=False)
    assert judged_again(path, ask(user.Plain(), "smoke")) is None  # other runs would give other rows


def test_a_file_from_elsewhere_is_out_of_date(result: Result, tmp_path: Path) -> None:
    path = kept_path(tmp_path, result.request)
    document = kept_document(result)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**document, "settings": {**document["settings"], "old": 1}}))
    assert out_of_date(path, result.request) == "the setting old is gone"
    path.write_text(json.dumps({**document, "seeds": [0, 2]}))
    assert out_of_date(path, result.request) == "the seeds are [0, 1], and were [0, 2]"


def test_what_is_not_complete_is_not_kept(result: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 runs are missing"):
        write_kept(tmp_path / "a.smoke.json", replace(result, missing={("g0", 0): "crashed"}))
    assert list(tmp_path.glob("a*")) == []


def test_an_id_cannot_lead_out_of_the_folder(user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user.Plain, "id", "../plain")
    with pytest.raises(InputError, match="id must be words joined by slashes"):
        kept_path(tmp_path, ask(user.Plain(), "smoke"))


def test_the_last_digits_of_a_computed_bound_do_not_count() -> None:
    assert _rounded({"test": "AtMost(0.12499999999999997)"}) == _rounded({"test": "AtMost(0.12500000000000003)"})
    assert _rounded({"test": "AtMost(0.125)"}) != _rounded({"test": "AtMost(0.1251)"})


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_claim_is_declared_in_words_that_stay(name: str) -> None:
    request = ask(name, "laptop")
    declared = [
        statement.declaration(request.experiment.declared) for statement in request.experiment.claims(request.settings)
    ]
    assert len({each["id"] for each in declared}) == len(declared) > 0
    assert " at 0x" not in str(declared)
    assert all(each["value"] and each["condition"] for each in declared)


def test_an_infinite_width_is_one_when_claims_are_judged_again() -> None:
    rows = [{"width": 20.0, "error": 1.0}, {"width": float("inf"), "error": None}]
    kept = json.loads(json.dumps(_kept_rows(rows), allow_nan=False))
    assert _read_rows(kept)["width"].tolist() == [20.0, float("inf")]
