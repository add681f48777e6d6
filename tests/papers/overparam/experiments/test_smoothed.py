"""``overparam/landscape`` and ``overparam/smoothing`` on runs that are made by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.landscape import Landscape
from beyondkernels.papers.overparam.experiments.smoothing import Smoothing, ends
from beyondkernels.papers.overparam.measurements import changed_share
from papers.judging import check_figures, claims_in, failing, finish, places_of, refuted, undecided, unshaken

SETTINGS = replace(Landscape().settings("smoke"), widths=(16, 64, 256), rates=(1e-3, 1e-2), seeds=2)
SEEDS = (0, 1)
STEPS = np.array([0.0, 3.0, 10.0])


def fallen() -> Reading:
    """Objectives 1, 0.4 and one that depends on the width, where the lemma fails; the rest as promised."""

    def outcome(at: At, _: Any) -> Outcome:
        last = 0.05 * (1 + 0.1 * at.seed) * 16 / at.width
        decrease = np.array([[1.0, 1.1], [1.0, 1.0], [-5.0, -5.0]])
        series = {
            "step": STEPS,
            "objective": 0.3 * np.array([1.0, 0.4, last]),
            "move": decrease,
            "shrink": decrease - 1,
            "decrease": decrease,
            "decrease_error": np.full((3, 2), 0.01),
            "expected": np.ones(3),
            "control": np.array([-0.1, -0.1, 5.0]),
            "promised": np.array([[0.2] * 2, [0.2] * 2, [-6.0] * 2]),
            "errors": np.ones((3, 2)),
        }
        return Outcome("finished", {"test_loss": 0.1}, {f"landscape/{name}": each for name, each in series.items()})

    return finish(Landscape(), SETTINGS, SEEDS, outcome)


def test_what_lemma_53_promises():
    found = fallen()
    assert refuted(found) == []
    check_figures(found, ["decrease", "ways"])
    lines = found.figures[0].lines  # type: ignore[attr-defined]
    assert lines[0].x[1:] == pytest.approx([0.4, 1.0])  # the start at the right end


def test_rows_of_landscape():
    found = fallen()
    rows = found.rows
    assert len(rows) == 3 * 2 * 3 * 2  # widths, seeds, snapshots, η
    mine = rows[(rows["width"] == 64) & (rows["seed"] == 1) & (rows["eta"] == 1e-3)].sort_values("step")
    assert list(mine["step"]) == [0, 3, 10]
    assert list(mine["floor"]) == pytest.approx([0.05 * 1.1 / 4] * 3)  # the objective where the decrease is −5
    assert list(mine["low"]) == pytest.approx([0.98, 0.98, -5.02])


def test_a_run_that_diverged():
    """Claims on the least of all runs are judged by the others."""
    made = {(row["width"], row["seed"]): row["outcome"] for _, row in fallen().rows.iterrows()}
    made[256, 1] = Outcome("diverged")
    found = finish(Landscape(), SETTINGS, SEEDS, lambda at, _: made[at.width, at.seed])
    claims = claims_in(found)
    assert undecided(claims) == ["width", "order"]
    assert failing(claims) == []
    check_figures(found, ["decrease", "ways"])


def smoothed() -> Reading:
    """Terms with the powers of the lemmas."""

    def outcome(at: At, _: Any) -> Outcome:
        size = {"existing": at.width**-0.25, "rows": at.width**-1.5, "norms": at.width**-0.5}
        gap = at.width**-0.5
        radii = np.array([0.0, 0.01, 0.02]), np.array([0.0, 0.1, 0.2])
        shares = [changed_share(at.width, at.smoothing, *each) for each in zip(*radii, strict=True)]
        series = {
            "step": STEPS,
            "kept": 2 * (size["existing"] + 0.5 * np.array(shares)),
            "gap": gap * np.array([[1.5, 1.0], [1.0, 1.0], [2.25, 1.0]]),
            "bound": np.full(3, 22.5 * gap),
            "first_radius": radii[0],
            "second_radius": radii[1],
        }
        scalars = {f"smoothing/{name}": value for name, value in size.items()}
        scalars |= {"smoothing/existing": 2 * size["existing"], "smoothing/target": 2.0}
        return Outcome("finished", scalars, {f"smoothing/{name}": each for name, each in series.items()})

    return finish(Smoothing(), SETTINGS, SEEDS, outcome)


def test_what_lemmas_56_and_57_promise():
    found = smoothed()
    assert unshaken(Smoothing(), SETTINGS, found.rows) == []
    check_figures(found, ["existing", "gap", "noise"])


def test_no_gate_changed():
    """A few draws at a small width may leave all gates as they are; then there is no ratio."""
    assert ends(SETTINGS, At(width=16, smoothing=0.1, seed=0), Outcome("diverged")) == {}
    outcome = next(row["outcome"] for _, row in smoothed().rows.iterrows())
    still = replace(outcome, series=outcome.series | {"smoothing/gap": np.zeros((3, 2))})
    row = ends(SETTINGS, At(width=16, smoothing=0.1, seed=0), still)
    assert row["square"] is row["distance"] is None
    assert row["ratio"] == 0


def test_both_experiments_share_their_runs():
    mine, other = (
        {spec.key for _, spec in places_of(each, SETTINGS, SEEDS, {}).values()} for each in (Landscape(), Smoothing())
    )
    assert mine < other
    assert Landscape.scales is Smoothing.scales
