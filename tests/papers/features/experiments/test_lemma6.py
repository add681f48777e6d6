import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.features.experiments.lemma6 import PARITY, THRESHOLD, Lemma6, noise, problem_of
from beyondkernels.store import RunSpec
from papers.judging import check_figures, finish, refuse, unshaken

EXPERIMENT = Lemma6()
SETTINGS = EXPERIMENT.settings("smoke")
SIZES_1 = {"relevant_1": 1e-3, "relevant_share_1": 0.5, "background_1": 1e-3, "background_share_1": 0.5}
SIZES_2 = {"relevant_2": 1e-6, "relevant_share_2": 0.5, "background_2": 1e-9, "background_share_2": 0.5}
FIRST = SIZES_1 | {"signal_1": 0.5, "ratio_1": 0.01}
SECOND = SIZES_2 | {"signal_2": 0.5, "ratio_2": 1e-3}
GOOD = {"epsilon": 5.0, "largest_output": 0.1} | FIRST | SECOND


def reading() -> Reading:
    """Good numbers; background patterns have Tⱼ = 0.01, relevant ones 0.3."""

    def outcome(at: At, _: RunSpec) -> Outcome:
        T = np.full((2, at.patterns), 0.01)
        T[:, list(problem_of(at).relevant_set)] = 0.3
        scalars = GOOD | {"least_beta_1": 0.01 * at.relevant, "least_beta_2": 0.01 * at.relevant}
        return Outcome("finished", scalars, arrays={"T1": T, "T2": T})

    return finish(EXPERIMENT, SETTINGS, (0, 1), outcome)


def test_problems_satisfy_the_assumptions() -> None:
    """Also the lemma's p_o ≥ Ω(k²/D), with a constant of one."""
    s = EXPERIMENT.settings("laptop")
    for at in (at for runs in EXPERIMENT.runs(s) for at in runs.places()):
        if at.labels == THRESHOLD or at.relevant == s.relevants[0]:
            held = {each.name: each.holds for each in problem_of(at).assumptions()}
            assert held["A0"] and held["A1"] and held["A2"], at
        assert at.background >= at.relevant**2 / at.patterns
    paper = EXPERIMENT.settings("paper")
    assert all(at.background >= at.relevant**2 / at.patterns for runs in EXPERIMENT.runs(paper) for at in runs.places())


def test_claims_rows_table_and_figures() -> None:
    read = reading()
    assert unshaken(EXPERIMENT, SETTINGS, read.rows) == []
    row = read.rows.iloc[0]
    assert row["relevant_room_1"] == pytest.approx(2)
    assert row["background_bound_1"] == pytest.approx(5 * row["background"] * (1 - row["background"]))
    assert row["improvement"] == pytest.approx(10)
    p_o, others = row["background"], row["patterns"] - row["relevant"]
    assert row["noise_1"] == pytest.approx(math.sqrt(p_o * (1 - p_o) * others) * 0.01 / 0.3)
    assert {line["labels"] for line in read.table[1]} == {THRESHOLD, PARITY}
    check_figures(read, ["components", "over-relevant", "over-background", "over-patterns"])
    histogram: Any = read.figures[0]
    sizes = [(each.label, len(each.values)) for each in histogram.distributions]
    D, k = SETTINGS.patterns, SETTINGS.relevant
    assert sizes == [
        (f"{kind}, step {step}", 2 * n) for step in (1, 2) for kind, n in (("relevant", k), ("background", D - k))
    ]


def test_noise_is_what_background_patterns_do_to_a_neuron() -> None:
    """By a mean over drawn patterns: the deviation of Σ Tⱼφ̃ⱼ over the background, over one more relevant pattern."""
    rng = np.random.default_rng(0)
    problem = problem_of(At(labels=THRESHOLD, relevant=3, background=0.3, patterns=9))
    T = rng.uniform(0.1, 1.0, (2, 9))
    A = list(problem.relevant_set)
    drawn = rng.random((200_000, 6)) < 0.3
    each = [(drawn @ np.delete(row, A)).std() / row[A].mean() for row in T]
    assert noise(problem, T) == pytest.approx(max(each), rel=0.01)


def test_bad_settings() -> None:
    refuse(SETTINGS, {"relevants": (3, 11)}, r"relevants must be below patterns and dictionaries \(10\), got 11")
