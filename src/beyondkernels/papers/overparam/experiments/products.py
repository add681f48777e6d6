"""What ``overparam/theorem42`` trains: networks of three and two layers and their kernels, on two cases of (19)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between
from beyondkernels.lab import At, Backend, Count, Counts, Seeds, Size, setting
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.core import Outcome
    from beyondkernels.networks import Network
    from beyondkernels.papers.overparam.problems import ThreeLayerTruth

ONE, SUMS = "one product", "product of sums"
TARGETS = (ONE, SUMS)
"""cos(c⟨w₁, x⟩) cos(c⟨w₂, x⟩), and a product of sums of smooth steps erf(a⟨w, x⟩)."""

THREE, TWO = "three layers", "two layers"
FIRST, SECOND = "Algorithm 2 (L1)", "Algorithm 2 (L2)"
VARIANTS: dict[str, Literal["L1", "L2"]] = {FIRST: "L1", SECOND: "L2"}
KERNEL_THREE, KERNEL_TWO = (f"tangent kernel, {name}" for name in (THREE, TWO))
KERNELS = {KERNEL_THREE: THREE, KERNEL_TWO: TWO}
METHODS = (THREE, *VARIANTS, TWO, *KERNELS)

Frequency = Annotated[float, between(0.01, 1e6)]
"""Below, a target is constant up to rounding; above, rounding is all there is of a wave."""
Rate = Annotated[float, between(0, 1, "()")]
Std = Annotated[float, between(0, 1, "(]")]

TUNED = "chosen on truth and seed 100"
VARIANCE_POINTS = 20_000
EPSILON = 0.01
"""ε of the practical settings of Algorithm 2, which only the waiting time of λ depends on."""


@dataclass(frozen=True)
class Theorem42Settings(Checked):
    """The numbers of the experiment; the paper has none."""

    dim: Count = setting(6, "ours", "d")
    frequency: Frequency = setting(
        14.0, "ours", "c of the one product; chosen on truths from 100 on; the paper's example has 100"
    )
    steepness: Frequency = setting(100.0, "ours", "a of the product of sums; chosen on truths 100 to 102")
    inner_terms: Count = setting(2, "ours", "p₂ of the product of sums")
    sample_sizes: Counts = setting((750, 1500, 3000, 6000), "ours", "N")
    width: Count = setting(400, "ours", "m₁ = m₂ of three layers on the one product; among 200 and 400")
    sums_width: Count = setting(200, "ours", "the same on the product of sums")
    two_layer_width: Count = setting(4000, "ours", "m of two layers")
    rate: Size = setting(
        0.003, "ours", "Adam's first rate for three layers on the one product; chosen on truths and seeds from 100 on"
    )
    sums_rate: Size = setting(0.01, "ours", "the same on the product of sums")
    two_layer_rate: Size = setting(0.03, "ours", "the same for two layers, chosen in the same way")
    steps: Count = setting(20_000, "ours", "T of three layers")
    two_layer_steps: Count = setting(
        160_000, "ours", "T of two layers, which are slower to learn and quicker to compute"
    )
    batch: Count = setting(100, "ours", "points in a step")
    test_samples: Count = setting(10_000, "ours")
    seeds: Seeds = setting(5, "ours", "0, 1, 2, …: each has ground truths of its own")
    sgd_width: Count = setting(200, "ours", "m₁ = m₂ under Algorithm 2, whose steps draw numbers for every weight")
    sgd_steps: Count = setting(30_000, "ours", "T of Algorithm 2")
    sgd_rate: Rate = setting(0.02, "ours", f"η of Algorithm 2 with L1; {TUNED}")
    sgd_output_std: Std = setting(0.14, "ours", f"ε_a of Algorithm 2 with L1; {TUNED}")
    signed_rate: Rate = setting(0.01, "ours", f"η of Algorithm 2 with L2; {TUNED}")
    signed_output_std: Std = setting(0.1, "ours", f"ε_a of Algorithm 2 with L2; {TUNED}")
    sgd_gradient_noise: Annotated[float, between(0, 1)] = setting(
        1e-3, "ours", "σ_n of Algorithm 2; the paper says that this noise may not be necessary"
    )
    loss_factor: Size = setting(100.0, "ours", "Algorithm 2 descends on so many squared errors; from an estimate")
    radius: Size = setting(100.0, "ours", "R of the penalties; from an estimate")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")

    def __post_init__(self) -> None:
        smallest = self.sample_sizes[0]
        require(
            self.batch <= smallest, f"batch must be at most the least of sample_sizes, {smallest}, got {self.batch}"
        )

    @property
    def most(self) -> int:
        """The largest N."""
        return self.sample_sizes[-1]


def problem_of(s: Theorem42Settings, target: str, seed: int) -> ThreeLayerTruth:
    """The ground truth of a seed."""
    if target == ONE:
        function, terms = bk.activations.Cosine(s.frequency), 1
    else:
        function, terms = bk.activations.Erf(s.steepness), s.inner_terms
    inputs = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.ThreeLayerTruth(
        inputs, "identity", function, function, outer_terms=1, inner_terms=terms, instance=seed
    )


def network_of(s: Theorem42Settings, target: str, name: str) -> Network:
    """The network of a method on a target."""
    if name in VARIANTS:
        return bk.overparam.ThreeLayerLearner(s.sgd_width, s.sgd_output_std if name == FIRST else s.signed_output_std)
    if name == THREE:
        return bk.overparam.ThreeLayerLearner(s.width if target == ONE else s.sums_width)
    return bk.overparam.TwoLayerLearner(s.two_layer_width)


def rule_of(s: Theorem42Settings, target: str, name: str) -> Algorithm:
    """How a network is trained: by Algorithm 2 with practical settings, or by Adam."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    squared = bk.algorithms.Squared()
    if name in VARIANTS:
        rate, steps = s.sgd_rate if name == FIRST else s.signed_rate, s.sgd_steps
        settings = bk.overparam.practical(
            EPSILON, s.sgd_width, rate=rate, steps=steps, gradient_noise=s.sgd_gradient_noise, radius=s.radius
        )
        objective = bk.algorithms.Scaled(squared, s.loss_factor)
        return bk.overparam.ThreeLayerSGD(settings, steps, rate, VARIANTS[name], s.batch, objective)
    deep = s.rate if target == ONE else s.sums_rate
    rate, steps = (deep, s.steps) if name == THREE else (s.two_layer_rate, s.two_layer_steps)
    return bk.algorithms.Descent(steps, adam(Cosine(rate, steps)), s.batch, loss=squared)


def spec(s: Theorem42Settings, at: At) -> RunSpec:
    """One run."""
    if at.method in KERNELS:
        learner = bk.kernels.KernelRidge(bk.kernels.infinite_tangent(network_of(s, at.target, KERNELS[at.method])))
    else:
        network, rule = network_of(s, at.target, at.method), rule_of(s, at.target, at.method)
        learner = bk.engine.TrainedNetwork(network, rule, backend=s.backend)
    return RunSpec(problem_of(s, at.target, at.seed), learner, at.samples, s.test_samples, at.seed)


def row(s: Theorem42Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The test error over the variance of the target."""
    factor = s.loss_factor if at.method in VARIANTS else 1.0
    test, train = (outcome.scalars.get(name) for name in ("test_loss", "train_loss"))
    whole = variance(problem_of(s, at.target, at.seed))
    return {
        "relative": None if test is None else test / factor / whole,
        "train_loss": None if train is None else train / factor,
    }


@functools.lru_cache(maxsize=256)
def variance(problem: ThreeLayerTruth) -> float:
    """The variance of the labels."""
    return float(problem.sample(VARIANCE_POINTS, bk.core.Stream(0).child("variance")).y.double().var())
