"""The README's example runs, and its table of experiments is the catalogue's."""

import contextlib
import io
import re
from pathlib import Path

from beyondkernels.experiments import CATALOGUE

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_shows_what_it_says():
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    accuracy = float(re.search(r"test accuracy ([\d.]+)", printed.getvalue()).group(1))  # pyright: ignore[reportOptionalMemberAccess]
    assert accuracy > 0.99
    assert "the best linear classifier reaches 0.844" in printed.getvalue()
    assert "misses by a factor" in printed.getvalue()


def test_every_experiment_is_in_the_table():
    assert set(re.findall(r"^\| `([\w/-]+)` \|", README, flags=re.MULTILINE)) == set(CATALOGUE)
