"""The table of each paper: what it names is there, and every experiment and module has its place in it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import beyondkernels
from beyondkernels.lab import PAPERS

ROOT = Path(beyondkernels.__file__).parent


def parts_of(short: str) -> list[dict[str, Any]]:
    return tomllib.loads((ROOT / "papers" / short / "contents.toml").read_text(encoding="utf-8"))["part"]


@pytest.mark.parametrize("short", PAPERS)
def test_what_is_named_is_there(short: str) -> None:
    for part in parts_of(short):
        assert part.keys() <= {"place", "says", "code", "experiments", "missing"}
        assert part["place"] and part["says"]
        assert [path for path in part.get("code", ()) if not (ROOT / path).is_file()] == []
        assert {*part.get("experiments", ())} <= PAPERS[short].experiments.keys()


@pytest.mark.parametrize("short", PAPERS)
def test_every_experiment_and_module_has_its_place(short: str) -> None:
    parts, folder = parts_of(short), ROOT / "papers" / short
    named = {name for part in parts for name in part.get("experiments", ())}
    assert named == PAPERS[short].experiments.keys()
    rooms = [room for room in folder.iterdir() if room.is_dir() and room.name not in ("experiments", "__pycache__")]
    modules = {path for room in rooms for path in room.rglob("*.py") if path.name != "__init__.py"}
    assert modules - {ROOT / path for part in parts for path in part.get("code", ())} == set()
