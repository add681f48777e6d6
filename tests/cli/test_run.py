"""``bk run``: exit codes, tables, progress, JSON."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import ask, run
from beyondkernels.store import Store


def test_fine(bk: Any, user: Path, tmp_path: Path) -> None:
    answer = bk("run", f"{user}:Plain", "--scale", "smoke", "--workers", 2, "--json", "out.json", "--check")
    assert answer.exit_code == 0, answer.output
    (result,) = read_json(tmp_path / "out.json")
    undisturbed = run(load_file(user).Plain(), "smoke", store=tmp_path / "other", executor=SerialExecutor())
    assert result["rows"] == undisturbed.as_json()["rows"]
    assert [claim["holds"] for claim in result["claims"]] == [True]
    assert result["provenance"]["seconds"] > 0
    assert Store.open("store").verify() == []
    # the table goes to standard output, a row for each row
    lines = [line.split() for line in answer.stdout.splitlines()]
    assert ["guess", "seed", "status", "error", "bound"] in lines
    assert sum(line[:1] in (["g0"], ["g1"]) for line in lines) == 4
    assert "Its one claim holds" in answer.stdout
    assert "✓ The error is small: " in answer.stdout
    # progress goes to the error stream in plain lines
    first, *progress, last = answer.stderr.splitlines()
    assert first == "user/plain: 4 runs to do, 0 stored already"
    assert [int(line.split("/")[0]) for line in progress] == [1, 2, 3, 4]
    line = r"\d/4 runs(, about \d+ s left|, estimating)?  g\d \d finished in [\d.]+ s"
    assert all(re.fullmatch(line, said) for said in progress)
    assert last == "runs are kept in store; bk report writes pages"
    assert not re.search(r"[\x1b\r]", answer.output)

    again = bk("run", f"{user}:Plain", "--scale", "smoke", "--json", "again.json")
    assert again.stderr.splitlines() == ["user/plain: 0 runs to do, 4 stored already", last]
    assert again.stdout == answer.stdout
    assert read_json(tmp_path / "again.json")[0]["rows"] == result["rows"]


def read_json(path: Path) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert set(document) == {"schema", "results"}
    assert document["schema"] == 1
    for result in document["results"]:
        assert set(result) == {"experiment", "scale", "seeds", "settings", "rows", "claims", "provenance"}
        ours = {"version", "commit", "dirty", "command", "libraries", "cpu", "seconds"}
        assert ours <= set(result["provenance"]) <= ours | {"file", "known_by_code_only"}
    return document["results"]


def test_a_failing_claim_is_an_exit_code_only_under_check(bk: Any, user: Path, store: Path) -> None:
    words = ("run", f"{user}:Plain", "--scale", "smoke", "--store", store, "--set", "bound=-1")
    answer = bk(*words)
    assert answer.exit_code == 0
    assert "user/plain · smoke scale · 2 seeds · bound=-1" in answer.stdout  # a variant says so
    assert "Its one claim fails" in answer.stdout
    assert "✗ The error is small" in answer.stdout
    assert bk(*words, "--check").exit_code == 1
    silent = ("run", f"{user}:Plain", "--scale", "paper", "--set", "samples=5", "--seeds", "2", "--store", store)
    assert bk(*silent, "--check").exit_code == 0


def test_crashed_runs(bk: Any, user: Path, tmp_path: Path) -> None:
    words = ("run", f"{user}:Plain", "--scale", "smoke", "--set", "behaviour=crash")
    answer = bk(*words, "--check", "--json", "out.json", "--workers", 1, "--set", "bound=-1")
    assert answer.exit_code == 3
    assert "g0 1 crashed: ValueError: seed one is unlucky" in answer.stderr
    # the user's lines once, for all runs that crashed there
    *_, missing, _, heading, place, code = answer.stdout.splitlines()
    assert missing == "missing: g0 1, g1 1 (crashed: ValueError: seed one is unlucky)"
    assert heading == "traceback of 2 runs; --debug shows all of it:"
    assert re.fullmatch(r"  user\.py, line \d+, in fit", place)
    assert code.strip() == 'raise ValueError("seed one is unlucky")'
    assert "Traceback" not in answer.output
    (result,) = read_json(tmp_path / "out.json")
    assert [row["seed"] for row in result["rows"]] == [0, 0]
    (claim,) = result["claims"]
    assert (claim["holds"], claim["reason"]) == (None, "2 of 4 runs are missing")
    # what finished is kept: with its fault repaired the rest is a matter of two runs
    fixed = bk(*words, "--dry-run")
    assert "· behaviour=crash: 4 runs; 2 stored already; " in fixed.stdout
    whole = bk(*words, "--workers", 1, "--debug").stdout
    assert whole.count("Traceback (most recent call last)") == 1
    assert "chunk_worker.py" in whole  # the library's frames too


def test_diverged_runs_are_results(bk: Any, user: Path, tmp_path: Path) -> None:
    words = ("run", f"{user}:Plain", "--scale", "smoke", "--set", "behaviour=diverge", "--workers", 1)
    answer = bk(*words, "--json", "out.json")
    assert answer.exit_code == 0
    assert answer.stdout.count("diverged") == 2
    rows = read_json(tmp_path / "out.json")[0]["rows"]
    assert [(row["status"], row["error"] is None) for row in rows] == [("finished", False), ("diverged", True)] * 2
    assert bk("store", "size").stdout.splitlines()[0] == "runs        4 (2 diverged, 2 finished)"


def test_a_full_disk(bk: Any, user: Path) -> None:
    words = ("run", f"{user}:Plain", "--scale", "smoke", "--workers", 1)
    answer = bk(*words, "--set", "behaviour=fill the disk")
    assert answer.exit_code == 2
    assert answer.stdout == ""
    sentence = "the disk is full; free some space and start again, nothing that was stored is lost"
    assert re.fullmatch(rf"bk: cannot write to the store \S+: {sentence}", answer.stderr.splitlines()[-1])
    assert "Traceback" not in answer.stderr
    stored = Store.open("store")
    assert stored.verify() == []
    assert len(stored.keys()) == 1
    assert list(Path("store/tmp").iterdir()) == []


def test_rounds(bk: Any, user: Path) -> None:
    answer = bk("run", f"{user}:Rounds", "--scale", "smoke", "--workers", 2)
    assert answer.exit_code == 0
    plans = [line for line in answer.stderr.splitlines() if "to do" in line]
    rounds = {"": 4, ", round 2": 2, ", round 3": 2}
    assert plans == [f"user/rounds{words}: {n} runs to do, 0 stored already" for words, n in rounds.items()]


def test_dry_run_makes_nothing(bk: Any, user: Path, tmp_path: Path) -> None:
    names = (f"{user}:Plain", "features/table1", "resnet/fig4a")
    answer = bk("run", *names, "--scale", "smoke", "--dry-run", "--workers", 2)
    head, guess = "· smoke scale · 2 seeds:", "that depend on how these come out (a guess: more if a grid must grow)"
    lines = [re.sub("about [^;]*? on one core, .*? on 2", "TIME", line) for line in answer.stdout.splitlines()]
    assert lines == [
        f"user/plain {head} 4 runs; 0 stored already; TIME, a rough guess",
        f"features/table1 {head} 22 runs; 0 stored already; TIME, a rough guess",
        f"resnet/fig4a {head} 23 runs and about 12 more {guess}; 0 stored already; TIME, a rough guess",
    ]
    assert "about 7 min on one core, 3 min on 2" in answer.stdout
    assert list(tmp_path.iterdir()) == []


def test_nothing_runs_unless_everything_is_understood(bk: Any, user: Path, tmp_path: Path) -> None:
    answer = bk("run", f"{user}:Plain", "features/table1", "--scale", "smoke", "--set", "samples=0")
    assert answer.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_store_of_the_environment(bk: Any, user: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BK_STORE", str(store))
    answer = bk("run", f"{user}:Plain", "--scale", "smoke")
    assert answer.stderr.splitlines()[0] == "user/plain: 0 runs to do, 4 stored already"
    assert not Path("store").exists()


def test_json_is_not_lost_to_a_write_that_fails(bk: Any, user: Path, store: Path, monkeypatch: Any) -> None:
    Path("out.json").write_text("the old one")

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("beyondkernels.cli.output.write_atomically", refuse)
    answer = bk("run", f"{user}:Plain", "--scale", "smoke", "--store", store, "--json", "out.json")
    assert answer.exit_code == 2
    assert (
        answer.stderr.splitlines()[-1] == "bk: out.json cannot be written: No space left on device; the runs are stored"
    )
    assert Path("out.json").read_text() == "the old one"


def test_an_error_of_the_users_file_shows_where(bk: Any, user: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        "from beyondkernels.core import load_file\n"
        f"user = load_file({str(user)!r})\n"
        "class Wrong(user.Plain):\n"
        "    def runs(self, settings):\n"
        "        raise KeyError('oh')\n"
    )
    answer = bk("run", "wrong.py:Wrong")
    assert answer.exit_code == 2
    place, code, last = answer.stderr.splitlines()
    assert (place, code.strip()) == ("wrong.py, line 5, in runs", "raise KeyError('oh')")
    assert last == "bk: wrong.py, line 5, in runs: KeyError: 'oh'"


def test_an_internal_error_shows_where(bk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("oh")

    monkeypatch.setattr("beyondkernels.cli.run.run_experiments", broken)
    answer = bk("run", "features/table1")
    assert answer.exit_code == 4
    assert "RuntimeError: oh" in answer.stderr
    assert answer.stderr.splitlines()[-1] == "bk: internal error, please report the lines above"


@pytest.mark.parametrize("where", ["file", "runs", "class"])
def test_an_exit_in_the_users_file_is_no_success(bk: Any, user: Path, tmp_path: Path, where: str) -> None:
    lines = {
        "file": ["import sys", "sys.exit(0)"],
        "runs": ["import sys", "    def runs(self, *_):", "        sys.exit(0)"],
        "class": ["import sys", "    def __init__(self):", "        sys.exit(0)"],
    }[where]
    head = ["from beyondkernels.core import load_file", f"user = load_file({str(user)!r})", lines[0]]
    body = [lines[1]] if where == "file" else ["class Mine(user.Plain):", *lines[1:]]
    (tmp_path / f"exits_{where}.py").write_text("\n".join([*head, *body, ""]))
    answer = bk("run", f"exits_{where}.py:Mine", "--scale", "smoke")
    assert answer.exit_code == 2
    sentence = answer.stderr.splitlines()[-1]
    assert sentence.startswith("bk: ")
    assert "calls sys.exit" in sentence
    assert not Path("store").exists()


def test_the_only_experiment_of_a_file_needs_no_name(bk: Any) -> None:
    own = Path(__file__).parents[2] / "examples" / "own_experiment.py"
    answer = bk("run", own, "--scale", "smoke", "--dry-run")
    assert (answer.exit_code, answer.stdout.split(" · ")[0]) == (0, "own/first"), answer.stderr
    assert ask(str(own), "smoke").command() == "bk run own_experiment.py:Own --scale smoke"
