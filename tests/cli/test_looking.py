"""``bk list``, ``bk show``, ``bk report``, ``bk store``, ``bk doctor``, ``bk --help``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beyondkernels
from beyondkernels.core import Saved
from beyondkernels.experiments import CATALOGUE, SCALES, find, run
from beyondkernels.runs import SerialExecutor, Store


def test_nothing_that_only_looks_imports_torch(store: Path, user: Path) -> None:
    key = next(path.name for path in store.glob("runs/*/*"))
    program = f"""
import sys
from beyondkernels.cli import app
for words in (["--help"], ["run", "--help"], ["list"], ["list", "--json"], ["show", "features/table1"],
              ["show", "features/table1-strong", "--store", {str(store)!r}],
              ["show", {key!r}, "--store", {str(store)!r}], ["store", "size", "--store", {str(store)!r}],
              ["run", "nothing"], ["run", "features/table1", "--set", "x=1"]):
    app(words, standalone_mode=False)
    assert "torch" not in sys.modules, words
print("none of them")
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.splitlines()[-1] == "none of them"


def test_help(bk: Any) -> None:
    for words in ((), ("--help",)):
        answer = bk(*words)
        assert (answer.exit_code, answer.stderr) == (0, "")
        for command in ("list", "run", "report", "show", "doctor", "store"):
            assert re.search(rf"^  {command} ", answer.stdout, re.MULTILINE)
        assert "bk run features/table1 --scale smoke" in answer.stdout
        assert "..." not in answer.stdout.split("Commands:")[1]  # no sentence is cut off
    options = bk("run", "--help").stdout
    for option in ("--scale", "--seeds", "--set", "--config", "--workers", "--store", "--json", "--check", "--dry-run"):
        assert f"  {option} " in options
    assert bk("store").stdout == bk("store", "--help").stdout
    assert bk("--version").stdout == f"bk {beyondkernels.__version__}\n"


def test_python_dash_m_and_a_reader_who_leaves() -> None:
    command = [sys.executable, "-m", "beyondkernels", "show", "features/table1"]
    answer = subprocess.run(
        command, capture_output=True, check=True, timeout=120, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert answer.stdout.startswith(b"features/table1: ")  # and no letter that ASCII lacks is an error
    assert answer.stderr == b""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        gone = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=120, check=False)
    assert (gone.returncode, gone.stderr) == (0, b"")


def test_list(bk: Any) -> None:
    answer = bk("list")
    assert (answer.exit_code, answer.stderr) == (0, "")
    for name in CATALOGUE:
        assert name in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80
    listed = json.loads(bk("list", "--json").stdout)
    assert listed["schema"] == 1
    assert [entry["id"] for entry in listed["experiments"]] == list(CATALOGUE)
    assert all(set(entry) == {"id", "title", "paper", "where", "scales"} for entry in listed["experiments"])
    assert all(entry["scales"] == list(SCALES) for entry in listed["experiments"])


def test_show_an_experiment(bk: Any, user: Path, store: Path) -> None:
    answer = bk("show", "features/table1")
    assert (answer.exit_code, answer.stderr) == (0, "")
    for words in ("Table 1", "readout_rate", "ours", "two-layer network", "at least 99.5 %"):
        assert words in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80
    assert "Runs of" not in answer.stdout
    shown = bk("show", f"{user}:Plain", "--store", store).stdout
    assert "✓ The error is small" in shown
    assert "Runs of the latest request (smoke scale, 2 seeds; bk show KEY tells more)" in shown
    keys = re.findall(r"^guess g\d +(\w{8}) (\w{8}) *$", shown, re.MULTILINE)
    assert len({key for pair in keys for key in pair}) == 4
    for key in keys[0]:
        assert bk("show", key, "--store", store).stdout.startswith(f"run {key}")


@pytest.mark.parametrize("name", CATALOGUE)
def test_show_names_every_setting_whatever_its_values(bk: Any, store: Path, name: str) -> None:
    shown = bk("show", name, "--store", store).stdout
    names = [line.split()[0] for line in shown.splitlines() if line and not line.startswith(" ")]
    assert {field.name for field in fields(find(name).settings("paper"))} <= set(names)


@pytest.fixture(scope="module")
def table1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a small Table 1, to look at only."""
    settings = {"steps": 5, "samples": 300, "batch": 100, "test_samples": 100}
    path = tmp_path_factory.mktemp("table1") / "store"
    assert not run(
        "features/table1", "smoke", seeds=1, settings=settings, store=path, executor=SerialExecutor()
    ).missing
    return path


def test_show_a_run(bk: Any, user: Path, store: Path) -> None:
    key = json.loads(next(store.glob("runs/*/*/done.json")).read_text())["key"]
    shown = bk("show", key[:10], "--store", store)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"run {key}: finished\npart of       user/plain at smoke scale (guess g")
    for words in ("Slope(slope=1.5)", "Guess(", "5 to train on, 50 to test on, seed ", "Scalars\nbound", "error"):
        assert words in shown.stdout


def test_show_a_run_of_table1(bk: Any, table1: Path) -> None:
    opened = Store.open(table1, read_only=True)
    network = opened.read(opened.requests()[0]["runs"][0]["key"])
    shown = bk("show", network.key, "--store", table1).stdout
    assert "part of       features/table1 at smoke scale (Network 0)\n" in shown
    assert "DictionaryProblem(" in shown
    assert f"test_accuracy               {network.outcome.scalars['test_accuracy']:.6g}\n" in shown
    assert "directions/points           3×34×2 numbers" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_report(bk: Any, table1: Path) -> None:
    answer = bk("report", "--store", table1, "--out", "pages")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "report: pages/index.html\n", "")
    page = Path("pages/features__table1.html").read_text(encoding="utf-8")
    assert "bk run features/table1 --scale smoke --seeds 1 --set samples=300 --set steps=5" in page
    assert str(table1.parent) not in page
    assert sorted(path.name for path in Path("pages/features__table1").glob("*.svg")) == [
        "accuracy.narrow.svg", "accuracy.svg", "cosines.narrow.svg", "cosines.svg",
        "directions.narrow.svg", "directions.svg", "table.narrow.svg", "table.svg",
    ]  # fmt: skip
    assert bk("report", "features/table1", "--store", table1).exit_code == 0
    assert Path("report/index.html").exists()


def test_report_of_an_experiment_given_as_an_object(bk: Any, user: Path, store: Path) -> None:
    answer = bk("report", "--store", store)
    assert (answer.exit_code, answer.stdout) == (3, "")  # nobody knows where its file is
    assert answer.stderr.startswith("bk: user/plain at smoke scale is left out: unknown experiment 'user/plain'")
    named = bk("report", f"{user}:Plain", "--store", store, "--out", "named")
    assert (named.exit_code, named.stderr) == (0, "")
    assert Path("named/user__plain.html").exists()


def test_report_of_a_users_file(bk: Any, user: Path, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    shutil.copy(user, tmp_path / "below" / "mine.py")
    assert bk("run", "below/mine.py:Plain", "--scale", "smoke", "--seeds", 1, "--workers", 1).exit_code == 0
    assert bk("report").exit_code == 0  # found again where it was
    assert "bk run mine.py:Plain --scale smoke" in Path("report/user__plain.html").read_text()
    (tmp_path / "below" / "mine.py").rename(tmp_path / "mine.py")
    lost = bk("report")
    assert lost.exit_code == 3
    assert lost.stderr == "bk: user/plain at smoke scale is left out: no file below/mine.py\n"
    assert bk("report", "mine.py:Plain").exit_code == 0


def test_report_of_runs_that_are_gone(bk: Any, user: Path, store: Path) -> None:
    shutil.rmtree(next(store.glob("runs/*/*")))
    answer = bk("report", f"{user}:Plain", "--store", store)
    assert answer.exit_code == 3
    assert answer.stderr == "user/plain: 1 run missing\n"
    assert "Missing runs: 1 (not in the store)" in Path("report/user__plain.html").read_text()


def test_store(bk: Any, user: Path, store: Path) -> None:
    at = ("--store", store)
    assert bk("store", "verify", *at).stdout == "4 runs, 0 damaged\n"
    size = bk("store", "size", *at).stdout.splitlines()
    assert size[0] == "runs        4 (4 finished)"
    assert [line.split()[0] for line in size] == ["runs", "disk", "work", "requests", "quarantine", "checkpoints"]
    (store / "index.sqlite").unlink(missing_ok=True)
    assert bk("store", "rebuild", *at).stdout == "4 runs in the index\n"
    assert (store / "index.sqlite").exists()

    file = next(store.glob("runs/*/*/arrays.npz"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    answer = bk("store", "verify", *at)
    assert answer.exit_code == 3
    key = file.parent.name
    assert answer.stdout.splitlines() == [
        f"{key}: arrays.npz does not have its checksum",
        "4 runs, 1 damaged; the next bk run puts them aside and does them again",
    ]
    again = bk("run", f"{user}:Plain", "--scale", "smoke", "--workers", 1, *at)
    assert again.stderr.splitlines()[0] == "user/plain: 1 run to do, 3 stored already"
    assert again.exit_code == 0
    assert bk("store", "verify", *at).stdout == "4 runs, 0 damaged\n"
    assert "1 damaged runs put aside" in bk("store", "size", *at).stdout


def test_store_knows_checkpoints(bk: Any, store: Path) -> None:
    at, opened = ("--store", store), Store.open(store)
    for key in ("0" * 32, "1" * 32, opened.keys()[0]):
        opened.checkpoints.write(key, Saved({}, {"w": np.zeros(2**17)}), {}, 1.0)
    assert bk("store", "verify", *at).stdout == "4 runs, 3 checkpoints, 0 damaged\n"
    lines = bk("store", "size", *at).stdout.splitlines()
    assert lines[-1] == "checkpoints 3 of runs that are not over, 3.0 MiB"
    file = store / "checkpoints" / f"{'1' * 32}.state"
    file.write_bytes(file.read_bytes()[:-1])
    answer = bk("store", "verify", *at)
    assert answer.exit_code == 3
    assert answer.stdout.splitlines()[0] == f"checkpoints/{'1' * 32}: {'1' * 32}.state does not have its checksum"
    assert bk("store", "prune", *at).stdout == "2 checkpoints removed, 1 left\n"
    assert bk("store", "verify", *at).stdout == "4 runs, 1 checkpoints, 0 damaged\n"
    bad = bk("store", "prune", "--days", "soon", *at)
    assert bad.exit_code == 2
    assert "--days" in bad.stderr
    assert bk("store", "prune", "--days", -1, *at).exit_code == 2
    assert bk("store", "prune", "--days", 0, *at).stdout == "1 checkpoints removed, 0 left\n"


def test_one_broken_experiment_costs_no_other_page(bk: Any, user: Path, tmp_path: Path) -> None:
    start = f"from beyondkernels.core import load_file\nuser = load_file({str(user)!r})\nclass Mine(user.Plain):\n"
    (tmp_path / "breaks.py").write_text(start + "    id = 'mine/breaks'\n")
    assert bk("run", "breaks.py:Mine", "--scale", "smoke", "--workers", "1").exit_code == 0
    assert bk("run", f"{user}:Plain", "--scale", "smoke", "--workers", "1").exit_code == 0
    (tmp_path / "breaks.py").write_text(
        start + "    id = 'mine/breaks'\n    def rows(self, *_):\n        return 1 / 0\n"
    )
    answer = bk("report", "mine/breaks", f"{user}:Plain")
    assert answer.exit_code == 3
    assert "mine/breaks at smoke scale is left out: breaks.py, line 6, in rows: ZeroDivisionError" in answer.stderr
    assert (tmp_path / "report" / "user__plain.html").exists()
