"""Bad input: one sentence, exit code 2, and nothing in the store has changed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

TABLE1 = ("run", "features/table1")


def check(result: Any, sentence: str) -> None:
    """One line on the error stream, nothing else, and exit code 2."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bk: ")
    assert sentence in line


SETTINGS = {
    "relevant=201": "relevant must not exceed patterns, got 201 relevant of 100 patterns",
    "relevant=0": "relevant must be positive, got 0",
    "patterns=600": "patterns must not exceed dim for an orthonormal dictionary, got 600 patterns in dimension 500",
    "patterns=-3": "patterns must be positive, got -3",
    "background=0.7": "background must lie in (0, 0.5], got 0.7",
    "background=0": "background must lie in (0, 0.5], got 0",
    "samples=0": "samples must be positive, got 0",
    "test_samples=-1": "test_samples must be positive, got -1",
    "test_samples=0": "test_samples must be positive, got 0",
    "relevant=4": "relevant must be odd, got 4",
    "batch=60000": "batch must not exceed samples (50000), got 60000",
    "pairs=-1": "pairs must be positive, got -1",
    "dim=0": "dim must be positive, got 0",
    "batch=0": "batch must be positive, got 0",
    "seeds=0": "seeds must be positive, got 0",
    "steps=0": "steps must be positive, got 0",
    "steps=-1": "steps must be positive, got -1",
    "steps=x": "steps must be a whole number, got 'x'",
    "steps=1.5": "steps must be a whole number, got '1.5'",
    "steps=": "steps must be a whole number, got ''",
    "readout_rate=fast": "readout_rate must be a finite number, got 'fast'",
    "readout_rate=inf": "readout_rate must be a finite number, got 'inf'",
    "readout_rate=0": "readout_rate must be positive, got 0",
    "nonsense=1": "unknown setting 'nonsense', known: ",
    "step=1": "unknown setting 'step', did you mean steps",
    "steps": "--set takes key=value, got 'steps'",
    "=3": "--set takes key=value, got '=3'",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings(bk: Any, store: Path, contents: Any, setting: str) -> None:
    before = contents(store)
    check(bk(*TABLE1, "--store", store, "--set", setting), SETTINGS[setting])
    assert contents(store) == before
    check(bk(*TABLE1, "--store", "new", "--set", setting), SETTINGS[setting])
    check(bk(*TABLE1, "--store", "new", "--set", setting, "--dry-run"), SETTINGS[setting])
    assert not Path("new").exists()


def test_an_empty_set_of_counts(bk: Any, tmp_path: Path, user: Path) -> None:
    (tmp_path / "empty.py").write_text(
        "import beyondkernels as bk\n"
        "from beyondkernels.core import load_file\n"
        "from beyondkernels.store import RunSpec\n"
        f"user = load_file({str(user)!r})\n"
        "class Empty(user.Plain):\n"
        "    def runs(self, settings):\n"
        "        p = bk.features\n"
        "        hidden = p.StructuredMixture()\n"
        "        problem = p.DictionaryProblem(dim=9, patterns=6, relevant=3, labels=p.Counts(()), hidden=hidden)\n"
        "        return {('x', 0): RunSpec(problem, user.Guess(), 5, 5, 0)}\n"
    )
    check(bk("run", "empty.py:Empty", "--store", "new"), "at least one")
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run",), "no experiment is named; bk list shows them"),
        (("run", "table1"), "unknown experiment 'table1', did you mean features/table1"),
        (("run", "Features/Table1"), "unknown experiment 'Features/Table1', did you mean features/table1"),
        (("run", "features/table1", "zzz"), "unknown experiment 'zzz', bk list lists all"),
        (("run", "none.py:X"), "no file none.py"),
        ((*TABLE1, "--scale", "labtop"), "unknown scale 'labtop', did you mean laptop"),
        ((*TABLE1, "--scale", ""), "unknown scale ''"),
        ((*TABLE1, "--scale"), "'--scale' requires an argument"),
        ((*TABLE1, "--seeds", "0"), "seeds must be positive, got 0"),
        ((*TABLE1, "--seeds", "-2"), "seeds must be positive, got -2"),
        ((*TABLE1, "--seeds", "x"), "--seeds must be a whole number, got 'x'"),
        ((*TABLE1, "--workers", "0"), "workers must be a positive whole number, got 0"),
        ((*TABLE1, "--workers", "-1"), "workers must be a positive whole number, got -1"),
        ((*TABLE1, "--workers", "all"), "--workers must be a whole number, got 'all'"),
        ((*TABLE1, "--frobnicate"), "no such option: --frobnicate; bk run --help tells more"),
        ((*TABLE1, "--json", "missing/x.json"), "--json cannot write missing/x.json: its directory does not exist"),
        ((*TABLE1, "--json", "."), "--json takes a file, . is a directory"),
        ((*TABLE1, "--store", ""), "the store must be a directory, got an empty name"),
        (("stroe",), "no such command 'stroe'. Did you mean 'store'?"),
        (("store", "verfy"), "no such command 'verfy'. Did you mean 'verify'?"),
        (("features/table1",), "no such command 'features/table1'; bk run features/table1 runs that experiment"),
        (("features/table9",), "no such command 'features/table9'; bk --help tells more"),
        ((*TABLE1, "smoke"), "smoke is a scale, not an experiment; say --scale smoke"),
        (("show",), "no experiment or run is named"),
        (("show", "features/tabel1"), "unknown experiment 'features/tabel1', did you mean features/table1"),
        (("show", "deadbeef"), "there is no store at store yet; bk run makes one, --store DIR names another"),
        (("report",), "there is no store at store yet; bk run makes one"),
        (("store", "size"), "there is no store at store yet; bk run makes one"),
        (("store", "verify", "--store", "x"), "there is no store at x yet"),
    ],
)
def test_words(bk: Any, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    check(bk(*words), sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"scale = [", "config.toml is not a TOML file: "),
        (b"\xff\xfe", "config.toml is not a TOML file: "),
        (b"scael = 'smoke'", "unknown key in config.toml 'scael', did you mean scale?"),
        (b"seeds = '3'", "seeds in config.toml must be a whole number, got '3'"),
        (b"workers = true", "workers in config.toml must be a whole number, got True"),
        (b"scale = 3", "scale in config.toml must be a word, got 3"),
        (b"scale = 'huge'", "unknown scale 'huge'"),
        (b"settings = 3", "settings in config.toml must be a table, got 3"),
        (b"[settings]\nsteps = 'x'", "steps must be a whole number, got 'x'"),
        (b"[settings]\nsteps = inf", "steps must be a whole number, got inf"),
        (b"[settings]\nsteps = [3]", "steps must be a whole number, got [3]"),
        (b"[settings]\nnonsense = 1", "unknown setting 'nonsense'"),
        (b"[settings]\nrelevant = 201", "relevant must not exceed patterns, got 201 relevant of 100 patterns"),
        (b"seeds = -1", "seeds must be positive, got -1"),
        (b"store = ''", "the store must be a directory, got an empty name"),
    ],
)
def test_configuration_files(bk: Any, tmp_path: Path, text: bytes, sentence: str) -> None:
    (tmp_path / "config.toml").write_bytes(text)
    check(bk(*TABLE1, "--config", "config.toml"), sentence)
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_a_configuration_file_that_is_not_there(bk: Any) -> None:
    check(bk(*TABLE1, "--config", "none.toml"), "none.toml cannot be read: No such file or directory")


def test_the_last_word_is_the_command_lines(bk: Any, tmp_path: Path, user: Path) -> None:
    (tmp_path / "c.toml").write_text(
        "scale = 'smoke'\nseeds = 3\nstore = 'kept'\n[settings]\nbound = -5\nsamples = 6\n"
    )
    answer = bk("run", f"{user}:Plain", "--config", "c.toml", "--dry-run", "--workers", 1)
    what = "user/plain · smoke scale · 3 seeds · samples=6 · bound=-5.0: 6 runs; 0 stored already"
    assert answer.stdout == f"{what}; about 10 min on one core, a rough guess\n"
    answer = bk("run", f"{user}:Plain", "--config", "c.toml", "--dry-run", "--seeds", "1", "--set", "samples=7")
    assert "· 1 seed · samples=7 · bound=-5.0: 2 runs;" in answer.stdout
    check(bk("run", f"{user}:Plain", "--config", "c.toml", "--set", "samples=0"), "samples must be at least 1, got 0")


COMMANDS = (
    (*TABLE1, "--scale", "smoke"),
    (*TABLE1, "--scale", "smoke", "--dry-run"),
    ("report",),
    ("show", "features/table1"),
    ("show", "abcd"),
    ("store", "verify"),
    ("store", "size"),
)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("file", "file is a file, a store is a directory"),
        ("strangers", "strangers is not a store (no store.json in it); choose an empty or a new directory"),
        ("newer", "the store newer has format 99, made by version 9.9; this is version "),
        ("damaged", "store.json is damaged"),
    ],
)
def test_stores_that_are_none(bk: Any, tmp_path: Path, contents: Any, name: str, sentence: str) -> None:
    (tmp_path / "file").write_text("precious")
    for folder, file, text in (
        ("strangers", "thesis.txt", "precious"),
        ("newer", "store.json", '{"format": 99, "made_by": "9.9"}'),
        ("damaged", "store.json", "{"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    before = contents(tmp_path)
    for command in COMMANDS:
        check(bk(*command, "--store", name), sentence)
    assert contents(tmp_path) == before


def test_a_store_below_a_file(bk: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    check(bk(*TABLE1, "--scale", "smoke", "--store", "file/store"), "cannot make the store file/store: not a directory")


def test_a_read_only_store(bk: Any, store: Path, user: Path, contents: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(store)
    for path in (store, *store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.access(store / "tmp", os.W_OK):  # nothing is read-only for the administrator

        def refuse(path: Path, *_: Any, **__: Any) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

        monkeypatch.setattr(Path, "touch", refuse)
    run = ("run", f"{user}:Plain", "--scale", "smoke", "--store", store)
    check(bk(*run), "it is read-only or not yours; choose another place with --store")
    assert bk(*run, "--dry-run").stdout.endswith("4 runs; 4 stored already; nothing left to do\n")
    assert bk("report", f"{user}:Plain", "--store", store).exit_code == 0
    assert contents(store) == before
    for path in (store, *store.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_what_a_report_is_asked(bk: Any, store: Path, tmp_path: Path) -> None:
    check(bk("report", "user/plane", "--store", store), "unknown experiment in this store 'user/plane', did you mean")
    (tmp_path / "file").write_text("precious")
    check(bk("report", "features/table1", "--store", store), "unknown experiment in this store 'features/table1'")


def test_which_run_is_shown(bk: Any, store: Path) -> None:
    check(bk("show", "0123abcd", "--store", store), "no run in this store begins with '0123abcd'; bk show EXPERIMENT")
