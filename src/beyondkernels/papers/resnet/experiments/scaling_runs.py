"""The runs of resnet/scaling: its settings, its learners, and the search for the samples that each needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, rising
from beyondkernels.lab import At, Backend, Bisection, Count, Seeds, Size, setting
from beyondkernels.papers.resnet.experiments.exact_kernels import kernel_of
from beyondkernels.papers.resnet.experiments.exact_risks import THRESHOLD, network_of
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Learner, Outcome
    from beyondkernels.kernels import Kernel

NETWORK, MACHINE, BEST = "network", "feature machine", "best kernel"
POWER, POLYNOMIAL = "linear + power", "polynomial"
KERNELS = (POWER, POLYNOMIAL, "Gaussian", "tangent")
LEARNERS = {NETWORK: (NETWORK,), MACHINE: (MACHINE,), BEST: KERNELS}

LEAST = 8
"""The least N that is tried."""

Dims = Annotated[tuple[int, ...], at_most(100), rising, not_empty]


@dataclass(frozen=True)
class ScalingSettings(Checked):
    """The numbers of the experiment."""

    alpha: Annotated[float, between(0.001, 1, "[)")] = setting(0.3, "ours", "α, as in §8.1")
    outputs: Annotated[tuple[int, ...], between(2, 4), rising, not_empty] = setting((2, 3, 4), "ours", "k")
    dims2: Dims = setting((10, 14, 20, 28, 40, 56), "ours", "d for k = 2")
    dims3: Dims = setting((8, 10, 12, 15, 18, 22), "ours", "d for k = 3")
    dims4: Dims = setting((8, 9, 10, 12, 14, 16), "ours", "d for k = 4")
    start: Annotated[int, at_least(LEAST)] = setting(64, "ours", "the first N of network and feature machine")
    most: Annotated[int, at_least(LEAST), at_most(5000)] = setting(2400, "ours", "no larger N is tried")
    resolution: Annotated[float, between(0, 1, "[]")] = setting(
        0.05, "ours", "how well N is known, relative: for network and feature machine"
    )
    growth: Annotated[float, between(1.1, 100)] = setting(
        1.25, "ours", "by which N grows from the bound on, until a kernel gets there"
    )
    kernel_resolution: Annotated[float, between(0, 1, "[]")] = setting(0.03, "ours", "for kernels")
    width: Count = setting(100, "ours", "m")
    rate: Size = setting(0.05, "ours", "learning rate; chosen with instances and seeds 100 to 103")
    decay: Size = setting(0.003, "ours", "weight decay; chosen likewise")
    momentum: Annotated[float, between(0, 1, "[)")] = setting(0.9, "ours", "as in §8.1")
    batch: Count = setting(50, "ours", "as in §8.1; all points, where there are fewer")
    steps: Annotated[int, at_least(2)] = setting(8000, "ours", "of SGD; the rate falls by 10 after half of them")
    rounds: Annotated[int, at_least(1), at_most(100)] = setting(5, "ours", "of the feature machine")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: of target, points and start")
    test_samples: Count = setting(10_000, "ours", "fresh points for the risk of network and feature machine")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        for k, dims in self.dims.items():
            require(len(dims) > 1 and dims[0] > k, f"dims{k} must hold at least two numbers, all above {k}, got {dims}")
        require(self.start <= self.most, f"start must be at most {self.most}, the largest N, got {self.start}")

    @property
    def dims(self) -> dict[int, tuple[int, ...]]:
        """All d, by k."""
        given = {2: self.dims2, 3: self.dims3, 4: self.dims4}
        return {k: given[k] for k in self.outputs}

    @property
    def threshold(self) -> float:
        """The risk to come below, α²/16."""
        return self.alpha**2 / THRESHOLD


def bound(outputs: int, dim: int) -> float:
    """No kernel has a mean best risk of α²/16 with fewer points: C(1 − 1/(16k)), where kα²(1 − N/C) is α²/16.

    >>> bound(2, 10)
    43.59375
    """
    return math.comb(dim, outputs) * (1 - 1 / (THRESHOLD * outputs))


def bisection(s: ScalingSettings, at: At) -> Bisection:
    """How N is searched at a place: for a kernel from the bound upwards."""
    if at.method in KERNELS:
        start = max(1, min(s.most, math.ceil(bound(at.outputs, at.dim))))
        return Bisection(start, s.most, 1, s.growth, s.kernel_resolution)
    return Bisection(s.start, s.most, LEAST, resolution=s.resolution)


def enough(s: ScalingSettings, at: At, outcome: Outcome) -> bool:
    """Whether the risk is α²/16 or less: the mean over targets of a kernel's best risk, or the test error."""
    return outcome.scalars["risk" if at.method in KERNELS else "test_loss"] <= s.threshold


def spec(s: ScalingSettings, at: At) -> RunSpec:
    """One learner with N points; each seed has a target of its own."""
    problem = bk.resnet.HardInstance(at.dim, at.outputs, s.alpha, instance=at.seed)
    if at.method in KERNELS:
        learner: Learner = bk.resnet.BestRisk(made_kernel(at.method, at.outputs), targets=1)
        return RunSpec(problem, learner, at.samples, 0, at.seed)
    if at.method == MACHINE:
        learner = bk.kernels.RecursiveFeatureMachine("gaussian", rounds=s.rounds)
        return RunSpec(problem, learner, at.samples, s.test_samples, at.seed)
    rule = bk.algorithms.GradientDescent(
        s.steps, s.rate, min(s.batch, at.samples), s.momentum, s.decay, "all", bk.algorithms.Squared(), (s.steps // 2,)
    )
    learner = bk.engine.TrainedNetwork(network_of(s.width), rule, backend=s.backend)
    return RunSpec(problem, learner, at.samples, s.test_samples, at.seed)


def made_kernel(name: str, outputs: int) -> Kernel:
    """The kernel of that name; two of them know the degree k."""
    polynomial = bk.kernels.PolynomialKernel
    if name == POWER:
        return polynomial(1, offset=0.0) + polynomial(outputs, offset=0.0)
    return polynomial(outputs) if name == POLYNOMIAL else kernel_of(name, 1, outputs, 0)


def row(s: ScalingSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The number of targets, the bound for all kernels, and the risk."""
    risk = outcome.scalars.get("risk" if at.method in KERNELS else "test_loss")
    return {"targets": math.comb(at.dim, at.outputs), "bound": bound(at.outputs, at.dim), "risk": risk}
