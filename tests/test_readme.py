"""The README's examples run."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


NETWORK, AUDIT, KERNELS, SWEEP = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def printed_by(code: str, smaller: dict[str, str] | None = None) -> str:
    """What an example prints, of fewer points or runs where those that are left show the same."""
    for text, less in (smaller or {}).items():
        assert text in code
        code = code.replace(text, less)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    return printed.getvalue()


def test_the_example_runs_and_shows_what_it_says():
    printed = printed_by(NETWORK)
    accuracy = float(re.search(r"test accuracy ([\d.]+)", printed).group(1))  # pyright: ignore[reportOptionalMemberAccess]
    assert accuracy > 0.99
    assert "the best linear classifier reaches 0.844" in printed
    assert "misses by a factor" in printed


def test_the_audit_finds_no_features_where_kernels_do_as_well():
    printed = printed_by(AUDIT, {"(X / 16, y)": "(X[::2] / 16, y[::2])"})
    assert printed.startswith("The model is trained well enough to compare. No gain from learning features shows")
    assert re.search(r"^model +9\d\.", printed, re.MULTILINE)


def test_the_kernels_fail_where_the_one_that_learns_features_does_not():
    printed = printed_by(KERNELS)
    test = {
        name.strip(): float(value) for name, value in re.findall(r"^(.+?) +[\d.]+% +([\d.]+)%", printed, re.MULTILINE)
    }
    assert test.pop("Laplace, learning features") > 99
    assert len(test) == 4
    assert max(test.values()) < 75
    assert "ntk parameterisation: hidden weights 2/p" in printed
    assert "'network__width': " in printed


def test_the_sweep_finds_a_network_that_learns_more_than_the_base():
    printed = printed_by(SWEEP, {"learning_rate=[0.05, 0.1]": "learning_rate=[0.05]", "seed=range(2)": "seed=range(1)"})
    error = float(re.search(r"'test_loss': ([\d.]+)", printed).group(1))  # pyright: ignore[reportOptionalMemberAccess]
    assert error < 0.7
    assert "F alone leaves 1.35" in printed
