"""Layerwise training compiled: both stages against the eager backend, cut into pieces, alone and in company."""

from dataclasses import replace
from typing import Any

import pytest

from beyondkernels.algorithms import GradientDescent, Layerwise, Squared
from beyondkernels.core import Stream
from beyondkernels.engine import Member
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation
from beyondkernels.papers.resnet.problems import CompositeParity
from stepping import finished, gap, started

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(40, Stream(0))
FIRST = GradientDescent(14, 0.01, 10, 0.9, 0.02, "all", Squared(), drops=(5,))
RULE = Layerwise(FIRST, replace(FIRST, steps=9, learning_rate=0.02, batch=8, momentum=0.5, weight_decay=0.1))
HIDDEN = Layerwise(replace(RULE.first, group="hidden"), replace(RULE.second, group="hidden"))


def network_of(form: Any) -> ThreeLayerResNet:
    return ThreeLayerResNet(12, form, parameterisation=popular_initialisation(12))


def trained(form: str, rule: Layerwise, backend: Any = "compiled", stops=(), until=None) -> Member:
    return finished(started(network_of(form), rule, SAMPLE, Stream(2), backend), stops, until)


@pytest.mark.parametrize("until", [13, 15, None])
@pytest.mark.parametrize("rule", [RULE, HIDDEN], ids=["all", "hidden"])
@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_both_stages_follow_the_eager_backend(form, rule, until):
    compiled, eager = (trained(form, rule, backend, until=until) for backend in ("compiled", "eager"))
    assert compiled.step == eager.step
    assert compiled.stage_index == eager.stage_index
    assert gap(compiled.params, eager.params) <= 3e-6
    assert gap(compiled.optimiser, eager.optimiser) <= 2e-5
