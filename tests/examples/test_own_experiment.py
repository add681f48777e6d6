from pathlib import Path

from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import run

FILE = Path(__file__).parents[2] / "examples" / "own_experiment.py"


def test_the_example_runs(tmp_path):
    result = run(f"{FILE}:Own", "smoke", store=tmp_path / "store", executor=SerialExecutor())
    places = [(row["learner"], row["samples"], row["seed"]) for row in result.rows]
    assert places == [(learner, n, seed) for learner in ("network", "linear") for n in (500, 1000) for seed in (0, 1)]
    assert [claim.holds for claim in result.claims] == [None]
    page = result.page()
    assert page.reference == "an experiment of one's own"
    assert [figure.name for figure in page.figures] == ["n"] and len(page.rows) == 4
    assert len(FILE.read_text().splitlines()) <= 45
