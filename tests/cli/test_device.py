"""``bk run --device``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from two_devices import DEVICE

OWN = f"{Path(__file__).parents[2] / 'examples' / 'own_experiment.py'}:Own"


def test_the_command_takes_it(tmp_path: Path, bk: Any) -> None:
    answer = bk("run", OWN, "--scale", "smoke", "--device", "abc", "--store", tmp_path / "new")
    assert answer.exit_code == 2
    assert "device must be one that this machine has, got 'abc'" in answer.stderr
    words = ("run", OWN, "--scale", "smoke", "--seeds", "1", "--set", "samples=300", "--set", "steps=4")
    answer = bk(
        *words, "--device", DEVICE, "--store", tmp_path / "new", "--workers", "1", "--json", tmp_path / "a.json"
    )
    assert answer.exit_code == 0, answer.stderr
    assert json.loads((tmp_path / "a.json").read_text())["results"][0]["device"] == DEVICE
