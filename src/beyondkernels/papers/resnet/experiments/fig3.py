"""Figure 3: the three-layer ResNet over the size of the base signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.core.constraints import at_most, not_empty, not_negative, positive, rising
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Counts,
    Crossing,
    Experiment,
    Line,
    Over,
    Runs,
    Scale,
    Searched,
    Shown,
    Sizes,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.resnet.experiments import composite
from beyondkernels.papers.resnet.experiments.searching import CRITERIA
from beyondkernels.papers.resnet.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

TOGETHER, LAYERWISE, TWO_STEP = "3resnet (all)", "3resnet layerwise", "two-step kernel"

LEARNT = 0.9
"""The composite signal is learnt when the error is clearly below this part of kα²."""

ABOUT = (0.5, 2.0)
"""The crossing is “at about” β = α when it lies between these multiples of α."""


@dataclass(frozen=True)
class Fig3Settings(composite.CompositeSettings):
    """The numbers of Figure 3; the defaults are the paper's where it states them."""

    samples: Count = setting(500, "ours", "N, not stated for this figure; that of Figure 2(a)")
    more_samples: Annotated[tuple[int, ...], positive, rising] = setting(
        (1000,), "ours", "further N; that of Figure 2(b)"
    )
    kernel_samples: Annotated[tuple[int, ...], positive, rising] = setting(
        (2000, 5000), "ours", "further N for the two-step kernel alone"
    )
    betas: Annotated[tuple[float, ...], not_negative, at_most(1e30), rising, not_empty] = setting(
        tuple(i / 20 for i in range(21)), "ours", "β; the paper says between 0 and 1, the steps are ours"
    )
    widths: Counts = setting((200, 1000), "ours", "m, not stated for this figure; the best is taken")
    two_step_weights: Sizes = setting(
        (1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0), "ours", "of the second kernel beside the first, the best is taken"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = (*self.sizes, *self.kernel_samples)
        rising = list(sizes) == sorted({*sizes})
        require(rising, f"samples, more_samples and kernel_samples must increase in this order, got {sizes}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """N of the networks."""
        return self.samples, *self.more_samples

    @property
    def learnt(self) -> float:
        """The error below which the composite signal counts as learnt."""
        return LEARNT * self.threshold


class Fig3(Experiment):
    """β from 0 to 1."""

    id: ClassVar[str] = "resnet/fig3"
    reference = PAPER.at("§8.1, Figure 3")
    text_file: ClassVar[str] = "fig3.md"
    symbols: ClassVar[Mapping[str, str]] = {"beta": "β", "samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 0.5, "paper": 5.0}
    settings_class: ClassVar[type] = Fig3Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            betas=(0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 1.0),
            widths=(200,),
            kernel_samples=(),
            learning_rates=(0.02, 0.05, 0.1),
            weight_decays=(0.002, 0.01, 0.05),
            test_samples=5000,
        ),
        "smoke": scale(
            "laptop",
            **composite.SMOKE,
            more_samples=(120,),
            betas=(0.0, 1.0),
            widths=(8,),
            rate_limits=(0.005, 0.01),
            decay_limits=(0.002, 0.01),
        ),
    }

    def runs(self, s: Fig3Settings) -> list[Runs]:
        """Both ways of training, searched anew at every N and β; the two-step kernel."""
        return [
            Searched(
                network_spec,
                {"method": [TOGETHER, LAYERWISE], "samples": s.sizes, "beta": s.betas},
                network_row,
                axes=lambda _: s.axes,
                criteria=CRITERIA,
                search_seeds=s.search_seeds,
                best_of={"width": s.widths},
            ),
            Runs(
                two_step_spec,
                {"method": [TWO_STEP], "samples": (*s.sizes, *s.kernel_samples), "beta": s.betas},
                lambda _, at, outcome: composite.solved(outcome, "held out", "on_edge"),
            ),
        ]

    def claims(self, s: Fig3Settings) -> list[Statement]:
        """Learnt above, not learnt below, the crossing at about α, and layerwise training worse; for every N."""
        return [statement for n in s.sizes for statement in _claims(s, n)]

    def table(self, s: Fig3Settings) -> Table:
        """A line for each N, β and method."""
        on_test, without = {"choice": "test"}, {"choice": ("validation", "held out")}
        return Table(
            {"samples": "N", "beta": "β", "method": "Method"},
            [
                Shown("test_error", "Chosen on test points", ".3f", on_test),
                Shown("test_error", "Chosen without", ".3f", without),
                Shown("search_error", "In the search", ".3f", on_test, "first"),
                Shown("composite_learnt", "G(F) learnt", ".2f", on_test),
                Shown("width", "Width", "", on_test, "first"),
                Shown("learning_rate", "Rate", "g", on_test, "first"),
                Shown("weight_decay", "Decay", "g", on_test, "first"),
            ],
            order=("samples", "beta"),
        )

    def figures(self, s: Fig3Settings) -> list[Over]:
        """Test error over β for every N, and what is learnt of G(F)."""
        x = {"x": "beta", "x_label": f"β (α = {s.alpha:g})", "where": {"choice": "test"}}
        constant = [s.outputs * (s.alpha**2 + beta**2) for beta in s.betas]
        by_test = (
            "Networks have the learning rate and weight decay that a search with other seeds found best on test "
            "points, at every β. The kernel has the weight and ridge that are best on the test points."
        )
        return [
            Over(
                "error",
                "Test error over β, N = {}",
                by_test,
                "Trained together, the ResNet falls below the error of learning βF alone once β is well above α",
                y="test_error",
                line="method",
                panel="samples",
                y_label="test error E‖out − y‖²",
                y_scale="log",
                levels={"βF learnt, G(F) not": s.threshold},
                more=lambda _: [Line("constant", list(s.betas), constant)],
                **x,
            ),
            Over(
                "learnt",
                "What is learnt of the composite signal",
                "The coefficient of G(F) in the network's predictions, relative to α. The error in βF has no part in "
                "it.",
                "The share of G(F) that is learnt is zero for small β and rises once β is well above α",
                y="composite_learnt",
                line={
                    f"{name}, N = {n}": {"method": name, "samples": n}
                    for name in (TOGETHER, LAYERWISE)
                    for n in reversed(s.sizes)
                },
                y_label="coefficient of G(F), relative to α",
                levels={"all of it": 1.0, "nothing": 0.0},
                **x,
            ),
        ]


def _claims(s: Fig3Settings, n: int) -> list[Statement]:
    """The four claims at one N: success by the choice on validation points, failure by the choice on test points."""
    high, low = ABOUT[1] * s.alpha - 1e-9, ABOUT[0] * s.alpha + 1e-9
    together = of("test_error", "beta", method=TOGETHER, samples=n, choice="validation")
    layerwise = of("test_error", "beta", method=LAYERWISE, samples=n, choice="validation")
    learnt = AtMost(s.learnt, "clearly")
    at_n = {"method": TOGETHER, "samples": n}
    return [
        claim(
            f"learnt-{n}",
            f"N = {n}: at every β ≥ 2α, the test error of {TOGETHER} is clearly below kα² = {s.threshold:.4g}",
            of("test_error", "beta", choice="validation", beta=lambda beta: beta >= high, **at_n),
            AtMost(s.threshold, "clearly"),
            paper=f"below {s.threshold:.4g}",
        ),
        claim(
            f"not-learnt-{n}",
            f"N = {n}: at every β ≤ α/2, the test error of {TOGETHER} is at least {LEARNT:g}·kα², even if chosen on "
            "test points",
            of("test_error", "beta", choice="test", beta=lambda beta: beta <= low, **at_n),
            AtLeast(s.learnt),
            paper="practically impossible",
        ),
        claim(
            f"crossing-{n}",
            f"N = {n}: the composite signal begins to be learnt at about β = α: between {ABOUT[0]:g}α and "
            f"{ABOUT[1]:g}α",
            together,
            Crossing(learnt, ABOUT[0] * s.alpha, ABOUT[1] * s.alpha, (s.alpha, "α")),
            paper="about 1",
        ),
        claim(
            f"layerwise-{n}",
            f"N = {n}: at every β where training together learns the composite signal, training layer by layer has a "
            "clearly larger test error (the difference, seed by seed)",
            (layerwise - together).where_holds(together, learnt),
            AtLeast(0.0, "clearly"),
            paper="worse (argued, not shown)",
            nowhere="training together learns it at no β",
        ),
    ]


def network_spec(s: Fig3Settings, at: At) -> RunSpec:
    """The network trained together or layer by layer; what it has learnt is measured with reported seeds only."""
    rule: Any = composite.descent_of(s, at, at.samples, "all")
    if at.method == LAYERWISE:
        rule = bk.algorithms.Layerwise(rule, rule)
    network, problem = composite.network_of("3resnet", at.width), composite.problem_of(s, at.beta)
    measured = () if at.searching else (bk.resnet.LearntSignals(),)
    return composite.trained(s, problem, network, rule, at.samples, at, *measured)


def network_row(s: Fig3Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Errors, and what the predictions hold of F and G(F)."""
    learnt = outcome.scalars.get("composite_coefficient")
    return {
        **composite.errors(s, at, outcome),
        "base_coefficient": outcome.scalars.get("base_coefficient"),
        "composite_learnt": None if learnt is None else learnt / s.alpha,
    }


def two_step_spec(s: Fig3Settings, at: At) -> RunSpec:
    """Kernel regression twice, with polynomial kernels of the degrees that F and G have."""
    learner = bk.kernels.TwoStepRidge(
        bk.kernels.PolynomialKernel(2, scale=1 / s.dim),
        bk.kernels.PolynomialKernel(4, scale=1 / s.outputs),
        s.two_step_weights,
    )
    return RunSpec(composite.problem_of(s, at.beta), learner, at.samples, s.test_samples, at.seed)
