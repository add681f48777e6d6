"""Test error of every learner against the number of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Axis,
    Count,
    Counts,
    Experiment,
    Over,
    Runs,
    Scale,
    Searched,
    Seeds,
    Shown,
    Sizes,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.lab.declaration.search_axes import check_axis
from beyondkernels.lab.report.claims import Condition
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Learner, Outcome

TOGETHER, JOINING, LAYERWISE = "training together", "layers join", "layerwise training"
SEQUENTIAL, TANGENT, POLYNOMIAL = "sequential kernels", "tangent kernel", "polynomial kernel"
TWO_LAYER, LINEAR = "two-layer polynomial network", "linear"
NETWORKS = TOGETHER, JOINING, LAYERWISE

TIMES = 20.0
"""How many times larger the error of a learner that is “much worse” must be."""

_ANY_WIDTH = 1000  # the limit of infinite width does not depend on it


@dataclass(frozen=True)
class LayerwiseSettings(common.PlainSettings):
    """The numbers of the experiment; the paper has no synthetic one."""

    samples: Counts = setting((50, 100, 200, 500, 1000, 2000, 5000, 10_000), "ours", "N")
    kernel_samples: Counts = setting((50, 100, 200, 500, 1000, 2000, 5000), "ours", "N of kernels, which cost its cube")
    handed_on: Counts = setting((1, 2, 3, 4), "ours", "features that a round of the sequential kernels may hand on")
    kernel_scales: Sizes = setting((0.01, 0.1, 1.0), "ours", "of ⟨x, y⟩/d in the polynomial kernel, to begin with")
    scale_limits: Sizes = setting((0.001, 10.0), "ours", "its grid does not grow beyond")
    shallow_samples: Counts = setting((200, 1000, 5000), "ours", "N of the two-layer network, which trains slowly")
    shallow_width: Count = setting(100, "ours", "neurons of the two-layer network")
    shallow_rates: Sizes = setting((0.001, 0.005, 0.02), "ours", "its learning rates, to begin with")
    shallow_limits: Sizes = setting((1e-4, 0.1), "ours", "its grid does not grow beyond")
    validation_samples: Count = setting(2000, "ours", "for the searches alone")
    search_seeds: Seeds = setting(2, "ours", "for the searches alone")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_axis(self, "kernel_scales", "scale_limits")
        check_axis(self, "shallow_rates", "shallow_limits")


class Layerwise(Experiment):
    """Every learner at every N."""

    id: ClassVar[str] = "bfc/layerwise"
    reference = PAPER.at("§1.2, §3 (“Comparing to sequential kernel methods”), App. I")
    text_file: ClassVar[str] = "layerwise.md"
    symbols: ClassVar[Mapping[str, str]] = {"samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 1.5, "paper": 15.0}
    settings_class: ClassVar[type] = LayerwiseSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            dim=8,
            samples=(50, 100, 200, 500, 1000, 2000),
            kernel_samples=(50, 100, 200, 500, 1000),
            steps=(1000, 2000, 5000),
            shallow_width=20,
            shallow_samples=(200, 2000),
            shallow_rates=(0.005, 0.02),
            search_seeds=1,
            test_samples=5000,
            seeds=5,
        ),
        "smoke": scale(
            dim=4,
            samples=(30, 60),
            kernel_samples=(30, 60),
            steps=(10, 10, 20),
            handed_on=(1, 2),
            kernel_scales=(0.1,),
            scale_limits=(0.05, 0.1),
            shallow_width=4,
            shallow_samples=(60,),
            shallow_rates=(0.005,),
            shallow_limits=(0.002, 0.005),
            search_seeds=1,
            validation_samples=100,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: LayerwiseSettings) -> list[Runs]:
        """What needs no search, the polynomial kernel with its scale, the two-layer network with its rate."""

        def searched(method: str, samples: tuple[int, ...], name: str, axis: Axis, chosen_by: str) -> Searched:
            return Searched(
                spec,
                {"method": [method], "samples": samples},
                row,
                axes=lambda _: {name: axis},
                criteria={chosen_by.removesuffix("_loss"): chosen_by},
                search_seeds=s.search_seeds,
            )

        scales, rates = Axis(s.kernel_scales, s.scale_limits), Axis(s.shallow_rates, s.shallow_limits)
        return [
            Runs(spec, {"method": [*NETWORKS, SEQUENTIAL], "samples": s.samples}, row),
            searched(TWO_LAYER, s.shallow_samples, "learning_rate", rates, "validation_loss"),
            Runs(spec, {"method": [TANGENT, LINEAR], "samples": s.kernel_samples}, row),
            searched(POLYNOMIAL, s.kernel_samples, "kernel_scale", scales, "leave_one_out_loss"),
        ]

    def claims(self, s: LayerwiseSettings) -> list[Statement]:
        """Training together learns every layer; nothing else does."""
        most, layer = s.samples[-1], f"a tenth of the variance of what layer {s.depth} adds"
        learns = {"together": (TOGETHER, "any ε² (Theorem 1)"), "joining": (JOINING, "the same as together (§4)")}
        lower = "points: d to the power 2^(L−1) (§3, Theorem I.1)"
        stays = {
            "layerwise-floor": (LAYERWISE, most, "is not learnt (§1.2)"),
            "sequential-floor": (SEQUENTIAL, most, "unlikely to recover the target (§3)"),
            "polynomial": (POLYNOMIAL, s.kernel_samples[-1], lower),
            "tangent": (TANGENT, s.kernel_samples[-1], lower),
            "two-layer": (TWO_LAYER, s.shallow_samples[-1], "neurons: d to the power 2 to the Ω(L) (Theorem I.6)"),
        }

        def median(name: str, method: str, samples: int, word: str, test: Condition, paper: str) -> Statement:
            text = f"With N = {samples} the median test error of “{method}” {word} {layer}"
            return claim(name, text, of("of_last_layer", method=method, samples=samples).median(), test, paper=paper)

        def behind(name: str, method: str, paper: str) -> Statement:
            text = (
                f"With N = {most} “{method}” has at least {TIMES:g} times the test error of training together (median)"
            )
            errors, best = (of("test_error", method=each, samples=most) for each in (method, TOGETHER))
            return claim(name, text, (errors / best).median(), AtLeast(TIMES), paper=paper)

        return [
            *(
                median(name, method, most, "is at most", AtMost(common.LEARNT), paper)
                for name, (method, paper) in learns.items()
            ),
            behind("layerwise", LAYERWISE, "much worse (§1.2)"),
            behind("sequential", SEQUENTIAL, "similar to layerwise training (§3)"),
            *(
                median(name, method, n, "stays above", AtLeast(common.LEARNT), paper)
                for name, (method, n, paper) in stays.items()
            ),
        ]

    def table(self, s: LayerwiseSettings) -> Table:
        """A line for each N and method."""
        return Table(
            {"samples": "N", "method": "Method"},
            [
                common.medians("test_error", "Test error", common.RELATIVE),
                Shown("test_error", "Largest", ".2g", show="largest"),
                common.medians("train_error", "Train error"),
                Shown("kernel_scale", "Scale", "g", show="first"),
                Shown("learning_rate", "Rate", "g", show="first"),
            ],
            order=("samples",),
        )

    def figures(self, s: LayerwiseSettings) -> list[Over]:
        """Test error over N."""
        methods = (TOGETHER, JOINING, LAYERWISE, SEQUENTIAL, TWO_LAYER, POLYNOMIAL, TANGENT, LINEAR)
        return [
            Over(
                "error",
                "Test error over the number of points",
                "Error over the variance of the target, so that 1 is what the best constant leaves. Below a "
                f"tenth of what layer {s.depth} adds, that layer has been learnt too.",
                "Test errors over the number of points, a line for each learner",
                x="samples",
                y="test_error",
                line={method: {"method": method} for method in methods},
                x_label="N",
                y_label="test error / Var(G*)",
                x_scale="log",
                y_scale="log",
                middle="median",
                levels={"best constant": 1.0, **common.bar(s)},
            )
        ]


def spec(s: LayerwiseSettings, at: At) -> RunSpec:
    """One learner at one N."""
    problem = s.target(at.seed)
    return RunSpec(problem, learner_of(s, at), at.samples, s.test_samples, at.seed, (), s.validation_samples)


def learner_of(s: LayerwiseSettings, at: At) -> Learner:
    """The learner that a method names."""
    if at.method in NETWORKS:
        steps = (sum(s.steps),) if at.method == TOGETHER else s.steps
        rule: Any = common.rule_of(s, steps, at.samples, frozen=at.method == LAYERWISE)
        return bk.engine.TrainedNetwork(common.network_of(s, s.target(at.seed)), rule)
    if at.method == TWO_LAYER:
        shallow = bk.bfc.PolynomialTwoLayer(s.shallow_width, s.degree // 2, scale=s.start)
        return bk.engine.TrainedNetwork(shallow, common.descent_of(s, sum(s.steps), at.samples, at.learning_rate))
    if at.method == SEQUENTIAL:
        return bk.kernels.SequentialKernels(s.depth - 1, s.handed_on)
    if at.method == TANGENT:
        scales = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=s.dim)
        wide = bk.networks.FullyConnected(_ANY_WIDTH, s.depth, parameterisation=scales)
        return bk.kernels.KernelRidge(bk.kernels.infinite_tangent(wide))
    degree, size = (1, 1.0) if at.method == LINEAR else (s.degree, at.kernel_scale)
    return bk.kernels.KernelRidge(bk.kernels.PolynomialKernel(degree, scale=size / s.dim))


def row(s: LayerwiseSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Errors over the variance of the target, and over that of its last layer."""
    return common.errors(s.target(at.seed), outcome)
