"""``bk demo``: the first thing to run. An ordinary call of ``bk run`` with stated settings, then ``bk report``."""

from __future__ import annotations

import shlex
from pathlib import Path

from beyondkernels.cli.display import console
from beyondkernels.cli.options import Options, from_words
from beyondkernels.cli.report import report
from beyondkernels.cli.run import run_experiments

EXPERIMENT, SCALE, SEEDS = "features/table1", "laptop", 1
SETTINGS = ("steps=500", "test_samples=2000", "pairs=150", "samples=10000")
"""The paper's problem with a fifth of its points and half of its neurons: the same effect in less than a minute."""


def command() -> str:
    """What it runs, as one would type it."""
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    return shlex.join(["bk", "run", EXPERIMENT, "--scale", SCALE, "--seeds", str(SEEDS), *sets])


def demo(workers: int | None, store: str | None, out: Path) -> int:
    """Run the experiment, print what came of it, and write its page."""
    told = console(stderr=True)
    told.print(
        "A network against random features, its tangent kernel and a linear classifier,\n"
        "on labels that are the parity of five hidden patterns. It takes about half a\n"
        "minute on two cores, with one seed and fewer points than the paper's:",
        soft_wrap=True,
    )
    told.print(f"  {command()}", soft_wrap=True)  # one line, to be copied
    options = Options(SCALE, SEEDS, workers, store, settings=from_words(list(SETTINGS)))
    code = run_experiments([EXPERIMENT], options, None, check=False, dry=False)
    return code or report([EXPERIMENT], store, out)
