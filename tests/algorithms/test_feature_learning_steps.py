"""The settings of the process: step by step, and what they refuse."""

from dataclasses import replace

import pytest

from beyondkernels.algorithms import ProcessSettings, StepSettings
from beyondkernels.core import Hypothesis, digest
from beyondkernels.networks import Symmetric

FIRST, SECOND, LATER = StepSettings(0.1, 0.2, 0, 1, 0.5), StepSettings(1, 2, 0, 0, 0.25), StepSettings(3, 4)
SETTINGS = ProcessSettings(Symmetric(1, 1, 1), FIRST, SECOND, LATER, steps=12, batch=10)


@pytest.mark.parametrize("fading", [False, True])
def test_the_first_two_steps(fading):
    settings = replace(SETTINGS, fading=fading)
    assert settings.at(1) == FIRST
    assert settings.at(2) == SECOND


def test_fading_readout():
    """Full at the first later step, falling by equal amounts, positive at the last, where one more would reach zero."""
    steps = [replace(SETTINGS, fading=True).at(step) for step in range(3, 13)]
    rates = [step.output_rate for step in steps]
    assert rates[0] == LATER.output_rate
    assert rates == pytest.approx([4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.6, 1.2, 0.8, 0.4])
    assert rates[-1] == pytest.approx(rates[-2] - rates[-1])
    assert all(replace(step, output_rate=4) == LATER for step in steps)


@pytest.mark.parametrize("steps", [3, 4, 2009])
def test_fading_over_any_length(steps):
    settings = replace(SETTINGS, steps=steps, fading=True)
    rates = [settings.at(step).output_rate for step in range(3, steps + 1)]
    assert rates[0] == 4
    assert rates[-1] == pytest.approx(4 / (steps - 2))
    assert sum(rates) == pytest.approx(4 * (steps - 1) / 2)


@pytest.mark.parametrize("rate", [1e-9, 0.3, 1.0, 17.0])
@pytest.mark.parametrize("penalty", [0.0, 0.01, 0.02])
def test_penalties_are_those_behind_the_factors(rate, penalty):
    """w − η·2λw = keep·w."""
    keep = 1 - 2 * rate * penalty
    step = StepSettings(rate, 2 * rate, keep_hidden=keep, keep_output=1 - (1 - keep) / 2)
    assert step.penalties == pytest.approx((penalty, penalty / 4), abs=1e-15 / rate)


def test_forgetting_everything_is_the_penalty_of_the_theorem():
    assert FIRST.penalties == (1 / (2 * 0.1), 0)
    assert SECOND.penalties == (1 / (2 * 1), 1 / (2 * 2))
    assert LATER.penalties == (0, 0)


def test_identity():
    assert digest(SETTINGS) == digest(replace(SETTINGS, hypotheses=(Hypothesis("m ≥ D", 3, 1),)))
    assert digest(SETTINGS) != digest(replace(SETTINGS, fading=True))
    assert digest(StepSettings(1, 1)) == digest(StepSettings(1.0, 1.0, 1, 1, 0))
