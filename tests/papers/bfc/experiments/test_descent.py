import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.common import target_of
from beyondkernels.papers.bfc.experiments.descent import Descent
from papers.judging import check_figures, claims_in, finish, refuted

EXPERIMENT = Descent()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def reading() -> Reading:
    """Numbers as the paper says."""

    def outcome(at: At, _: Any) -> Outcome:
        steps = np.array([10.0, 50.0, 200.0])
        series = {"descent/decrease": np.array([-3.0, 1.0, 1.0])}
        series |= {"descent/promised": np.array([-2.0, 0.6, 0.9])}  # nothing at the first point
        series |= {"descent/loss_decrease": np.array([-3, 0.5, 1.0])}
        series |= {"descent/loss_promised": np.array([-1, 0.2, 0.9])}
        series |= {"descent/escape": np.array([0.1, 7.0, 9.0])}
        series |= {"coefficients/top2": np.array([0.5, 0.1, 1e-3])}
        series |= {f"coefficients/{name}": np.array([1, 1, 1e-3]) for name in ("top3", "symmetric3", "cross3.0")}
        series |= {f"{group}/step": steps for group in ("descent", "coefficients")}
        test = 1e-6 * target_of(SMOKE.dim, (1.0, SMOKE.alpha), at.seed).target_std.value ** 2
        return Outcome("finished", {"steps": 200.0, "test_loss": test, "layer3/joined": 60.0}, series)

    return finish(EXPERIMENT, SMOKE, SEEDS, outcome)


def test_claims_table_and_figures() -> None:
    read = reading()
    found = claims_in(read)
    assert refuted(found) == []
    assert found["objective-0.1"].measured == pytest.approx(0.1)  # at the last point; the first has no promise
    assert found["escape"].measured == 7 and found["corrected"].measured == pytest.approx(100)
    assert len(read.table[1]) == 2 * 3
    check_figures(read, ["decrease", "coefficients"])
    decrease: Any = read.figures[0]
    assert math.isnan(decrease.lines[2].arrays()[1][0][0])  # only what is positive is drawn


def test_a_run_gives_what_the_rows_need() -> None:
    at = At(weight=0.001, seed=1)
    spec: Any = dict(specs_of(EXPERIMENT, SMOKE, (1,), {}))[at.label]
    numbers = spec.learner.algorithm.settings
    assert numbers.own == numbers.whole == pytest.approx([0.001 * alpha**2 for alpha in spec.problem.scales])
    outcome = perform([spec])[0]
    row: Any = EXPERIMENT.runs(SMOKE)[0].read(SMOKE, at, outcome)
    said = outcome.series
    points = [i for i, promised in enumerate(said["descent/promised"]) if promised > 0]
    assert row["count"] == len(points) > 0
    assert row["beyond"] == min(said["descent/decrease"][i] - said["descent/promised"][i] for i in points)
    lossy = zip(said["descent/loss_decrease"], said["descent/loss_promised"], strict=True)
    assert row["beyond_loss"] == min(one - other for one, other in lossy if other > 0)
    assert row["escape"] == min(said["descent/escape"][i] for i in points)
    before = [i for i, step in enumerate(said["descent/step"]) if step < outcome.scalars["layer3/joined"]]
    assert row["alone2"] == said["coefficients/top2"][before[-1]]
    assert row["steps"] == max(said[f"coefficients/{name}"][-1] for name in ("top3", "symmetric3", "cross3.0"))
    assert row["test"] == pytest.approx(outcome.scalars["test_loss"] / spec.problem.target_std.value**2)
