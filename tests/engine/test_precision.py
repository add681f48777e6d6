"""Samples of another precision than the network's are converted, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Problem, Sample, Stream
from beyondkernels.engine import Predictor
from beyondkernels.papers.bfc.problems import QuadraticTarget

DOUBLE = QuadraticTarget(dim=4, widths=(1,), graph=((1,),), alphas=(1.0,))


@dataclass(frozen=True)
class Single(Problem):
    """The same points in single precision."""

    source: Problem = field(default_factory=lambda: DOUBLE)

    @property
    def in_dim(self) -> int:
        return self.source.in_dim

    @property
    def out_dim(self) -> int:
        return self.source.out_dim

    def sample(self, n: int, stream: Stream) -> Sample:
        sample = self.source.sample(n, stream)
        return Sample(sample.x.float(), sample.y.float())


@pytest.mark.parametrize("batch", [None, 16])
@pytest.mark.parametrize("steps", [3, 60])  # few are taken one by one, many are written down and replayed
def test_double_points_train_a_single_network(batch, steps):
    network = bk.networks.FullyConnected(6)
    rule = GradientDescent(steps, 1e-3, batch=batch, loss=Squared())
    found = []
    for problem in (DOUBLE, Single()):
        sweep = bk.fit_many(network, problem, 48, algorithm=rule, grid=bk.grid(seed=range(2)), test=20, progress=False)
        alone = bk.fit(network, problem, n=48, algorithm=rule, seed=1, test=20, progress=False)
        assert sweep.runs[1].outcome.scalars == alone.outcome.scalars
        found.append([run.outcome.scalars["test_loss"] for run in sweep.runs])
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_single_points_train_a_double_network():
    network = bk.bfc.QuadraticDenseNet(((1,),), (1,), (1.0,))
    run = bk.fit(network, Single(), n=48, algorithm=GradientDescent(3, 1e-3, loss=Squared()), test=20)
    assert isinstance(run.outcome.predictor, Predictor)
    assert {value.dtype for value in run.outcome.predictor.params.values()} == {torch.float64}
