from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome, Stream
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.toy61 import WITH_OTHERS, Toy61
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER, second_toy
from papers.judging import cases, check_figures, claims_in, failing, finish, refuse, refuted, undecided

EXPERIMENT = Toy61()
SMOKE = EXPERIMENT.settings("smoke")
SETTINGS = replace(SMOKE, alphas=(0.001, 0.01, 0.1), neurons=(2, 3, 6), seeds=3)
SEEDS = (0, 1, 2)


def reading(**made: Any) -> Reading:
    """Numbers as in the paper's account, but for those that are given."""
    m = {"two": 3e-2, "rest": 1e-3, "two_power": 0.0, "power": 1.0, "corrected": 1e-3, "left": 1e-6, "frozen": 0.5}
    m |= {"left_two": 0.5} | made

    def outcome(at: At, _: Any) -> Outcome:
        first, last = SETTINGS.ends.values()
        noise = 1 + 0.01 * at.seed
        unreadable = noise * (m["two"] * (at.alpha / 0.001) ** m["two_power"] if at.neurons == 2 else m["rest"])
        alone = noise * at.alpha ** m["power"] / 2
        left = m["frozen"] if at.method == LAYERWISE else m["left_two"] if at.neurons == 2 else m["left"]
        left = left.get(at.neurons, 1e-6) if isinstance(left, dict) else left
        if left is None:
            return Outcome("diverged", {"steps": 1.0})
        end = alone if at.method == LAYERWISE else alone * m["corrected"]
        added = (at.alpha * second_toy(at.alpha).layer_stds[3].value) ** 2
        series = {f"second/{name}": np.array([alone / 2, end / 2]) for name in WITH_OTHERS}
        series |= {"second/2-3": -np.array([alone, end]), "second/unreadable": np.array([unreadable, 1e-9])}
        series |= {"test_loss": np.array([1.0, left * noise]) * added}
        steps = np.array([first, last], dtype=float)
        return Outcome("finished", {"steps": float(last)}, series | {"step": steps, "second/step": steps})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_all_claims_hold_on_good_numbers() -> None:
    found = claims_in(reading())
    assert refuted(found) == []
    assert found["overfits"].measured == pytest.approx(1) and found["corrected"].measured == pytest.approx(1000)
    assert found["two-neurons"].measured == pytest.approx(30)


@cases(
    ({"two": 5e-3}, ["two-neurons"]),
    ({"two_power": 0.5}, ["two-stay"]),
    ({"power": 2.0}, ["overfits"]),
    ({"power": 0.5}, ["overfits"]),
    ({"corrected": 0.25}, ["corrected"]),
    ({"left": {3: 1e-6, 6: 2e-3}}, ["learnt"]),
    ({"frozen": {2: 0.5, 3: 0.05, 6: 0.5}}, ["layerwise"]),
    ({"left_two": 1e-6}, ["needed-small", "needed-large"]),
)
def test_claims_can_fail(made: Any, wanted: list[str]) -> None:
    assert failing(reading(**made)) == wanted


def test_a_diverged_run_is_no_number() -> None:
    assert undecided(reading(left={3: 1e-6, 6: None})) == ["learnt"]


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


def test_table_and_figures() -> None:
    read = reading()
    assert len(read.table[1]) == 3 * 3 * 2 + 3
    check_figures(read, ["unreadable", "overfit"])


def test_bad_settings() -> None:
    refuse(SMOKE, {"neurons": (3, 4)}, r"neurons must be 2 and at least one larger number, got \(3, 4\)")
    refuse(SMOKE, {"neurons": (2,)}, r"neurons must be 2 and at least one larger number, got \(2,\)")
    refuse(SMOKE, {"alphas": (0.1,)}, r"alphas must hold at least two numbers, got \(0.1,\)")
