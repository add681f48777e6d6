"""Fixed outputs of the quadratic target and its learners: a change is a new revision of a component, or a mistake."""

from dataclasses import replace

import pytest

import beyondkernels as bk
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.engine import TrainedNetwork
from beyondkernels.papers.bfc.algorithms import DenseNetSGD, Joining
from beyondkernels.papers.bfc.networks import DistilledDenseNet, QuadraticDenseNet
from beyondkernels.papers.bfc.problems import QuadraticTarget, UniformInputs
from beyondkernels.papers.bfc.theory import practical

TARGET = QuadraticTarget(5, (2, 1), ((1,), (2, 0)), (1.0, 0.2), relative=True, inputs=UniformInputs())
STDS = tuple(scale * std.value for scale, std in zip(TARGET.scales, TARGET.layer_stds.values(), strict=True))
SETTINGS = practical(STDS, TARGET.scales, error=1e-2, weight=0.1)

LEARNERS = {
    "together": TrainedNetwork(
        QuadraticDenseNet(TARGET.graph, (3, 1), TARGET.scales), Joining(adam(0.02), (6, 6), batch=50)
    ),
    "layerwise": TrainedNetwork(
        QuadraticDenseNet(TARGET.graph, (3, 1), TARGET.scales), Joining(adam(0.02), (6, 6), frozen=True, batch=50)
    ),
    "Algorithm 1": TrainedNetwork(
        DistilledDenseNet(TARGET.graph, 6, TARGET.scales),
        DenseNetSGD(SETTINGS, adam(0.02), (10, 10, 10, 10), batch=50, check_every=5, draws=5),
    ),
}
GOLDEN = {"together": 6.28091781357, "layerwise": 9.02408529387, "Algorithm 1": 1.32916882071}


@pytest.mark.parametrize("name", LEARNERS)
def test_golden_numbers_of_this_revision(name):
    # before layer 2 is distilled: the signs of singular vectors are another machine's business
    learner = replace(LEARNERS[name], record_at=(9,))
    run = bk.fit(learner, TARGET, n=200, test=100, progress=False)
    assert run.outcome.at("test_loss", 9) == pytest.approx(GOLDEN[name], rel=1e-6)
