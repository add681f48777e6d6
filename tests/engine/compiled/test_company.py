"""Every compiled step in company, also beside a member that diverges, and where it finds that it has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from beyondkernels.algorithms import Algorithm, GradientDescent, Layerwise, OnePass, Squared
from beyondkernels.core import Case, Stream
from beyondkernels.engine import TrainedNetwork
from beyondkernels.networks import FullyConnected, Linearised, Network, Parameterisation, ThreeLayerResNet
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerSettings, ThreeLayerSGD
from stepping import Given, assert_diverged_together, assert_same, finished, sample, started

BIASED = Parameterisation("standard", bias_variance=0.2)
NARROW = ThreeLayerResNet(20, "bottleneck", parameterisation=BIASED)


def descent(rate: float) -> GradientDescent:
    return GradientDescent(40, rate, 10, loss=Squared())


STEPS: dict[str, tuple[Network, Callable[[float], Algorithm], float]] = {
    "descent": (
        FullyConnected(9, 3, parameterisation=BIASED),
        lambda r: GradientDescent(40, r, 10, loss=Squared()),
        40.0,
    ),
    "layer by layer": (NARROW, lambda r: Layerwise(descent(r), descent(r)), 40.0),
    "one pass": (NARROW, lambda r: OnePass(40, r, r), 3.0),
    "linearised": (Linearised(NARROW), lambda r: GradientDescent(40, r, 7, 0.9, loss=Squared()), 40.0),
    "smoothed": (
        ThreeLayerLearner(13, output_std=0.3),
        lambda r: ThreeLayerSGD(ThreeLayerSettings(), 40, r, batch=4, loss=Squared()),
        1e12,
    ),
}
"""A network, a rule with a rate, and a rate that is too large."""


@pytest.mark.parametrize("name", STEPS)
def test_alone_and_in_company_are_one_to_the_last_bit(name):
    network, rule, _ = STEPS[name]
    looks = {"record_at": (3, 40), "snapshot_at": (0, 7), "snapshot_names": ("all",)}
    learners = [TrainedNetwork(network, rule(rate), backend="compiled", **looks) for rate in (0.001, 1e12, 0.004)]
    cases = [Case(Given(), sample(seed=seed), sample(10, seed=99), Stream(seed)) for seed in range(3)]
    together = TrainedNetwork.fit_together(learners, cases, lambda _: None)
    assert [outcome.status for outcome in together] == ["finished", "diverged", "finished"]
    for learner, case, outcome in zip(learners, cases, together, strict=True):
        assert_same(learner.fit(case, lambda _: None), outcome)


@pytest.mark.parametrize("name", STEPS)
def test_divergence_is_marked_at_the_same_step_as_eagerly(name):
    network, rule, large = STEPS[name]
    compiled, eager = (
        finished(started(network, rule(large), sample(), backend=each)) for each in ("compiled", "eager")
    )
    assert_diverged_together(compiled, eager, 40)
