"""Images pass through problem, sample, network, kernel and store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Learner, Problem, Sample, Stream, load_file
from beyondkernels.engine import TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.kernels import (
    FixedFeatureClassifier,
    InputFeatures,
    KernelRidge,
    PolynomialKernel,
    RecursiveFeatureMachine,
    TunedKernel,
    TwoStepRidge,
)
from beyondkernels.networks import FromModule, FullyConnected, Linearised, Parameterisation, ThreeLayerResNet, TwoLayer
from beyondkernels.store import RunSpec

images = load_file(Path(__file__).parents[1] / "images.py")
PROBLEM: Problem = images.Stripes()
RULE = bk.algorithms.GradientDescent(steps=60, learning_rate=0.1, batch=20)
SQUARED = replace(RULE, loss=bk.algorithms.Squared(), learning_rate=0.005)
STANDARD = Parameterisation("standard")


@dataclass(frozen=True)
class Flat(Problem):
    """The same images, given as vectors."""

    @property
    def in_dim(self) -> int:
        return PROBLEM.in_dim

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Stream) -> Sample:
        drawn = PROBLEM.sample(n, stream)
        return Sample(drawn.x.flatten(1), drawn.y)


VECTORS: dict[str, Learner] = {
    "fully connected": TrainedNetwork(FullyConnected(8), SQUARED),
    "compiled": TrainedNetwork(FullyConnected(8, parameterisation=STANDARD), SQUARED, backend="compiled"),
    "linearised": TrainedNetwork(Linearised(FullyConnected(8)), replace(SQUARED, steps=5)),
    "two layers": TrainedNetwork(TwoLayer(4), RULE),
    "resnet": TrainedNetwork(ThreeLayerResNet(8), SQUARED),
    "ridge": KernelRidge(PolynomialKernel(2)),
    "iterative": KernelRidge(PolynomialKernel(2), choose="validation", solver="iterative"),
    "tuned": TunedKernel((PolynomialKernel(2),)),
    "two steps": TwoStepRidge(PolynomialKernel(2), PolynomialKernel(2), folds=5),
    "features": FixedFeatureClassifier(InputFeatures()),
    "feature machine": RecursiveFeatureMachine(rounds=2),
}


def test_a_problem_says_its_shape_or_its_dimension():
    assert (PROBLEM.in_shape, PROBLEM.in_dim) == ((2, 6, 6), 72)
    assert (Flat().in_shape, Flat().in_dim) == ((72,), 72)
    assert PROBLEM.sample(3, Stream(0)).x.shape == (3, 2, 6, 6)

    class Silent(Problem):
        @property
        def out_dim(self) -> int:
            return 1

        def sample(self, n: int, stream: Stream) -> Sample:
            raise NotImplementedError

    with pytest.raises(TypeError, match="Silent must say in_dim, or in_shape if its points are no vectors"):
        _ = Silent().in_shape


@pytest.mark.parametrize("name", VECTORS)
def test_those_that_want_vectors_flatten(name):
    learner = VECTORS[name]
    (shaped,) = perform([RunSpec(PROBLEM, learner, 60, 30, 1, validation_samples=10)])
    (flat,) = perform([RunSpec(Flat(), learner, 60, 30, 1, validation_samples=10)])
    assert shaped.scalars == flat.scalars
    x = PROBLEM.sample(5, Stream(3)).x
    assert shaped.predictor is not None
    assert flat.predictor is not None
    assert torch.equal(shaped.predictor(x), flat.predictor(x.flatten(1)))


def test_a_module_takes_images_as_they_are_and_beats_the_line():
    network = FromModule(images.rows_and_columns, "convolution")
    run = bk.fit(network, PROBLEM, n=200, algorithm=replace(RULE, steps=150), test=200)
    assert run.test_accuracy > 0.9
    assert run.test_accuracy > bk.fit(KernelRidge(PolynomialKernel(1)), PROBLEM, n=200, test=200).test_accuracy + 0.2
    x = PROBLEM.sample(4, Stream(9)).x
    seen = run.outcome.predictor.intermediates(x)  # pyright: ignore[reportOptionalMemberAccess, reportFunctionMemberAccess]
    assert seen["0"][0].shape == (4, 8, 6, 6)
    assert torch.equal(seen["5"][0], run.predict(x))
