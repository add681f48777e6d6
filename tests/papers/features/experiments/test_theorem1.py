import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, changed
from beyondkernels.papers.features.experiments.theorem1 import OWN, Theorem1
from beyondkernels.store import RunSpec
from papers.judging import check_figures, finish, refuse, unshaken

EXPERIMENT = Theorem1()
SETTINGS = changed(
    EXPERIMENT.settings("smoke"), {"widths": (100, 1000), "own_widths": (100, 1000), "times": (100, 1000)}
)


def bound(k: int, m: int, T: int | str) -> float:
    T = math.ceil(m ** (4 / 3)) if isinstance(T, str) else T
    return k**8 / m ** (2 / 3) + k**3 * T / m**2 + k**2 * m ** (2 / 3) / T


def reading() -> Reading:
    """At k = 1 the loss falls with a power of m, and is a part of the least bound."""

    def outcome(at: At, _: RunSpec) -> Outcome:
        least = bound(1, 1000, OWN)
        loss = 0.2 * least * (at.pairs / 1000) ** -0.7 if at.relevant == 1 else 5.0
        wrong = 0.9 * bound(1, at.pairs, at.steps) if at.relevant == 1 else 0.5
        series = {"step": np.array([2, 5, 9]), "test_loss": np.array([1e3, loss, 2e3])}
        series["test_accuracy"] = np.array([0.0, 1 - wrong, 0.0])
        return Outcome("finished", {"steps": 9.0}, series)

    return finish(EXPERIMENT, SETTINGS, (0, 1), outcome)


def test_rows_are_those_of_the_best_step() -> None:
    rows = reading().rows
    row = rows[(rows["relevant"] == 1) & (rows["pairs"] == 1000) & (rows["steps"] == 100) & (rows["seed"] == 0)].iloc[0]
    assert row["bound"] == pytest.approx(0.01 + 1e-4 + 1.0)
    assert row["best_loss"] == pytest.approx(0.2 * bound(1, 1000, OWN))
    assert row["error"] == pytest.approx(100 * 0.9 * row["bound"])
    assert row["spare"] == pytest.approx(row["bound"] / row["best_loss"])
    assert set(rows[rows["relevant"] == 3]["says"]) == {"no"}
    assert set(rows[(rows["relevant"] == 1) & (rows["steps"] == 1000)]["says"]) == {"yes"}


def test_a_diverged_run_has_a_bound_and_nothing_else() -> None:
    runs, _ = EXPERIMENT.runs(SETTINGS)
    row: Any = runs.read(SETTINGS, At(relevant=1, pairs=10, steps=10, seed=0), Outcome("diverged"))
    assert set(row) == {"bound", "says"}


def test_specs_take_the_theorem_literally() -> None:
    runs, own = EXPERIMENT.runs(SETTINGS)
    spec: Any = runs.spec(SETTINGS, At(relevant=3, pairs=50, steps=100, seed=4))
    process = spec.learner.algorithm.settings
    assert process.later.hidden_rate == process.later.output_rate == pytest.approx(9 / (100 * 50 ** (1 / 3)))
    assert not process.fading
    assert (spec.learner.record_at[0], spec.learner.record_at[-1]) == (5, 100)
    longest: Any = own.spec(SETTINGS, At(relevant=1, pairs=8, steps=OWN, seed=0))
    assert longest.learner.algorithm.settings.steps == 16  # 8^(4/3)
    assert (spec.problem.instance, spec.problem.hidden.background) == (4, 0.5)


def test_claims_table_and_figures() -> None:
    read = reading()
    assert unshaken(EXPERIMENT, SETTINGS, read.rows) == []
    assert len(read.table[1]) == 2 * 2 * 2 + 2
    check_figures(read, ["width-1", "width-3", "time"])


def test_bad_settings() -> None:
    refuse(SETTINGS, {"relevants": (3, 5)}, "relevants must begin with 1, where claims speak, got 3")
    refuse(SETTINGS, {"widths": (30,)}, r"widths must hold at least two numbers, got \(30,\)")
    refuse(SETTINGS, {"batch": 101}, r"batch must not exceed samples \(100\), got 101")
