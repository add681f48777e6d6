"""Choosing among learners by held-out points: what is compared, what is learnt, and what happens when all fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Case, InputError, Learner, Outcome, Progress, build, describe
from beyondkernels.engine import BestOf, TrainedNetwork
from beyondkernels.kernels import KernelRidge, PolynomialKernel
from beyondkernels.networks import FullyConnected
from beyondkernels.papers.resnet.problems import Monomial
from fitting import case_of
from refusals import refused

PROBLEM = Monomial(4, degree=2)
DEGREES = tuple(KernelRidge(PolynomialKernel(degree)) for degree in (1, 2, 3))
SLOW, FAST = (TrainedNetwork(FullyConnected(6), GradientDescent(40, rate, loss=Squared())) for rate in (1e-4, 0.1))


def case(problem=PROBLEM, n=60) -> Case:
    return case_of(problem, n, 40)


def test_the_best_at_held_out_points_learns_from_all():
    here, seen = case(), []
    learner = BestOf((DEGREES[0], SLOW, FAST, DEGREES[1], DEGREES[2]))
    found = learner.fit(here, seen.append)
    order = here.stream.child("best of").permutation(60)
    outside, inside = order[:12], order[12:]
    part = Case(
        PROBLEM,
        type(here.train)(here.train.x[inside], here.train.y[inside]),
        type(here.test)(here.train.x[outside], here.train.y[outside]),
        here.stream.child("tried"),
    )
    losses = [each.fit(part, lambda _: None).scalars["test_loss"] for each in learner.candidates]
    np.testing.assert_allclose(found.arrays["candidate_losses"], losses, rtol=1e-12)
    at = int(np.argmin(losses))
    assert at in (3, 4)
    assert found.scalars["candidate"] == at
    assert found.scalars["candidate_loss"] == losses[at]
    alone = learner.candidates[at].fit(here, lambda _: None)
    assert alone.scalars.items() <= found.scalars.items()
    assert found.predictor is not None
    assert alone.predictor is not None
    assert torch.equal(found.predictor(here.test.x), alone.predictor(here.test.x))
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] == pytest.approx(1)


@dataclass(frozen=True)
class Fails(Learner):
    """Diverges, and left a number behind."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        return Outcome("diverged", {"test_loss": 0.0})


def test_what_diverges_is_not_chosen():
    found = BestOf((Fails(), DEGREES[1])).fit(case(), lambda _: None)
    assert found.scalars["candidate"] == 1
    assert np.isinf(found.arrays["candidate_losses"]).tolist() == [True, False]
    assert BestOf((Fails(), Fails())).fit(case(), lambda _: None).status == "diverged"


def test_identity_and_sentences():
    learner = BestOf(DEGREES)
    assert build(describe(learner)) == learner
    refused(r"^candidates must hold at least one value, got none$", BestOf, ())
    refused(r"^validation must leave points on both sides, got 0\.2 of 2$", learner.check, PROBLEM, 2, 1)
    batches = TrainedNetwork(FullyConnected(6), GradientDescent(40, 0.1, 50, loss=Squared()))
    with pytest.raises(InputError, match="batch"):  # 60 points would do, 48 do not
        BestOf((batches,)).check(PROBLEM, 60, 1)
    assert not BestOf((DEGREES[0], FAST)).runs_on("cuda")
    assert BestOf((SLOW, FAST)).runs_on("cuda")
