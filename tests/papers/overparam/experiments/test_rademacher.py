"""Rademacher complexities: claims, and that networks are trained as their classes have them."""

from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.rademacher import Rademacher, row, rule_of, spec
from papers.judging import check_figures, finish, unshaken

EXPERIMENT = Rademacher()
SETTINGS = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def test_claims_and_figures():
    """Numbers as the lemmas have them."""

    def outcome(at: At, _: Any) -> Outcome:
        numbers = {"test_loss": 0.2, "train_loss": 0.1, "unit_complexity": at.samples**-0.5}
        numbers |= {"complexity": at.width**-0.3, "complexity_error": 0.01, "complexity_bound": 1.0}
        if at.layers == 2:
            numbers |= {"real_complexity": 0.4, "largest_readout": 1.0}
        else:
            numbers |= {"increment_complexity": at.width**-0.3, "start_complexity": 0.0}
        return Outcome("finished", numbers)

    reading = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    assert unshaken(EXPERIMENT, SETTINGS, reading.rows) == []
    check_figures(reading, ["width", "samples"])


def test_three_layers_are_trained_with_random_signs():
    """As Lemma 5.9 has them: with signs on the increments, and with nothing else that its class does not have."""
    rule = rule_of(SETTINGS, At(layers=3, width=16, samples=20, seed=100))
    assert isinstance(rule, bk.overparam.ThreeLayerSGD)
    assert rule.variant == "L2"
    assert rule.settings == bk.overparam.ThreeLayerSettings()
    assert isinstance(rule_of(SETTINGS, At(layers=2, width=16, samples=20, seed=100)), bk.overparam.TwoLayerSGD)


@pytest.mark.parametrize("layers", [2, 3])
def test_a_run(layers):
    at = At(layers=layers, width=16, samples=20, seed=100)
    found = row(SETTINGS, at, perform([spec(replace(SETTINGS, backend="eager"), at)])[0])
    start = found.get("start_complexity", 0.0)
    assert found["increment_complexity"] + start == pytest.approx(found["complexity"])
    assert found["complexity_room"] == pytest.approx(1 / found["complexity_ratio"])
    assert found["gap_room"] == pytest.approx(2 * found["complexity"] - found["gap"])
    if layers == 2:
        assert found["unit_complexity"] * 16 * found["radius"] == pytest.approx(found["complexity"])
        assert found["per_readout"] == pytest.approx(found["complexity"] / found["largest_readout"])
    else:
        assert 0 < found["increment_complexity"] < found["complexity_bound"]


def test_networks_that_do_not_move_have_no_ratios():
    numbers = {"test_loss": 0.5, "train_loss": 0.25, "complexity": 0.0, "complexity_bound": 0.0, "real_complexity": 0.0}
    found = row(SETTINGS, At(layers=2), Outcome("finished", numbers))
    assert [found[name] for name in ("gap", "gap_ratio", "complexity_ratio", "real_ratio")] == [0.25, None, None, None]
