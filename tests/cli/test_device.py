"""``bk run --device``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

OWN = f"{Path(__file__).parents[2] / 'examples' / 'own_experiment.py'}:Own"


def test_the_command_takes_it(tmp_path: Path, bk: Any) -> None:
    answer = bk("run", OWN, "--scale", "smoke", "--device", "abc", "--store", tmp_path / "new")
    assert answer.exit_code == 2
    assert "device must be one that this machine has, got 'abc'" in answer.stderr
    answer = bk("run", OWN, "--scale", "smoke", "--device", "cuda", "--dry-run")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout.startswith("own/first · smoke scale · 2 seeds · on cuda: ")
