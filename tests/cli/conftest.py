import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from beyondkernels.cli.app import app
from beyondkernels.core import load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import run

USER = Path(__file__).parents[1] / "papers" / "user.py"


@pytest.fixture
def user() -> Path:
    """A user's file of experiments."""
    return USER


@pytest.fixture
def bk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``bk`` in this process, in an empty directory and a window of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words], prog_name="bk")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "store"
    assert not run(load_file(USER).Plain(), "smoke", store=path, executor=SerialExecutor()).missing
    return path


@pytest.fixture
def store(tmp_path: Path, made: Path) -> Path:
    """A store, its name with a space, with the four runs of a user's experiment."""
    return shutil.copytree(made, tmp_path / "a store")


@pytest.fixture
def contents() -> Callable[[Path], dict[str, str]]:
    """Every file below a folder by name, with a hash of its bytes."""

    def look(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            for path in sorted(folder.rglob("*"))
        }

    return look
