from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.dimension_free import LEARNT, DimensionFree, problem_of
from beyondkernels.papers.overparam.experiments.two_layers import loss
from papers.judging import check_figures, claims_in, finish, unshaken

EXPERIMENT = DimensionFree()
SETTINGS = replace(EXPERIMENT.settings("smoke"), dims=(8, 64), sample_sizes=(10, 100, 1000), seeds=3)
SEEDS = (0, 1, 2)


def test_what_the_paper_promises():
    """Losses that fall as 1/N and reach LEARNT at a number of samples that grows as a power of d."""

    def outcome(at: At, _: Any) -> Outcome:
        needed = 20 * (at.dim / 8) ** 0.1 * (1 + 0.01 * at.seed)
        whole = bk.overparam.constant_loss(problem_of(SETTINGS, 8, at.seed), loss())
        return Outcome("finished", {"test_loss": whole * LEARNT * needed / at.samples, "train_loss": 0.1})

    found = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    assert unshaken(EXPERIMENT, SETTINGS, found.rows) == []
    claims = claims_in(found)
    assert claims["exponent"].measured == pytest.approx(0.1, abs=1e-6)
    assert claims["below-dim"].measured == pytest.approx(20 * 8**0.1 * 1.01 / 64, rel=1e-3)
    check_figures(found, ["needed", "loss"])


def test_the_target_does_not_depend_on_the_dimension():
    small, large = (problem_of(SETTINGS, d, 1).sample(20, Stream(0)) for d in (8, 64))
    torch.testing.assert_close(small.y, large.y)
    torch.testing.assert_close(large.x.norm(dim=1), torch.ones(20))
