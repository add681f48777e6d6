"""The results kept with the code belong to it, and documents are made from them."""

import json
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli.documents import documents, filled
from beyondkernels.lab import Crossing, Quantities, Statement, ask, judged_again, kept_path, out_of_date
from beyondkernels.lab.report.claims import LITTLE, LOOSE
from soak.result import differences

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
KEPT = sorted(path for path in RESULTS.glob("*/*.json"))
WORDS = ("id", "text", "paper", "interval", "holds", "source", "place", "kind", "cause", "because", "noticed", "sets")
AGAIN = "make results makes it again"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.relative_to(RESULTS).as_posix())
def test_a_kept_result_belongs_to_the_code_and_its_claims_to_its_rows(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    request = ask(kept["experiment"], kept["scale"])
    assert kept_path(RESULTS, request) == path
    why = out_of_date(path, request)
    assert not why, f"{path.relative_to(ROOT).as_posix()} no longer belongs to the code: {why}; {AGAIN}"
    again = judged_again(path, request)
    if again is None:
        assert "rows" not in kept
    else:
        assert again["table"] == kept["table"] and again["title"] == kept["title"]
        assert len(again["claims"]) == len(kept["claims"])
        for one, other in zip(kept["claims"], again["claims"], strict=True):
            assert [one[name] for name in WORDS] == [other[name] for name in WORDS], one["id"]
            for name in ("measured", "low", "high"):  # another machine's logarithms may differ in the last digit
                assert one[name] == (other[name] if other[name] is None else pytest.approx(other[name], rel=1e-9))
    stated = {statement.id: statement for statement in request.experiment.claims(request.settings)}
    for claim in kept["claims"]:
        require_possible(claim, stated[claim["id"]], request.experiment.declared)
        if claim["holds"]:
            little = claim["kind"] in LOOSE and (claim["slack"] or 0) > LITTLE
            assert claim["noticed"] or claim["kind"] == "check" or little, f"{claim['id']} cannot fail"
        else:
            assert stated[claim["id"]].cause or claim["holds"] is None, (
                f"{claim['id']} fails, and ## Causes says no why"
            )


def require_possible(claim: dict[str, Any], statement: Statement, quantities: Quantities) -> None:
    """No interval leaves what its quantity can be."""
    least, greatest = statement.value.quantity_in(quantities).within
    if not isinstance(statement.condition, Crossing):  # its interval is one of the coordinate
        assert claim["low"] is None or claim["low"] >= least, claim["id"]
        assert claim["high"] is None or claim["high"] <= greatest, claim["id"]
        assert claim["measured"] is None or least <= claim["measured"] <= greatest, claim["id"]


def test_a_result_computed_anew_has_the_numbers_that_are_kept(tmp_path: Path) -> None:
    """The cheapest one; ``make soak RESULT=ID`` does it with any other."""
    assert list(differences("features/lemma5", tmp_path, 1e-6, workers=1)) == []


def test_there_are_results() -> None:
    assert len(KEPT) >= 3


@pytest.mark.parametrize("name", documents(RESULTS))
def test_documents_are_made_from_the_results(name: str) -> None:
    text, parts = (ROOT / name).read_text(encoding="utf-8"), documents(RESULTS)[name]
    assert all(f"<!-- {part} -->" in text for part in parts)
    assert filled(text, parts) == text, f"{name} is out of date with results/: {AGAIN}"


def test_every_picture_belongs_to_a_result_and_all_are_small() -> None:
    pictures = sorted(RESULTS.rglob("*.svg"))
    for picture in pictures:
        document = json.loads(picture.parent.with_name(f"{picture.parent.name}.json").read_text(encoding="utf-8"))
        assert picture.stem in document["figures"]
    sizes = [path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()]
    assert max(sizes) < 400_000
    assert sum(picture.stat().st_size for picture in pictures) < 200_000 * len([*RESULTS.rglob("*.laptop.json")])
