"""``bk results``: what is missing or out of date is made, and the README follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLAIN = """
from pathlib import Path
from dataclasses import dataclass
from beyondkernels.core import load_file
from beyondkernels.lab import Statement, of, scale, setting
from beyondkernels.lab.report.claims import AtMost

user = load_file(Path(USER))

class Mine(user.Plain):
    id = "mine/toy"
"""

CHANGES = {
    "the claim error has changed": """
    def claims(self, settings, /):
        return [Statement("error", "The error is small", of("error", guess="g1"), AtMost(settings.bound), paper=0.25)]
""",
    "the claim more is new": """
    def claims(self, settings, /):
        return [*super().claims(settings), Statement("more", "More", of("error", guess="g1"), AtMost(1.0))]
""",
    "the setting samples is 6, and was 5": """
    scales = {"smoke": scale("paper", samples=6, seeds=2)}
""",
    "the setting seeds is 1, and was 2": """
    scales = {"smoke": scale("paper", samples=5, seeds=1)}
""",
    "the runs it needs are others": """
    def runs(self, settings, /):
        return [user.Runs(lambda s, at: user.spec(s, 0.75, at.seed), {"guess": ["g0", "g1"]}, user.read)]
""",
}


@pytest.fixture
def version(tmp_path: Path, user: Path) -> Callable[..., str]:
    """A file of the same experiment, with something more in its class: a new version of the code."""

    def write(name: str, more: str = "") -> str:
        path = tmp_path / f"{name}_{''.join(filter(str.isalnum, tmp_path.name))}.py"  # files are told apart by name
        path.write_text(PLAIN.replace("USER", repr(str(user))) + more)
        return f"{path}:Mine"

    return write


@pytest.fixture
def results(bk: Any) -> Callable[..., Any]:
    return lambda *words: bk("results", *words, "--scale", "smoke", "--workers", 1, "--out", "results")


def test_what_is_missing_is_made_and_what_is_there_is_left(results: Any, version: Any, tmp_path: Path) -> None:
    name = version("first")
    missing = results(name, "--check")
    assert (missing.exit_code, missing.stdout) == (1, "mine/toy, smoke scale: no result is kept yet\n")
    assert "make results" in missing.stderr
    assert not (tmp_path / "results").exists()
    made = results(name)
    assert made.exit_code == 0, made.output
    path = tmp_path / "results" / "mine" / "toy.smoke.json"
    document = json.loads(path.read_text())
    assert document["claims"][0]["holds"] is True
    assert document["figures"] == ["error"]
    assert (tmp_path / "results" / "mine" / "toy.smoke" / "error.svg").read_text().startswith("<?xml")
    assert document["runs"]["count"] == 4
    assert document["provenance"]["seconds"] > 0  # nothing was stored: this call made all of it
    assert str(tmp_path) not in path.read_text()
    before = path.stat().st_mtime_ns
    assert results(name, "--check").exit_code == 0
    again = results(name)
    assert (again.exit_code, again.stdout) == (0, "mine/toy, smoke scale: up to date\n")
    assert path.stat().st_mtime_ns == before


def test_what_no_longer_belongs_to_the_code_is_said_and_made_again(results: Any, version: Any) -> None:
    assert results(version("first")).exit_code == 0
    for number, (why, change) in enumerate(CHANGES.items()):
        told = results(version(f"change{number}", change), "--check")
        assert (told.exit_code, told.stdout) == (1, f"mine/toy, smoke scale: out of date: {why}\n")
    name = version("change0", CHANGES["the claim error has changed"])
    assert results(name).exit_code == 0
    assert results(name, "--check").exit_code == 0
    assert results(version("first"), "--check").exit_code == 1


def test_stored_runs_serve_and_do_not_claim_to_have_taken_no_time(results: Any, version: Any, tmp_path: Path) -> None:
    name = version("first")
    path = tmp_path / "results" / "mine" / "toy.smoke.json"
    assert results(name).exit_code == 0
    first = json.loads(path.read_text())
    path.unlink()
    again = results(name)
    assert "0 runs to do, 4 stored already" in again.stderr
    second = json.loads(path.read_text())
    assert (second["provenance"].pop("seconds"), first["provenance"].pop("seconds") > 0) == (None, True)
    assert second == first


def test_a_picture_that_is_gone_is_made_again(results: Any, version: Any, tmp_path: Path) -> None:
    name = version("first")
    assert results(name).exit_code == 0
    folder = tmp_path / "results" / "mine" / "toy.smoke"
    (folder / "error.svg").rename(folder / "older.svg")
    assert "its figure error is not there" in results(name, "--check").stdout
    assert results(name).exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["error.svg"]


@pytest.mark.parametrize("text", ["{", "[]", '{"settings": {}}'])
def test_a_file_that_is_no_result_is_out_of_date(results: Any, version: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "results" / "mine" / "toy.smoke.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert "out of date: it cannot be read" in results(version("first"), "--check").stdout


def test_with_runs_missing_nothing_is_kept(results: Any, version: Any, tmp_path: Path) -> None:
    name = version("first", '    scales = {"smoke": scale("paper", samples=5, seeds=2, behaviour="crash")}\n')
    answer = results(name)
    assert answer.exit_code == 3
    assert "not kept: 2 runs missing or crashed" in answer.stderr
    assert not (tmp_path / "results").exists()


def test_documents_beside_the_folder_follow(results: Any, version: Any, tmp_path: Path) -> None:
    readme = tmp_path / "docs" / "results.md"
    readme.parent.mkdir()
    readme.write_text("Before.\n<!-- results -->\nold\n<!-- /results -->\nAfter.\n")
    name = version("first")
    assert results(name).exit_code == 0
    text = readme.read_text()
    assert text.startswith("Before.\n") and text.endswith("\nAfter.\n") and " old " not in text
    assert "| `features/table1` | " in text
    assert results(name, "--check").exit_code == 0
    readme.write_text(text.replace("no result kept yet", "all is well"))
    answer = results(name, "--check")
    assert answer.exit_code == 1
    assert "docs/results.md: out of date" in answer.stdout


def test_an_unknown_name_is_bad_input(results: Any) -> None:
    assert results("features/table9").exit_code == 2


def test_a_folder_that_cannot_be_written_is_bad_input(bk: Any, version: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    answer = bk("results", version("first"), "--scale", "smoke", "--workers", 1, "--out", "taken")
    assert answer.exit_code == 2
    assert "cannot be written: Not a directory; the runs are stored" in answer.stderr


def test_a_crash_in_one_does_not_keep_the_others_from_being_made(results: Any, version: Any, tmp_path: Path) -> None:
    crashes = version("crashes", '    scales = {"smoke": scale("paper", seeds=2, behaviour="crash")}\n')
    other = version("other", '    id = "mine/other"\n')
    assert results(crashes, other).exit_code == 3
    assert sorted(path.name for path in (tmp_path / "results").rglob("*.json")) == ["other.smoke.json"]
