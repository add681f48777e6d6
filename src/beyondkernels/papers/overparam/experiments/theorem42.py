"""§4.2: products of nonlinear measurements, learnt by three layers, by two layers and by their kernels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between
from beyondkernels.papers.overparam.experiments.common import Closed, Open, size
from beyondkernels.papers.overparam.paper import PAPER

ONE, SUMS = "one product", "product of sums"
TARGETS = (ONE, SUMS)
"""cos(c⟨w₁, x⟩) cos(c⟨w₂, x⟩), and a product of sums of smooth steps erf(a⟨w, x⟩)."""

SHORT = {"one": ONE, "sums": SUMS}
"""The targets by the beginning of their claims' names, and by their figures' names."""

THREE, TWO = "three layers", "two layers"
FIRST, SECOND = "Algorithm 2 (L1)", "Algorithm 2 (L2)"
VARIANTS: dict[str, Literal["L1", "L2"]] = {FIRST: "L1", SECOND: "L2"}
KERNEL_THREE, KERNEL_TWO = (f"tangent kernel, {name}" for name in (THREE, TWO))
KERNELS = {KERNEL_THREE: THREE, KERNEL_TWO: TWO}
METHODS = (THREE, *VARIANTS, TWO, *KERNELS)

Frequency = Annotated[float, between(0.01, 1e6)]
"""Below, a target is constant up to rounding; above, rounding is all there is of a wave."""
Readout = Annotated[float, between(0, 1, "(]")]

TUNED = "chosen on truth and seed 100"
EPSILON = 0.01  # ε of the practical settings of Algorithm 2, which only the waiting time of λ depends on

DEEP = {"": THREE, "l1-": FIRST, "l2-": SECOND}
"""The ways to train three layers, by what their claims' names have in the middle."""

RELATIVE = "Mean squared error over the variance of the target."

SHORTER: dict[str, Any] = {"two_layer_width": 2000, "two_layer_steps": 80_000, "sgd_steps": 20_000}
NARROW: dict[str, Any] = {"width": 16, "sums_width": 16, "two_layer_width": 32, "sgd_width": 16}
BRIEF: dict[str, Any] = {"steps": 30, "two_layer_steps": 30, "sgd_steps": 30, "batch": 10}
"""Networks and runs of the smaller scales."""

AHEAD = 10  # how many times smaller the test error of three layers is to be
LEARNT = 0.05  # a target is learnt when the test error is at most this part of its variance


@dataclass(frozen=True)
class Theorem42Settings(bk.core.Checked):
    """The paper has no experiment, so all numbers are ours."""

    dim: lab.Count = lab.setting(6, "ours", "d")
    frequency: Frequency = lab.setting(
        14.0, "ours", "c of the one product; chosen on truths from 100 on; the paper's example has 100"
    )
    steepness: Frequency = lab.setting(100.0, "ours", "a of the product of sums; chosen on truths 100 to 102")
    inner_terms: lab.Count = lab.setting(2, "ours", "p₂ of the product of sums")
    sample_sizes: lab.Counts = lab.setting((750, 1500, 3000, 6000), "ours", "N")
    width: lab.Count = lab.setting(400, "ours", "m₁ = m₂ of three layers on the one product; among 200 and 400")
    sums_width: lab.Count = lab.setting(200, "ours", "the same on the product of sums")
    two_layer_width: lab.Count = lab.setting(4000, "ours", "m of two layers")
    rate: lab.Size = lab.setting(
        0.003, "ours", "Adam's first rate for three layers on the one product; chosen on truths and seeds from 100 on"
    )
    sums_rate: lab.Size = lab.setting(0.01, "ours", "the same on the product of sums")
    two_layer_rate: lab.Size = lab.setting(0.03, "ours", "the same for two layers, chosen in the same way")
    steps: lab.Count = lab.setting(20_000, "ours", "T of three layers")
    two_layer_steps: lab.Count = lab.setting(
        160_000, "ours", "T of two layers, which are slower to learn and quicker to compute"
    )
    batch: lab.Count = lab.setting(100, "ours", "points in a step")
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "0, 1, 2, …: each has ground truths of its own")
    sgd_width: lab.Count = lab.setting(
        200, "ours", "m₁ = m₂ under Algorithm 2, whose steps draw numbers for every weight"
    )
    sgd_steps: lab.Count = lab.setting(30_000, "ours", "T of Algorithm 2")
    sgd_rate: Open = lab.setting(0.02, "ours", f"η of Algorithm 2 with L1; {TUNED}")
    sgd_output_std: Readout = lab.setting(0.14, "ours", f"ε_a of Algorithm 2 with L1; {TUNED}")
    signed_rate: Open = lab.setting(0.01, "ours", f"η of Algorithm 2 with L2; {TUNED}")
    signed_output_std: Readout = lab.setting(0.1, "ours", f"ε_a of Algorithm 2 with L2; {TUNED}")
    sgd_gradient_noise: Closed = lab.setting(
        1e-3, "ours", "σ_n of Algorithm 2; the paper says that this noise may not be necessary"
    )
    loss_factor: lab.Size = lab.setting(
        100.0, "ours", "Algorithm 2 descends on so many squared errors; from an estimate"
    )
    radius: lab.Size = lab.setting(100.0, "ours", "R of the penalties; from an estimate")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")

    def __post_init__(self) -> None:
        least = self.sample_sizes[0]
        bk.core.require(
            self.batch <= least, f"batch must be at most the least of sample_sizes, {least}, got {self.batch}"
        )


class Theorem42(lab.Experiment):
    id = "overparam/theorem42"
    reference = PAPER.at("§4.2, Theorem 4.2, eq. (19)")
    quantities = {
        "target": lab.Quantity("target"),
        "relative": size("relative test error", ".2e", RELATIVE, heading="Test error", log=True, better="less"),
        "train_loss": size("training error", ".2e", "Mean squared error."),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 20.0, "paper": 60.0}
    settings_class = Theorem42Settings
    scales = {
        "laptop": lab.scale(**SHORTER, sgd_gradient_noise=0.0, sample_sizes=(3000, 6000), test_samples=5000, seeds=3),
        "smoke": lab.scale(**NARROW, **BRIEF, sample_sizes=(30, 60), test_samples=100, seeds=2),
    }

    def runs(self, s: Theorem42Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"target": list(TARGETS), "method": list(METHODS), "samples": s.sample_sizes}, row)]

    def claims(self, s: Theorem42Settings) -> list[lab.Statement]:
        others = {"two-layers": TWO, "kernel-three": KERNEL_THREE, "kernel-two": KERNEL_TWO}
        made, most = [], s.sample_sizes[-1]
        for (short, target), (infix, deep) in itertools.product(SHORT.items(), DEEP.items()):
            left = lab.of("relative", target=target, method=deep, samples=most)
            told = {"target": target, "deep": deep, "most": most}
            learnt = f"{short}-{infix}learnt"
            made.append(self.claim(s, learnt, left, lab.AtMost(LEARNT), "(1 + γ)ε₀ + ε", "learnt", **told))
            for name, method in others.items():
                ratio = left / lab.of("relative", target=target, method=method, samples=most)
                unclear, told["method"] = "unclear if two layers can" if method == TWO else None, method
                made.append(
                    self.claim(s, f"{short}-{infix}{name}", ratio, lab.AtMost(1 / AHEAD), unclear, "ahead", **told)
                )
        return made

    def table(self, s: Theorem42Settings) -> lab.Table:
        return lab.Table(["target", "method", "samples"], ["relative", "train_loss"])

    def figures(self, s: Theorem42Settings) -> list[lab.Over]:
        over: dict[str, Any] = {"x": "samples", "y": "relative", "line": "method"}
        return [
            lab.Over(name, f"Test error over N: {target}", where={"target": target}, **over)
            for name, target in SHORT.items()
        ]


def problem_of(s: Theorem42Settings, target: str, seed: int) -> bk.overparam.ThreeLayerTruth:
    wave, steps = bk.activations.Cosine(s.frequency), bk.activations.Erf(s.steepness)
    function, terms = (wave, 1) if target == ONE else (steps, s.inner_terms)
    inputs = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.ThreeLayerTruth(inputs, "identity", function, function, 1, terms, instance=seed)


def network_of(s: Theorem42Settings, target: str, name: str) -> bk.networks.Network:
    if name in VARIANTS:
        return bk.overparam.ThreeLayerLearner(s.sgd_width, s.sgd_output_std if name == FIRST else s.signed_output_std)
    if name == THREE:
        return bk.overparam.ThreeLayerLearner(s.width if target == ONE else s.sums_width)
    return bk.overparam.TwoLayerLearner(s.two_layer_width)


def rule_of(s: Theorem42Settings, target: str, name: str) -> bk.algorithms.Algorithm:
    """How a network is trained: by Algorithm 2 with practical settings, or by Adam."""
    squared = bk.algorithms.Squared()
    if name in VARIANTS:
        rate, steps = s.sgd_rate if name == FIRST else s.signed_rate, s.sgd_steps
        limits: dict[str, Any] = {"gradient_noise": s.sgd_gradient_noise, "radius": s.radius}
        settings = bk.overparam.practical(EPSILON, s.sgd_width, rate=rate, steps=steps, **limits)
        objective = bk.algorithms.Scaled(squared, s.loss_factor)
        return bk.overparam.ThreeLayerSGD(settings, steps, rate, VARIANTS[name], s.batch, objective)
    deep = (s.rate if target == ONE else s.sums_rate, s.steps)
    rate, steps = deep if name == THREE else (s.two_layer_rate, s.two_layer_steps)
    adam = bk.algorithms.optimisers.adam(bk.algorithms.optimisers.Cosine(rate, steps))
    return bk.algorithms.Descent(steps, adam, s.batch, loss=squared)


def spec(s: Theorem42Settings, at: lab.At) -> bk.store.RunSpec:
    if at.method in KERNELS:
        learner = bk.kernels.KernelRidge(bk.kernels.infinite_tangent(network_of(s, at.target, KERNELS[at.method])))
    else:
        network, rule = network_of(s, at.target, at.method), rule_of(s, at.target, at.method)
        learner = bk.engine.TrainedNetwork(network, rule, backend=s.backend)
    return bk.store.RunSpec(problem_of(s, at.target, at.seed), learner, at.samples, s.test_samples, at.seed)


def row(s: Theorem42Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    factor = s.loss_factor if at.method in VARIANTS else 1.0
    test, train = (outcome.scalars.get(name) for name in ("test_loss", "train_loss"))
    whole = bk.overparam.label_variance(problem_of(s, at.target, at.seed))
    relative = None if test is None else test / factor / whole
    return {"relative": relative, "train_loss": None if train is None else train / factor}
