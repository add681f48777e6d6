"""Rademacher complexities: claims that can fail, and that networks are trained as their classes have them."""

from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.rademacher import Rademacher, row, rule_of, spec
from papers.judging import check_figures, finish, refuted

EXPERIMENT = Rademacher()
SETTINGS = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def reading(layers: int = 0, only_seed: int | None = None, **more: float) -> Reading:
    """Numbers as the lemmas have them; for one depth, or one seed of it, some are changed."""

    def outcome(at: At, spec: Any) -> Outcome:
        mine = more if at.layers == layers and only_seed in (None, at.seed) else {}
        unit = at.samples ** mine.get("of_samples", -0.5) * at.width ** mine.get("of_width", 0.0)
        reached = mine.get("complexity", 0.5) * at.width ** mine.get("of_reached", 0.0)
        readout = at.width ** mine.get("of_readout", 0.0)
        numbers = {"test_loss": 0.1 + mine.get("gap", 0.1), "train_loss": 0.1, "unit_complexity": unit}
        numbers |= {"complexity": reached * readout, "complexity_error": 0.01, "complexity_bound": 1.0}
        if at.layers == 2:
            numbers |= {"real_complexity": mine.get("real", 0.4), "largest_readout": readout}
        else:
            numbers |= {"increment_complexity": reached, "start_complexity": mine.get("start", 0.0)}
        return Outcome("finished", numbers)

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def failing_of(layers: int = 0, **more: Any) -> list[str]:
    return refuted(reading(layers, **more))


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, []),
        ({"of_samples": -0.54}, []),
        ({"of_samples": -0.44}, ["samples"]),
        ({"of_width": 0.06}, ["width"]),
        ({"of_width": -0.06}, ["width"]),
        ({"of_reached": -0.3}, []),
        ({"complexity": 1.1}, ["bound"]),
        ({"complexity": 1.1, "only_seed": 1}, ["bound"]),
        ({"gap": 1.1}, ["gap"]),
        ({"gap": 1.1, "only_seed": 2}, ["gap"]),
    ],
)
def test_claims_can_fail(layers, more, wanted):
    """A single run is enough where a claim speaks of every run."""
    assert failing_of(layers, **more) == [f"{name}-{layers}" for name in wanted]


def test_claims_of_one_depth_can_fail():
    assert failing_of(2, of_reached=0.06, complexity=0.3) == ["reached-2", "readout-2"]
    assert failing_of(2, of_readout=0.06, complexity=0.3) == ["reached-2"]
    assert failing_of(3, of_reached=0.06, complexity=0.3) == ["reached-3"]
    assert failing_of(2, real=1.1, only_seed=1) == ["real"]


def test_figures():
    check_figures(reading(), ["width", "samples"])


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
