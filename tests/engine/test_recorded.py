"""What a rule adds to the record of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from beyondkernels.algorithms import GradientDescent, MemberView, Squared
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.core import Outcome, Problem
from beyondkernels.engine import TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.bfc import DenseNetSGD, DistilledDenseNet, QuadraticTarget, practical
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.store import RunSpec

PARITY = DictionaryParity(dim=6, patterns=5, relevant=3)


@dataclass(frozen=True)
class Counted(GradientDescent):
    """Records its step and the norm of the readout."""

    def recorded(self, view: MemberView) -> dict[str, float]:
        return {"twice": 2.0 * view.step, "norm": float(view.params["output.weight"].norm())}


def outcome_of(learner: TrainedNetwork, problem: Problem) -> Outcome:
    (outcome,) = perform([RunSpec(problem, learner, 60, 20, 0)])
    return outcome


def test_a_rules_own_numbers_have_their_own_axis() -> None:
    rule = Counted(6, 0.01, loss=Squared())
    learner = TrainedNetwork(TwoLayer(3), rule, (0, 2, 6), snapshot_at=(0, 2), snapshot_names=("output.weight",))
    found = outcome_of(learner, PARITY)
    assert found.series["step"].tolist() == [0, 2, 6]
    assert found.series["rule/step"].tolist() == [0, 2]  # training is over at step 6
    assert found.over("rule/twice")[1].tolist() == [0, 4]
    norms = [np.linalg.norm(found.arrays[f"snapshot/{step}/output.weight"]) for step in (0, 2)]
    np.testing.assert_allclose(found.series["rule/norm"], norms, rtol=1e-6)


def test_algorithm_1_records_its_objective() -> None:
    problem = QuadraticTarget(dim=4, widths=(1, 1))
    settings = practical((2.0, 0.5), problem.scales, error=1e-6, decay=0.5)
    network = DistilledDenseNet(problem.graph, 5, problem.scales)
    rule = DenseNetSGD(settings, adam(0.01), (20,) * 4, check_every=5)
    found = outcome_of(TrainedNetwork(network, rule, (1, 3), snapshot_at=(3,), snapshot_names=("all",)), problem)
    target = found.at("rule/target_error", 3)
    W = found.arrays["snapshot/3/W2.1"]
    assert set(found.arrays) == {"snapshot/3/W2.1", "snapshot/3/buffers/alpha"}
    decay = 0.5 * target**2 * (W**2).sum()  # only W₂ has joined, so λ₆ is all that Reg has
    assert found.at("rule/objective", 3) == pytest.approx(found.at("train_loss", 3) + decay, rel=1e-12)
