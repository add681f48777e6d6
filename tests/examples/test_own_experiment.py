from pathlib import Path

from beyondkernels.running import run
from beyondkernels.runs import SerialExecutor

FILE = Path(__file__).parents[2] / "examples" / "own_experiment.py"


def test_the_example_runs(tmp_path):
    result = run(f"{FILE}:Own", "smoke", store=tmp_path / "store", executor=SerialExecutor())
    assert [(row["learner"], row["seed"]) for row in result.rows] == [
        ("network", 0),
        ("network", 1),
        ("linear", 0),
        ("linear", 1),
    ]
    assert [claim.holds for claim in result.claims] == [None]
    assert result.page().reference == "an experiment of one's own"
