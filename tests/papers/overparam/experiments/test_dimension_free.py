from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At, Reading
from beyondkernels.papers.overparam.experiments.dimension_free import LEARNT, DimensionFree, problem_of
from beyondkernels.papers.overparam.experiments.two_layers import loss
from papers.judging import check_figures, claims_in, failing, finish, undecided

EXPERIMENT = DimensionFree()
SETTINGS = replace(EXPERIMENT.settings("smoke"), dims=(8, 64), sample_sizes=(10, 100, 1000), seeds=3)
SEEDS = (0, 1, 2)


def reading(exponent: float = 0.1, at_first: float = 20.0, floor: float = 0.0) -> Reading:
    """Losses that fall as 1/N and reach LEARNT at a number of samples that grows as a power of d."""

    def outcome(at: At, _: Any) -> Outcome:
        needed = at_first * (at.dim / 8) ** exponent * (1 + 0.01 * at.seed)
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, 8, at.seed), loss())
        relative = max(LEARNT * needed / at.samples, floor)
        return Outcome("finished", {"test_loss": whole * relative, "train_loss": 0.1})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_what_the_paper_promises():
    found = reading()
    claims = claims_in(found)
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
    claims = claims_in(reading(**numbers))
    assert failing(claims) == wrong
    assert undecided(claims) == open_


def test_the_target_does_not_depend_on_the_dimension():
    small, large = (problem_of(SETTINGS, d, 1).sample(20, Stream(0)) for d in (8, 64))
    torch.testing.assert_close(small.y, large.y)
    torch.testing.assert_close(large.x.norm(dim=1), torch.ones(20))
