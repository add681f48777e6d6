"""Two-layer targets and Algorithm 1: what the experiments on Theorem 4.1 share."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import beyondkernels as bk
from beyondkernels.core import Checked
from beyondkernels.core.constraints import between
from beyondkernels.frame import Backend, Count, Seeds, Size, setting

if TYPE_CHECKING:
    from beyondkernels.activations import Activation
    from beyondkernels.algorithms import PseudoHuber
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.problems import ThreeLayerTruth, TwoLayerTruth

SINE, EXPONENTIAL, SIGMOID, CUBIC = "sin 3z", "eᶻ", "1/(1 + e⁻⁴ᶻ)", "z² + z³"
FUNCTIONS = (SINE, EXPONENTIAL, SIGMOID, CUBIC)
"""φ of the ground truths."""

MEAN_POINTS = 20_000  # for what the best constant leaves


@dataclass(frozen=True)
class TwoLayerSettings(Checked):
    """How Algorithm 1 is run; the paper has no experiment, so all numbers are ours."""

    terms: Count = setting(4, "ours", "p, the neurons of the ground truth")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.1, "ours", "ε_a; the theorem has ε/Θ̃(1)")
    rate: Size = setting(
        3.0, "ours", "η m ε_a²; the theorem has η = 1/(m poly(M, log m)); chosen on seeds and truths 100 to 102"
    )
    steps: Count = setting(20_000, "ours", "T, one point each")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a ground truth of its own")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")


def function_of(name: str) -> Activation:
    """The smooth function of that name."""
    from beyondkernels.problems.resnet import Exponential, Rescaled, Sigmoid  # a declaration does not import torch

    return {
        SINE: bk.activations.Sine(3.0),
        EXPONENTIAL: Exponential(constant=True),
        SIGMOID: Rescaled(Sigmoid(), 4.0),
        CUBIC: bk.activations.Polynomial((0.0, 0.0, 1.0, 1.0)),
    }[name]


def loss() -> PseudoHuber:
    """L(ŷ, y) = √(1 + (ŷ − y)²) − 1."""
    return bk.algorithms.PseudoHuber()


def algorithm1(s: TwoLayerSettings, width: int, rate: float) -> TrainedNetwork:
    """The learner (5) of a width, trained by Algorithm 1 at a rate in units of 1/(m ε_a²)."""
    rule = bk.algorithms.TwoLayerSGD(s.steps, rate / (width * s.output_std**2), objective=loss())
    return bk.engine.TrainedNetwork(bk.networks.TwoLayerLearner(width, s.output_std), rule, backend=s.backend)


@functools.lru_cache(maxsize=1024)
def constant_loss(problem: TwoLayerTruth | ThreeLayerTruth) -> float:
    """What predicting the mean label leaves."""
    y = problem.sample(MEAN_POINTS, bk.core.Stream(0).child("constant")).y
    return float(loss().each(y.mean(0).expand_as(y), y).double().mean())
