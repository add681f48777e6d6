"""Bad input: one sentence, exit code 2, and nothing in the store has changed."""

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
    "background=0.7": "background must lie in (0, 0.5], got 0.7",
    "relevant=4": "relevant must be odd, got 4",
    "batch=60000": "batch must not exceed samples (50000), got 60000",
    "seeds=0": "seeds must be positive, got 0",
    "steps=x": "steps must be a whole number, got 'x'",
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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run",), "no experiment is named; bk list shows them"),
        (("run", "table1"), "unknown experiment 'table1', did you mean features/table1"),
        ((*TABLE1, "--scale", "labtop"), "unknown scale 'labtop', did you mean laptop"),
        ((*TABLE1, "--scale"), "'--scale' requires an argument"),
        ((*TABLE1, "--seeds", "x"), "--seeds must be a whole number, got 'x'"),
        ((*TABLE1, "--workers", "0"), "workers must be a positive whole number, got 0"),
        ((*TABLE1, "--dry-run", "--device", "CUDA 0"), "such as 'cpu' or 'cuda:0', got 'CUDA 0'"),
        ((*TABLE1, "--frobnicate"), "no such option: --frobnicate; bk run --help tells more"),
        ((*TABLE1, "--json", "missing/x.json"), "--json cannot write missing/x.json: its directory does not exist"),
        ((*TABLE1, "--store", ""), "the store must be a directory, got an empty name"),
        (("stroe",), "no such command 'stroe'. Did you mean 'store'?"),
        (("features/table1",), "no such command 'features/table1'; bk run features/table1 runs that experiment"),
        ((*TABLE1, "smoke"), "smoke is a scale, not an experiment; say --scale smoke"),
        (("show", "deadbeef"), "there is no store at store yet; bk run makes one, --store DIR names another"),
    ],
)
def test_words(bk: Any, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    check(bk(*words), sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"scale = [", "config.toml is not a TOML file: "),
        (b"scael = 'smoke'", "unknown key in config.toml 'scael', did you mean scale?"),
        (b"seeds = 'x'", "seeds in config.toml must be a whole number, got 'x'"),
        (b"scale = 3", "scale in config.toml must be a word, got 3"),
        (b"settings = 3", "settings in config.toml must be a table, got 3"),
        (b"[settings]\nsteps = 'x'", "steps must be a whole number, got 'x'"),
        (b"seeds = -1", "seeds must be positive, got -1"),
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


def test_a_read_only_store(bk: Any, store: Path, user: Path, contents: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(store)
    for path in (store, *store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.access(store / "tmp", os.W_OK):  # nothing is read-only for the administrator

        def refuse(path: Path, *_: Any, **__: Any) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

        monkeypatch.setattr(Path, "touch", refuse)
    run = ("run", f"{user}:Plain", "--scale", "smoke", "--store", store)
    more = bk(*run, "--seeds", "3")
    assert (more.exit_code, "it is read-only or not yours; choose another place" in more.stderr) == (2, True)
    assert bk(*run).exit_code == 0  # everything is there
    assert bk(*run, "--dry-run").stdout.endswith("4 runs; 4 stored already; nothing left to do\n")
    assert bk("report", f"{user}:Plain", "--store", store).exit_code == 0
    assert contents(store) == before
    for path in (store, *store.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_what_a_report_is_asked(bk: Any, store: Path, tmp_path: Path) -> None:
    check(bk("report", "user/plane", "--store", store), "unknown experiment in this store 'user/plane', did you mean")
    (tmp_path / "file").write_text("precious")
    check(bk("report", "features/table1", "--store", store), "unknown experiment in this store 'features/table1'")
