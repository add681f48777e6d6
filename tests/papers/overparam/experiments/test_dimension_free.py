from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.dimension_free import LEARNT, DimensionFree, crossing, problem_of
from beyondkernels.papers.overparam.experiments.two_layers import constant_loss
from papers.judging import check_figures, failing, finish, undecided

EXPERIMENT = DimensionFree()
SETTINGS = replace(EXPERIMENT.settings("smoke"), dims=(8, 64), sample_sizes=(10, 100, 1000), seeds=3)
SEEDS = (0, 1, 2)


def reading(exponent: float = 0.1, at_first: float = 20.0, floor: float = 0.0) -> Reading:
    """Losses that fall as 1/N and reach LEARNT at a number of samples that grows as a power of d."""

    def outcome(at: At, _: Any) -> Outcome:
        needed = at_first * (at.dim / 8) ** exponent * (1 + 0.01 * at.seed)
        whole = constant_loss(problem_of(SETTINGS, 8, at.seed))
        relative = max(LEARNT * needed / at.samples, floor)
        return Outcome("finished", {"test_loss": whole * relative, "train_loss": 0.1})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_what_the_paper_promises():
    found = reading()
    claims = {each.id: each for each in found.claims}
    assert failing(claims) == undecided(claims) == []
    assert claims["exponent"].measured == pytest.approx(0.1, abs=1e-6)
    assert claims["below-dim"].measured == pytest.approx(20 * 8**0.1 * 1.01 / 64, rel=1e-3)
    check_figures(found, ["needed", "loss"])


@pytest.mark.parametrize(
    ("numbers", "wrong", "open_"),
    [
        ({"exponent": 1.0}, ["exponent", "below-dim"], []),
        ({"at_first": 60.0}, ["below-dim"], []),
        ({"floor": 0.2}, ["learnt"], ["exponent", "below-dim"]),
    ],
    ids=["as the dimension", "more than the dimension", "never learnt"],
)
def test_claims_can_fail(numbers, wrong, open_):
    claims = {each.id: each for each in reading(**numbers).claims}
    assert failing(claims) == wrong
    assert undecided(claims) == open_


def test_crossing():
    assert crossing([10, 100], [LEARNT * 10, LEARNT / 10]) == pytest.approx(math.sqrt(1000))
    assert crossing([10, 20, 40, 80], [1.0, LEARNT / 2, 4 * LEARNT, LEARNT / 4]) == pytest.approx(40 * 2**0.5)
    for losses in ([1.0, 0.9], [LEARNT, LEARNT / 2], [1.0, math.nan]):
        assert math.isnan(crossing([10, 100], losses))


def test_the_target_does_not_depend_on_the_dimension():
    small, large = (problem_of(SETTINGS, d, 1).sample(20, Stream(0)) for d in (8, 64))
    torch.testing.assert_close(small.y, large.y)
    torch.testing.assert_close(large.x.norm(dim=1), torch.ones(20))


def test_settings_that_do_not_fit():
    with pytest.raises(InputError, match=r"dims must hold at least two numbers, got \(8,\)"):
        replace(SETTINGS, dims=(8,))
    with pytest.raises(InputError, match="relevant must be at least 2, got 1"):  # the target would be constant
        replace(SETTINGS, relevant=1)
    with pytest.raises(InputError, match=r"share must lie in \[0\.001, 0\.75\), got 1e-30"):
        replace(SETTINGS, share=1e-30)
