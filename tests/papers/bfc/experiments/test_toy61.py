from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome, Stream
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.toy61 import WITH_OTHERS, Toy61
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER, second_toy
from papers.judging import check_figures, claims_in, finish, refuse, refuted

EXPERIMENT = Toy61()
SMOKE = EXPERIMENT.settings("smoke")
SETTINGS = replace(SMOKE, alphas=(0.001, 0.01, 0.1), neurons=(2, 3, 6), seeds=3)
SEEDS = (0, 1, 2)


def reading() -> Reading:
    """Numbers as in the paper's account."""

    def outcome(at: At, _: Any) -> Outcome:
        noise = 1 + 0.01 * at.seed
        unreadable = noise * (3e-2 if at.neurons == 2 else 1e-3)
        alone = noise * at.alpha / 2
        end = alone if at.method == LAYERWISE else alone * 1e-3
        left = 0.5 if at.method == LAYERWISE or at.neurons == 2 else 1e-6
        added = (at.alpha * second_toy(at.alpha).layer_stds[3].value) ** 2
        series = {f"second/{name}": np.array([alone / 2, end / 2]) for name in WITH_OTHERS}
        series |= {"second/2-3": -np.array([alone, end]), "second/unreadable": np.array([unreadable, 1e-9])}
        series |= {"test_loss": np.array([1.0, left * noise]) * added}
        steps = np.array([*SETTINGS.ends.values()], dtype=float)
        return Outcome("finished", {"steps": steps[-1]}, series | {"step": steps, "second/step": steps})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_rows_of_a_run() -> None:
    at = At(alpha=0.1, neurons=3, method=TOGETHER, seed=1)
    spec: Any = dict(specs_of(EXPERIMENT, SMOKE, (1,), {}))[at.label]
    assert spec.learner.network.widths == (3, 3) and spec.problem.alpha == 0.1
    outcome = perform([spec])[0]
    rows: Any = EXPERIMENT.runs(SMOKE)[0].read(SMOKE, at, outcome)
    assert [row["moment"] for row in rows] == [ALONE, TOGETHER]
    M = outcome.arrays["snapshot/3/M2.1"]
    form = M.T @ M
    twice = form + form.T - np.diag(form.diagonal())
    wanted = max(abs(twice[i, j]) for i in range(4) for j in range(max(i, 2), 4))
    assert rows[0]["overfit"] == pytest.approx(wanted)
    x = spec.problem.inputs.draw(200_000, 4, Stream(3))
    added = 0.1 * spec.problem.outputs(x)[3].sum(1)
    assert rows[1]["test"] == pytest.approx(outcome.scalars["test_loss"] / float(added.var()), rel=0.03)


def test_layerwise_is_run_at_the_largest_alpha() -> None:
    labels = list(specs_of(EXPERIMENT, SETTINGS, (0,), {}))
    frozen = [label for label in labels if LAYERWISE in label]
    assert len(labels) == 9 + 3 and all("alpha=0.1" in label for label in frozen) and len(frozen) == 3


def test_claims_table_and_figures() -> None:
    read = reading()
    found = claims_in(read)
    assert refuted(found) == []
    assert found["overfits"].measured == pytest.approx(1) and found["corrected"].measured == pytest.approx(1000)
    assert found["two-neurons"].measured == pytest.approx(30)
    assert len(read.table[1]) == 3 * 3 * 2 + 3
    check_figures(read, ["unreadable", "overfit"])


def test_bad_settings() -> None:
    refuse(SMOKE, {"neurons": (3, 4)}, r"neurons must be 2 and at least one larger number, got \(3, 4\)")
