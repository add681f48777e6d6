"""What Theorems 2 and 3 and the count of samples share: the hard instance, a network on it, and kernels by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, between
from beyondkernels.papers.resnet.experiments.composite import network_of

THRESHOLD = 16  # the theorems speak of risks above α²/16
NETWORK = "network"
KERNELS = ("Gaussian", "arcsin", "recursive", "random features", "conjugate", "tangent")
"""The kernels (1) to (6) that §3.1 names, the last three at infinite width."""

NARROW = ("random features, width m", "conjugate, width m", "tangent, width m")  # the last three at finite width
BOTH = ("Gaussian", "Gaussian, enumerated")  # one kernel by both routes

SMOKE: dict[str, Any] = {"batch": 10, "steps": 50, "seeds": 2, "test_samples": 100}


@dataclass(frozen=True)
class HardSettings(bk.core.Checked):
    alpha: Annotated[float, between(0.001, 1, "[)")] = lab.setting(0.3, "ours", "α, as in §8.1")
    rate: lab.Size = lab.setting(0.05, "ours", "learning rate; chosen with instances and seeds 100 to 103")
    decay: lab.Size = lab.setting(0.003, "ours", "weight decay; chosen likewise")
    momentum: Annotated[float, between(0, 1, "[)")] = lab.setting(0.9, "ours", "as in §8.1")
    batch: lab.Count = lab.setting(50, "ours", "as in §8.1; all points, where there are fewer")
    steps: Annotated[int, at_least(2)] = lab.setting(8000, "ours", "of SGD; the rate falls by 10 after half of them")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: of target, points and start")
    test_samples: lab.Count = lab.setting(10_000, "ours", "fresh points for the network's risk")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    @property
    def threshold(self) -> float:
        return self.alpha**2 / THRESHOLD


def class_size(dim: int, outputs: int) -> int:
    """The number C of targets."""
    bk.core.require(outputs <= dim, f"outputs must not exceed the dimension {dim}, got {outputs}")
    return math.comb(dim, outputs)


def problem_of(s: HardSettings, dim: int, outputs: int, at: lab.At) -> bk.resnet.HardInstance:
    """The hard instance (7.1) on uniform signs, each seed with a target of its own."""
    return bk.resnet.HardInstance(dim, outputs, s.alpha, instance=at.seed)


def network_spec(s: HardSettings, problem: Any, width: int, samples: int, at: lab.At) -> bk.store.RunSpec:
    """The three-layer ResNet of §8.1 trained by SGD in all layers."""
    rule = bk.algorithms.GradientDescent(
        s.steps, s.rate, min(s.batch, samples), s.momentum, s.decay, "all", bk.algorithms.Squared(), (s.steps // 2,)
    )
    learner = bk.engine.TrainedNetwork(network_of("3resnet", width), rule, backend=s.backend)
    return bk.store.RunSpec(problem, learner, samples, s.test_samples, at.seed)


def kernel_of(name: str, width: int, outputs: int, seed: int) -> bk.kernels.Kernel:
    """The kernel of that name; one of finite width m belongs to a network with k outputs, drawn with the seed."""
    kernels, network = bk.kernels, network_of("3resnet", width)
    biased = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=1)
    made: dict[str, Any] = {
        **dict.fromkeys(BOTH, lambda: kernels.Gaussian(1.0)),
        "arcsin": kernels.Arcsin,
        "recursive": kernels.InversePolynomial,
        "random features": lambda: kernels.InfiniteConjugate(depth=2, parameterisation=biased),
        "conjugate": lambda: kernels.InfiniteConjugate(depth=3),
        "tangent": lambda: kernels.InfiniteTangent(depth=3),
        NARROW[0]: lambda: kernels.RandomFeatureKernel(
            kernels.GaussianFeatures(width, weight_std=1.0, bias_std=1.0), seed
        ),
        NARROW[1]: lambda: kernels.FiniteConjugate(network, seed, out_dim=outputs),
        NARROW[2]: lambda: kernels.FiniteTangent(network, seed, out_dim=outputs),
    }
    return made[name]()
