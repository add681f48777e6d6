"""Scales and variants of one experiment beside each other; a run that was interrupted says so; the demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.cli import demo
from beyondkernels.core import load_file
from beyondkernels.execution import Event, SerialExecutor
from beyondkernels.lab import Observer, ask, run

SERIAL = SerialExecutor()


class Interrupted(Observer):
    """Stops at the first run that ends."""

    def happened(self, event: Event) -> None:
        if event.kind == "run":
            raise KeyboardInterrupt


@pytest.fixture
def variants(user: Path, tmp_path: Path) -> Path:
    """A store with a standard run, two variants, another scale, and one that was interrupted."""
    path, plain = tmp_path / "variants", load_file(user).Plain()
    options: Any = {"store": path, "executor": SERIAL, "progress": False}
    run(plain, "smoke", **options)
    run(plain, "smoke", settings={"bound": -1}, **options)
    run(plain, "smoke", seeds=1, **options)
    run(plain, "laptop", seeds=1, **options)
    with pytest.raises(KeyboardInterrupt):
        run(plain, "smoke", settings={"slope": 0.5}, store=path, executor=SERIAL, observer=Interrupted())
    return path


def test_show_lists_them(bk: Any, user: Path, variants: Path) -> None:
    shown = bk("show", f"{user}:Plain", "--store", variants).stdout
    lines = re.sub(" {2,}", "  ", shown.split("In this store\n")[1].split("\n\n")[0]).splitlines()
    assert [line.strip() for line in lines] == [
        "smoke scale, 2 seeds, slope=0.5  interrupted; the same bk run goes on",
        "laptop scale, 1 seed  1 of 1 claims hold",
        "smoke scale, 1 seed  1 of 1 claims hold",
        "smoke scale, 2 seeds, bound=-1.0  0 of 1 claims hold",
        "smoke scale, 2 seeds  1 of 1 claims hold",
    ]
    assert max(map(len, shown.splitlines())) <= 80


def test_report_has_a_page_for_each(bk: Any, user: Path, variants: Path) -> None:
    answer = bk("report", f"{user}:Plain", "--store", variants)
    assert (answer.exit_code, answer.stderr) == (3, "user/plain: 3 runs missing\n")
    pages = [path.read_text() for path in Path("report").glob("user__plain.*.html")]
    assert len(pages) == 5
    (unfinished,) = [page for page in pages if "Unfinished: 3 runs are missing" in page]
    assert "bk run user/plain --scale smoke --set slope=0.5" in unfinished
    names = {path.stem for path in Path("report").glob("user__plain.*.html")}
    page = Path("report/user__plain.smoke.html").read_text()
    for words in ("smoke, bound = −1", "smoke, seeds = 1", "laptop, seeds = 1"):
        assert words in page
    assert sum(f'href="{name}.html"' in page for name in names) >= 4  # one click apart
    unnamed = bk("report", "--store", variants, "--out", "unnamed")
    assert unnamed.exit_code == 3
    assert len(list(Path("unnamed").glob("user__plain.*.html"))) == 5


def test_no_published_value_beside_another_problem(bk: Any, user: Path, tmp_path: Path) -> None:
    plain = load_file(user).Plain()
    options: Any = {"store": tmp_path / "s", "executor": SERIAL, "progress": False, "seeds": 1}
    paper, other = run(plain, "laptop", **options), run(plain, "laptop", settings={"samples": 5}, **options)
    assert [claim.paper for claim in paper.claims] == [0.25]
    assert [claim.paper for claim in other.claims] == [None]
    assert (paper.page().published, other.page().published) == (True, False)


def test_the_demo_is_a_command_one_can_type() -> None:
    words = demo.command().split()
    assert words[:3] == ["bk", "run", demo.EXPERIMENT]
    settings = dict(word.split("=") for word in words[words.index("--set") + 1 :: 2])
    request = ask(words[2], words[4], int(words[6]), settings)
    assert request.command() == demo.command()
    assert not request.published  # it has fewer points than the paper, and says so by leaving its values out
    assert len(request.first_round) == 11


def test_the_demo_runs_and_writes_a_page(bk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SCALE", "smoke")
    monkeypatch.setattr(demo, "SETTINGS", ("samples=300", "steps=5", "batch=100", "test_samples=100"))
    answer = bk("demo", "--workers", 1, "--store", "kept", "--out", "pages")
    assert answer.exit_code == 0, answer.output
    assert "report: pages/index.html" in answer.stdout
    assert f"  {demo.command()}\n" in answer.stderr
    assert Path("pages/index.html").exists()
    assert "Network" in answer.stdout


def test_seeds_by_number_range_and_list(bk: Any, user: Path, tmp_path: Path) -> None:
    (tmp_path / "options.toml").write_text('scale = "smoke"\nseeds = "5..6,9"\n')
    words = ("run", f"{user}:Plain", "--dry-run")
    for more, runs in ((("--seeds", "3"), 6), (("--seeds", "5..9"), 10), (("--seeds", "3,7,11"), 6), ((), 6)):
        assert f": {runs} runs;" in bk(*words, "--config", "options.toml", *more).stdout
    for wrong in ("9..5", "1,,2", "..", "0..10000000000", "1..b"):
        answer = bk(*words, "--seeds", wrong)
        assert (answer.exit_code, answer.stderr.startswith("bk: --seeds takes")) == (2, True)
    asked = ask(load_file(user).Plain(), "smoke", seeds=[5, 6, 7, 9])
    assert asked.seeds == (5, 6, 7, 9)
    assert "--seeds 5..7,9" in asked.command()
