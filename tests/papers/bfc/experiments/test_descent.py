import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.common import target_of
from beyondkernels.papers.bfc.experiments.descent import Descent
from papers.judging import cases, check_figures, claims_in, failing, finish, refuted, undecided

EXPERIMENT = Descent()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)
CLAIMS = ["loss", "objective-0.001", "objective-0.1", "escape", "steps", "corrected"]


def reading(seeds: tuple[int, ...] = SEEDS, weights: tuple[float, ...] = (0.001, 0.1), **made: Any) -> Reading:
    """Numbers as the paper says, but for those that are given, in the runs of some seeds and weights."""

    def outcome(at: At, _: Any) -> Outcome:
        mine = made if at.seed in seeds and at.weight in weights else {}
        said = {"decrease": 1.0, "promised": 0.6, "loss": 0.5, "escape": 7.0, "alone": 0.1, "end": 1e-3} | mine
        if said["decrease"] is None:
            return Outcome("diverged", {"steps": 1.0})
        steps = np.array([10.0, 50.0, 200.0])
        series = {"descent/decrease": np.array([-3.0, said["decrease"], 1.0])}
        series |= {"descent/promised": np.array([-2.0, said["promised"], 0.9])}  # nothing at the first point
        series |= {"descent/loss_decrease": np.array([-3, said["loss"], 1.0])}
        series |= {"descent/loss_promised": np.array([-1, 0.2, 0.9])}
        series |= {"descent/escape": np.array([0.1, said["escape"], 9.0])}
        series |= {"coefficients/top2": np.array([0.5, said["alone"], 1e-3])}
        series |= {f"coefficients/{name}": np.array([1, 1, 1e-3]) for name in ("top3", "symmetric3")}
        series |= {"coefficients/cross3.0": np.array([1, 1, said["end"]])}
        series |= {f"{group}/step": steps for group in ("descent", "coefficients")}
        test = 1e-6 * target_of(SMOKE.dim, (1.0, SMOKE.alpha), at.seed).target_std.value ** 2
        return Outcome("finished", {"steps": 200.0, "test_loss": test, "layer3/joined": 60.0}, series)

    return finish(EXPERIMENT, SMOKE, SEEDS, outcome)


def test_all_claims_hold_on_good_numbers() -> None:
    found = claims_in(reading())
    assert list(found) == CLAIMS and refuted(found) == []
    assert found["objective-0.1"].measured == pytest.approx(0.1)  # at the last point; the first has no promise
    assert found["escape"].measured == 7 and found["corrected"].measured == pytest.approx(100)


@cases(
    ({"decrease": 0.5, "seeds": (2,), "weights": (0.001,)}, ["objective-0.001"]),  # one point of one seed
    ({"decrease": 0.5, "weights": (0.1,)}, ["objective-0.1"]),
    ({"loss": 0.1, "seeds": (1,)}, ["loss"]),
    ({"promised": -0.1, "decrease": -1.0}, []),
    ({"escape": 0.9, "seeds": (1,)}, ["escape"]),
    ({"end": 0.02, "weights": (0.1,)}, ["steps"]),  # they must hold with both
    ({"end": 0.02, "seeds": (0,)}, []),  # one seed of three does not move the median
    ({"alone": 0.019}, ["corrected"]),
)
def test_claims_can_fail(made: Any, wanted: list[str]) -> None:
    assert failing(reading(**made)) == wanted


def test_without_promises_nothing_is_decided() -> None:
    found = claims_in(reading(promised=math.nan, decrease=math.nan))
    assert found["objective-0.1"].holds  # the last point has one
    assert undecided(reading(decrease=None)) == CLAIMS


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


def test_table_and_figures() -> None:
    read = reading()
    _, lines = read.table
    assert len(lines) == 2 * 3
    check_figures(read, ["decrease", "coefficients"])
    decrease: Any = read.figures[0]
    assert math.isnan(decrease.lines[2].arrays()[1][0][0])  # only what is positive is drawn
