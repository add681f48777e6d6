"""Test error of every learner against the number of samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.lab.declaration.search_axes import check_axis
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.paper import PAPER

TOGETHER, JOINING = "training together", "layers join"
LAYERWISE, READOUT = "layerwise training", "layerwise with fresh readouts"
"""As footnote 6 defines it: the layers below stay as they are; and as App. A.4 runs it: what reads them does not."""

SEQUENTIAL, TANGENT, POLYNOMIAL = "sequential kernels", "tangent kernel", "polynomial kernel"
TWO_LAYER, LINEAR = "two-layer polynomial network", "linear"
NETWORKS = TOGETHER, JOINING, LAYERWISE, READOUT

TIMES = 20.0  # how many times larger the error of a learner that is “much worse” must be

LAPTOP: dict[str, Any] = {"samples": (50, 100, 200, 500, 1000, 2000), "kernel_samples": (50, 100, 200, 500, 1000)}
LAPTOP |= {"shallow_width": 20, "shallow_samples": (200, 2000), "shallow_rates": (0.005, 0.02)}
SMOKE: dict[str, Any] = {"samples": (30, 60), "kernel_samples": (30, 60), "handed_on": (1, 2), "kernel_scales": (0.1,)}
SMOKE |= {"scale_limits": (0.05, 0.1), "shallow_width": 4, "shallow_samples": (60,), "shallow_rates": (0.005,)}
SMOKE |= {"shallow_limits": (0.002, 0.005)}

_ANY_WIDTH = 1000  # the limit of infinite width does not depend on it


@dataclass(frozen=True)
class LayerwiseSettings(common.PlainSettings):
    """The numbers of the experiment; the paper has no synthetic one."""

    samples: lab.Counts = lab.setting((50, 100, 200, 500, 1000, 2000, 5000, 10_000), "ours", "N")
    kernel_samples: lab.Counts = lab.setting((50, 100, 200, 500, 1000, 2000, 5000), "ours", "N of kernels; cost N³")
    handed_on: lab.Counts = lab.setting((1, 2, 3, 4), "ours", "features that a round of sequential kernels may hand on")
    kernel_scales: lab.Sizes = lab.setting((0.01, 0.1, 1.0), "ours", "of ⟨x, y⟩/d in the polynomial kernel, at first")
    scale_limits: lab.Sizes = lab.setting((0.001, 10.0), "ours", "its grid does not grow beyond")
    shallow_samples: lab.Counts = lab.setting((200, 1000, 5000), "ours", "N of the two-layer network, which is slow")
    shallow_width: lab.Count = lab.setting(100, "ours", "neurons of the two-layer network")
    shallow_rates: lab.Sizes = lab.setting((0.001, 0.005, 0.02), "ours", "its learning rates, to begin with")
    shallow_limits: lab.Sizes = lab.setting((1e-4, 0.1), "ours", "its grid does not grow beyond")
    validation_samples: lab.Count = lab.setting(2000, "ours", "for the searches alone")
    search_seeds: lab.Seeds = lab.setting(2, "ours", "for the searches alone")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_axis(self, "kernel_scales", "scale_limits")
        check_axis(self, "shallow_rates", "shallow_limits")


class Layerwise(lab.Experiment):
    id = "bfc/layerwise"
    reference = PAPER.at("§1.2, §3 (“Comparing to sequential kernel methods”), App. I")
    quantities = {
        **common.PLAIN,
        "kernel_scale": lab.Quantity("scale", "g", lab.NON_NEGATIVE),
        "learning_rate": lab.Quantity("rate", "g", lab.NON_NEGATIVE),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 1.5, "paper": 15.0}
    settings_class = LayerwiseSettings
    scales = {"laptop": lab.scale(**common.LAPTOP, **LAPTOP), "smoke": lab.scale(**common.SMOKE, **SMOKE)}

    def runs(self, s: LayerwiseSettings) -> list[lab.Runs]:
        def fixed(samples: tuple[int, ...], *methods: str) -> lab.Runs:
            return lab.Runs(spec, {"method": methods, "samples": samples}, common.errors)

        def searched(samples: tuple[int, ...], method: str, name: str, axis: lab.Axis, by: str) -> lab.Searched:
            over, seeds, chosen = {"method": [method], "samples": samples}, s.search_seeds, {by: f"{by}_loss"}
            axes = {name: axis}
            return lab.Searched(spec, over, common.errors, axes=lambda _: axes, criteria=chosen, search_seeds=seeds)

        rates, scales = lab.Axis(s.shallow_rates, s.shallow_limits), lab.Axis(s.kernel_scales, s.scale_limits)
        return [
            fixed(s.samples, *NETWORKS, SEQUENTIAL),
            searched(s.shallow_samples, TWO_LAYER, "learning_rate", rates, "validation"),
            fixed(s.kernel_samples, TANGENT, LINEAR),
            searched(s.kernel_samples, POLYNOMIAL, "kernel_scale", scales, "leave_one_out"),
        ]

    def claims(self, s: LayerwiseSettings) -> list[lab.Statement]:
        most, kernels = s.samples[-1], s.kernel_samples[-1]
        lower = "points: d to the power 2^(L−1) (§3, Theorem I.1)"

        def learns(name: str, method: str, paper: str) -> lab.Statement:
            left = lab.of("of_last_layer", method=method, samples=most).median()
            return self.claim(s, name, left, lab.AtMost(common.LEARNT), paper, "learns", n=most, method=method)

        def stays(name: str, method: str, n: int, paper: str) -> lab.Statement:
            left = lab.of("of_last_layer", method=method, samples=n).median()
            return self.claim(s, name, left, lab.AtLeast(common.LEARNT), paper, "stays", n=n, method=method)

        def behind(name: str, method: str, paper: str) -> lab.Statement:
            errors, best = (lab.of("test_error", method=each, samples=most) for each in (method, TOGETHER))
            ratio = (errors / best).median()
            return self.claim(s, name, ratio, lab.AtLeast(TIMES), paper, "behind", n=most, method=method)

        return [
            learns("together", TOGETHER, "any ε² (Theorem 1)"),
            learns("joining", JOINING, "the same as together (§4)"),
            behind("layerwise", LAYERWISE, "much worse (§1.2)"),
            behind("readout", READOUT, "much worse (§1.2)"),
            behind("sequential", SEQUENTIAL, "similar to layerwise training (§3)"),
            stays("layerwise-floor", LAYERWISE, most, "is not learnt (§1.2)"),
            stays("sequential-floor", SEQUENTIAL, most, "unlikely to recover the target (§3)"),
            stays("polynomial", POLYNOMIAL, kernels, lower),
            stays("tangent", TANGENT, kernels, lower),
            stays("two-layer", TWO_LAYER, s.shallow_samples[-1], "neurons: d to the power 2 to the Ω(L) (Theorem I.6)"),
        ]

    def table(self, s: LayerwiseSettings) -> lab.Table:
        test, train = common.medians("test_error", "train_error")
        largest = lab.Shown("test_error", "Largest", ".2g", show="largest")
        chosen = (lab.Shown(name, show="first") for name in ("kernel_scale", "learning_rate"))
        return lab.Table(["samples", "method"], [test, largest, train, *chosen], order=("samples",))

    def figures(self, s: LayerwiseSettings) -> list[lab.Over]:
        methods = (*NETWORKS, SEQUENTIAL, TWO_LAYER, POLYNOMIAL, TANGENT, LINEAR)
        return [
            lab.Over(
                "error",
                x="samples",
                y="test_error",
                line={method: {"method": method} for method in methods},
                middle="median",
                levels={"best constant": 1.0, **common.bar(s)},
            )
        ]


def spec(s: LayerwiseSettings, at: lab.At) -> bk.store.RunSpec:
    problem = s.target(at.seed)
    return bk.store.RunSpec(problem, learner_of(s, at), at.samples, s.test_samples, at.seed, (), s.validation_samples)


def learner_of(s: LayerwiseSettings, at: lab.At) -> bk.core.Learner:
    if at.method in NETWORKS:
        steps = (sum(s.steps),) if at.method == TOGETHER else s.steps
        rule: Any = common.rule_of(s, steps, at.samples, frozen=at.method in (LAYERWISE, READOUT))
        network = replace(common.network_of(s, s.target(at.seed)), readout=at.method == READOUT)
        return bk.engine.TrainedNetwork(network, rule)
    if at.method == TWO_LAYER:  # that of Theorem I.6, with the rule of the deep ones in one stage, at a rate of its own
        network = bk.bfc.PolynomialTwoLayer(s.shallow_width, s.degree // 2, scale=s.start)
        steps, squared = sum(s.steps), bk.algorithms.Squared()
        optimiser = common.fading_adam(at.learning_rate, steps, s.square)
        rule = bk.algorithms.Descent(steps, optimiser, min(s.batch, at.samples), loss=squared)
        return bk.engine.TrainedNetwork(network, rule)
    if at.method == SEQUENTIAL:
        return bk.kernels.SequentialKernels(s.depth - 1, s.handed_on)
    if at.method == TANGENT:
        scales = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=s.dim)
        wide = bk.networks.FullyConnected(_ANY_WIDTH, s.depth, parameterisation=scales)
        return bk.kernels.KernelRidge(bk.kernels.infinite_tangent(wide))
    degree, size = (1, 1.0) if at.method == LINEAR else (s.degree, at.kernel_scale)
    return bk.kernels.KernelRidge(bk.kernels.PolynomialKernel(degree, scale=size / s.dim))
