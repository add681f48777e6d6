"""``bk list``, ``bk show``, ``bk report``, ``bk store``, ``bk doctor``, ``bk --help``."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beyondkernels
from beyondkernels.core import Saved, load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import CATALOGUE, SCALES, find, run
from beyondkernels.lab.report.file_names import file_names
from beyondkernels.store import Store


def test_help(bk: Any) -> None:
    for words in ((), ("--help",)):
        answer = bk(*words)
        assert (answer.exit_code, answer.stderr) == (0, "")
        for command in ("list", "demo", "run", "report", "show", "doctor", "store"):
            assert re.search(rf"^  {command} ", answer.stdout, re.MULTILINE)
        assert "Begin with: bk demo" in answer.stdout
        assert "..." not in answer.stdout.split("Commands:")[1]  # no sentence is cut off
        assert bk("-h").stdout == bk("help").stdout == answer.stdout
    options = bk("run", "-h").stdout
    for option in ("--scale", "--seeds", "--set", "--config", "--workers", "--store", "--json", "--check", "--dry-run"):
        assert f"  {option} " in options
    assert bk("store").stdout == bk("store", "-h").stdout
    assert "..." not in bk("store").stdout.split("Commands:")[1]
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
    assert all(set(entry) == {"id", "title", "paper", "where", "scales", "results"} for entry in listed["experiments"])
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
    assert "Runs of the latest request (smoke scale, 2 seeds; --keys lists their keys)" in shown
    assert re.findall(r"^(g\d) +(\d) runs *$", shown, re.MULTILINE) == [("g0", "2"), ("g1", "2")]
    shown = bk("show", f"{user}:Plain", "--store", store, "--keys").stdout
    assert "Runs of the latest request (smoke scale, 2 seeds; bk show KEY tells more)" in shown
    keys = re.findall(r"^g\d +(\w{8}) (\w{8}) *$", shown, re.MULTILINE)
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
    assert shown.stdout.startswith(f"run {key}: finished\npart of       user/plain at smoke scale (g")
    for words in ("Slope(slope=1.5)", "Guess(", "5 to train on, 50 to test on, seed ", "Scalars\nbound", "error"):
        assert words in shown.stdout


def test_report(bk: Any, table1: Path) -> None:
    answer = bk("report", "--store", table1, "--out", "pages")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "report: pages/index.html\n", "")
    page = Path("pages/features__table1.html").read_text(encoding="utf-8")
    command = re.search(r"bk run features/table1 --scale smoke --seeds 1( --set \w+=\d+)+", page)
    assert command is not None and {"samples=300", "steps=5"} <= set(command[0].split())
    assert str(table1.parent) not in page
    assert sorted(path.name for path in Path("pages").glob("features__table1.smoke.*/*.svg")) == [
        "accuracy.narrow.svg", "accuracy.svg", "cosines.narrow.svg", "cosines.svg",
        "directions.narrow.svg", "directions.svg", "table.narrow.svg", "table.svg",
    ]  # fmt: skip
    assert bk("report", "features/table1", "--store", table1).exit_code == 0
    assert Path("report/index.html").exists()


def test_report_of_an_experiment_given_as_an_object(bk: Any, user: Path, store: Path) -> None:
    answer = bk("report", "--store", store)
    assert (answer.exit_code, answer.stdout) == (0, "report: report/index.html\n")
    assert answer.stderr == (
        "user/plain at smoke scale is shown as stored. "
        "bk report FILE.py:NAME, with the file that defines the experiment, makes the full page.\n"
    )
    page = Path("report/user__plain.html").read_text()
    for words in ("The error is small", "g1 0", "finished", "bk report FILE.py:NAME"):  # claims and runs as stored
        assert words in page
    assert not list(Path("report").glob("*/*.svg"))
    named = bk("report", f"{user}:Plain", "--store", store, "--out", "named")
    assert (named.exit_code, named.stderr) == (0, "")
    assert list(Path("named").glob("user__plain.smoke/*.svg"))


def test_report_loads_no_file_that_was_not_named(bk: Any, user: Path, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    mine = tmp_path / "below" / "mine.py"
    shutil.copy(user, mine)
    assert bk("run", "below/mine.py:Plain", "--scale", "smoke", "--seeds", 1, "--workers", 1).exit_code == 0
    mine.write_text(mine.read_text() + f"\nimport pathlib\npathlib.Path({str(tmp_path)!r}, 'ran').touch()\n")
    for words in (("report",), ("report", "user/plain"), ("store", "verify"), ("store", "size")):
        assert bk(*words).exit_code == 0
        assert not (tmp_path / "ran").exists()
    assert bk("report", "below/mine.py:Plain", "--out", "named").exit_code == 0
    assert (tmp_path / "ran").exists()
    assert "bk run mine.py:Plain --scale smoke" in Path("named/user__plain.html").read_text()


@pytest.mark.parametrize("experiment", ["features/table1", "evil1.py:Evil", "features/evil2.py"])
def test_no_field_of_a_request_gets_a_file_loaded(bk: Any, store: Path, tmp_path: Path, experiment: str) -> None:
    (tmp_path / "features").mkdir()
    for name in ("evil0.py", "evil1.py", "features/evil2.py"):
        (tmp_path / name).write_text(f"from pathlib import Path\nPath({str(tmp_path)!r}, 'ran').touch()\n")
    opened = Store.open(store)
    name = experiment if ".py" in experiment else "evil0.py:Evil"
    opened.write_request(experiment, {**opened.requests()[0], "experiment": experiment, "name": name})
    bk("report", "--store", store)
    assert bk("store", "verify", "--store", store).exit_code == 0
    assert not (tmp_path / "ran").exists()


def test_report_of_runs_that_are_gone(bk: Any, user: Path, store: Path) -> None:
    shutil.rmtree(next(store.glob("runs/*/*")))
    answer = bk("report", f"{user}:Plain", "--store", store)
    assert answer.exit_code == 3
    assert answer.stderr == "user/plain: 1 run missing\n"
    page = Path("report/user__plain.html").read_text()
    assert "Unfinished: 1 run is missing" in page
    assert page.count("bk run") >= 2  # the banner says how to go on


def test_store(bk: Any, user: Path, store: Path) -> None:
    at = ("--store", store)
    assert bk("store", "verify", *at).stdout == "4 runs, 0 damaged\n"
    size = bk("store", "size", *at).stdout.splitlines()
    assert size[0] == "runs        4 (4 finished)"
    assert [line.split()[0] for line in size] == ["runs", "disk", "work", "requests", "quarantine", "checkpoints"]

    file = next(store.glob("runs/*/*/arrays.npz"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    answer = bk("store", "verify", *at)
    assert answer.exit_code == 3
    key = file.parent.name
    assert answer.stdout.splitlines() == [
        f"{key}: arrays.npz does not have its checksum",
        "4 runs, 1 damaged; bk store verify --put-aside moves them into the quarantine, bk run makes them again",
    ]
    again = bk("run", f"{user}:Plain", "--scale", "smoke", "--workers", 1, *at)
    assert again.stderr.splitlines()[0] == "user/plain: 1 run to do, 3 stored already"
    assert again.exit_code == 0
    assert bk("store", "verify", *at).stdout == "4 runs, 0 damaged\n"
    assert "1 damaged and put aside" in bk("store", "size", *at).stdout
    listed = bk("store", "quarantine", *at).stdout.splitlines()
    assert listed[0].startswith(f"{key}-1  0.0 MiB  2")
    assert listed[1] == "1 thing in the quarantine; bk store quarantine --empty removes them for good"
    assert bk("store", "quarantine", "--empty", *at).stdout == "1 thing removed from the quarantine\n"
    assert bk("store", "quarantine", *at).stdout == "0 things in the quarantine\n"


def test_damage_is_put_aside_on_request(bk: Any, store: Path) -> None:
    at = ("--store", store)
    run, request = next(store.glob("runs/*/*")), next(store.glob("requests/*/*.json"))
    (run / "result.json").write_bytes(b"{}")
    request.write_bytes(b"[" * 100_000)
    (store / "runs" / "odd\x1b[2J").touch()
    answer = bk("store", "verify", *at)
    assert answer.exit_code == 3
    assert "\x1b" not in answer.stdout
    assert answer.stdout.splitlines()[-1].startswith("4 runs, 3 damaged; bk store verify --put-aside moves them")
    moved = bk("store", "verify", "--put-aside", *at)
    assert (moved.exit_code, moved.stdout.splitlines()[-1]) == (0, "3 runs, 3 damaged, 3 put aside")
    assert bk("store", "verify", *at).stdout == "3 runs, 0 damaged\n"
    assert len(list((store / "quarantine").iterdir())) == 3


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
    assert bk("store", "verify", *at).stdout == "4 runs, 1 checkpoint, 0 damaged\n"
    bad = bk("store", "prune", "--days", "soon", *at)
    assert bad.exit_code == 2
    assert "--days" in bad.stderr
    assert bk("store", "prune", "--days", -1, *at).exit_code == 2
    assert bk("store", "prune", "--days", 0, *at).stdout == "1 checkpoint removed, 0 left\n"


def test_one_broken_experiment_costs_no_other_page(bk: Any, user: Path, tmp_path: Path) -> None:
    start = f"from beyondkernels.core import load_file\nuser = load_file({str(user)!r})\nclass Mine(user.Plain):\n"
    (tmp_path / "breaks.py").write_text(start + "    id = 'mine/breaks'\n")
    assert bk("run", "breaks.py:Mine", "--scale", "smoke", "--workers", "1").exit_code == 0
    assert bk("run", f"{user}:Plain", "--scale", "smoke", "--workers", "1").exit_code == 0
    (tmp_path / "breaks.py").write_text(
        start + "    id = 'mine/breaks'\n    def runs(self, *_):\n        return 1 / 0\n"
    )
    answer = bk("report", "breaks.py:Mine", f"{user}:Plain")
    assert answer.exit_code == 3
    assert "mine/breaks at smoke scale is left out: breaks.py, line 6, in runs: ZeroDivisionError" in answer.stderr
    assert (tmp_path / "report" / "user__plain.html").exists()


def test_odd_arrays_of_a_foreign_run_cost_no_other_page(bk: Any, user: Path, tmp_path: Path) -> None:
    path, experiment = tmp_path / "store", load_file(user).Plain()
    result = run(experiment, "smoke", store=path, executor=SerialExecutor())
    run(experiment, "smoke", settings={"samples": 6}, store=path, executor=SerialExecutor())
    for one in result.finished.values():
        odd = replace(one.outcome, series={"step": np.zeros((3, 2)), "error": np.zeros((3, 2, 2))})
        shutil.rmtree(next(path.glob(f"runs/*/{one.key}")))
        Store.open(path).write(one.key, one.description, odd, one.provenance)
    answer = bk("report", f"{user}:Plain")
    assert answer.exit_code == 3
    assert "bk: user/plain at smoke scale is left out: " in answer.stderr
    assert len(list((tmp_path / "report").glob("user__plain.*.html"))) == 1


def test_a_page_that_cannot_be_drawn_costs_no_other_page(
    bk: Any, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for settings in ({}, {"samples": 6}):
        run(load_file(user).Plain(), "smoke", settings=settings, store=tmp_path / "store", executor=SerialExecutor())

    def drawn(pages: Any, *_: Any) -> None:
        assert not any(page.variant for page in pages), "this cannot be drawn"

    monkeypatch.setattr("beyondkernels.lab.report.site.file_names", lambda pages: drawn(pages) or file_names(pages))
    monkeypatch.setattr("beyondkernels.cli.report.require_shown", lambda page: drawn([page]))
    answer = bk("report", f"{user}:Plain")
    assert answer.exit_code == 3
    assert "left out: its stored numbers cannot be shown (AssertionError: this cannot be drawn" in answer.stderr
    assert len(list((tmp_path / "report").glob("user__plain.*.html"))) == 1


def test_a_part_of_the_list(bk: Any) -> None:
    def listed(*words: str) -> list[str]:
        return [one["id"] for one in json.loads(bk("list", *words, "--json").stdout)["experiments"]]

    every = listed()
    assert listed("features") == [name for name in every if name.startswith("features/")]
    assert listed("table1") == [name for name in every if "table1" in name]
    assert bk("list", "nothing of the kind").exit_code == 2


def test_show_as_json(bk: Any, user: Path, store: Path) -> None:
    shown = json.loads(bk("show", f"{user}:Plain", "--json", "--store", store).stdout)
    assert (shown["id"], [claim["id"] for claim in shown["claims"]]) == ("user/plain", ["error"])
    assert {one["name"]: one["values"]["smoke"] for one in shown["settings"]}["samples"] == 5
    (request,) = shown["requests"]
    key = request["runs"][0]["key"]
    one = json.loads(bk("show", key, "--json", "--store", store).stdout)
    stored = Store.open(store, read_only=True).read(key)
    assert (one["key"], one["scalars"]["error"]) == (key, stored.outcome.scalars["error"])
    assert one["scalars"]["bound"] is None  # infinite
    assert one["part_of"] == ["user/plain at smoke scale (g0 0)"]


def test_runs_of_a_store(bk: Any, store: Path) -> None:
    def keys(*words: Any) -> set[str]:
        return {one["key"] for one in json.loads(bk("store", "ls", *words, "--json", "--store", store).stdout)["runs"]}

    opened = Store.open(store)
    every = {key: opened.read(key).description["fields"]["seed"] for key in opened.keys()}  # noqa: SIM118
    assert keys() == set(every)
    assert keys("--seeds", "1..1") == {key for key, seed in every.items() if seed == 1} != set(every)
    assert keys("--learner", "guess", "--problem", "slope", "--status", "finished") == set(every)
    assert keys("--learner", "ridge") == keys("--status", "diverged") == set()
    assert keys("--experiment", "user/plain") == set(every)
    lines = bk("store", "ls", "--store", store).stdout.splitlines()
    assert lines[0].split() == ["key", "learner", "problem", "seed", "status", "size", "age"]
    assert {line.split()[0] for line in lines[2:6]} == {key[:8] for key in every}
    for wrong in (("--status", "fine"), ("--seeds", "x"), ("--experiment", "user/other")):
        assert bk("store", "ls", *wrong, "--store", store).exit_code == 2


def test_nothing_that_only_looks_imports_torch(store: Path) -> None:
    """Nor anything else that takes long to load, where nothing is stored."""
    key = next(path.name for path in store.glob("runs/*/*"))
    program = f"""
import sys
from beyondkernels.cli.app import app
for words in (["--help"], ["run", "-h"], ["list"], ["list", "--json"], ["show", "resnet/fig2a"]):
    app(words, standalone_mode=False)
    assert not {{"torch", "pandas", "numpy", "scipy", "matplotlib"}} & set(sys.modules), words
for words in (["show", {key!r}, "--store", {str(store)!r}], ["store", "size", "--store", {str(store)!r}],
              ["run", "features/table1", "--set", "x=1"]):
    app(words, standalone_mode=False)
    assert "torch" not in sys.modules, words
print("none of them")
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.splitlines()[-1] == "none of them"
