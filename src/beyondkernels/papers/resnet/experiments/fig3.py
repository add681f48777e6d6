"""Figure 3: the three-layer ResNet over the size of the base signal."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, not_empty, not_negative, positive, rising
from beyondkernels.papers.resnet.experiments import composite
from beyondkernels.papers.resnet.paper import PAPER

TOGETHER, LAYERWISE, TWO_STEP = "3resnet (all)", "3resnet layerwise", "two-step kernel"

LEARNT = 0.9  # the composite signal is learnt when the error is clearly below this part of kα²
ABOUT = (0.5, 2.0)  # the crossing is “at about” β = α when it lies between these multiples of α

Further = Annotated[tuple[int, ...], positive, rising]


@dataclass(frozen=True)
class Fig3Settings(composite.CompositeSettings):
    samples: lab.Count = lab.setting(500, "ours", "N, not stated for this figure; that of Figure 2(a)")
    more_samples: Further = lab.setting((1000,), "ours", "further N; that of Figure 2(b)")
    kernel_samples: Further = lab.setting((2000, 5000), "ours", "further N for the two-step kernel alone")
    betas: Annotated[tuple[float, ...], not_negative, at_most(1e30), rising, not_empty] = lab.setting(
        tuple(i / 20 for i in range(21)), "ours", "β; the paper says between 0 and 1, the steps are ours"
    )
    widths: lab.Counts = lab.setting((200, 1000), "ours", "m, not stated for this figure; the best is taken")
    two_step_weights: lab.Sizes = lab.setting(
        (1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0), "ours", "of the second kernel beside the first, the best is taken"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = (*self.sizes, *self.kernel_samples)
        rising = list(sizes) == sorted({*sizes})
        bk.core.require(rising, f"samples, more_samples and kernel_samples must increase in this order, got {sizes}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """N of the networks."""
        return self.samples, *self.more_samples

    @property
    def learnt(self) -> float:
        """The error below which the composite signal counts as learnt."""
        return LEARNT * self.threshold


class Fig3(lab.Experiment):
    id = "resnet/fig3"
    reference = PAPER.at("§8.1, Figure 3")
    quantities = {
        **composite.QUANTITIES,
        "beta": lab.Quantity("β", within=lab.NON_NEGATIVE),
        "composite_learnt": lab.Quantity(
            "coefficient of G(F), relative to α",
            ".2f",
            about="The coefficient of G(F) in the network's predictions, relative to α: the error in βF has no part.",
            heading="G(F) learnt",
        ),
    }
    seconds_per_run = {"smoke": 0.05, "laptop": 0.5, "paper": 5.0}
    settings_class = Fig3Settings
    scales = {
        "laptop": lab.scale(
            betas=(0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 1.0),
            widths=(200,),
            kernel_samples=(),
            learning_rates=(0.02, 0.05, 0.1),
            weight_decays=(0.002, 0.01, 0.05),
            test_samples=5000,
        ),
        "smoke": lab.scale(
            "laptop",
            **composite.SMOKE,
            more_samples=(120,),
            betas=(0.0, 1.0),
            widths=(8,),
            rate_limits=(0.005, 0.01),
            decay_limits=(0.002, 0.01),
        ),
    }

    def runs(self, s: Fig3Settings) -> list[lab.Runs]:
        return [
            lab.Searched(
                _network_spec,
                {"method": [TOGETHER, LAYERWISE], "samples": s.sizes, "beta": s.betas},
                _network_row,
                axes=lambda _: s.axes,
                criteria=composite.CRITERIA,
                search_seeds=s.search_seeds,
                best_of={"width": s.widths},
            ),
            lab.Runs(
                _two_step_spec,
                {"method": [TWO_STEP], "samples": (*s.sizes, *s.kernel_samples), "beta": s.betas},
                lambda _, at, outcome: bk.resnet.ridge_choices(outcome, "held out", "on_edge"),
            ),
        ]

    def claims(self, s: Fig3Settings) -> list[lab.Statement]:
        """Learnt above, not learnt below, the crossing at about α, and layerwise training worse; for every N.

        Success is judged by the choice on validation points, failure by the choice on test points.
        """
        low, high = [factor * s.alpha for factor in ABOUT]
        learnt, below_threshold = lab.AtMost(s.learnt), lab.AtMost(s.threshold)
        worse, never, made = lab.Above(0.0), "training together learns it at no β", []
        crossing = lab.Crossing(learnt, low, high, (s.alpha, "α"))
        for n in s.sizes:
            at_n: dict[str, Any] = {"method": TOGETHER, "samples": n}
            above = lab.of("test_error", "beta", choice="validation", beta=lambda b: b >= high - 1e-9, **at_n)
            below = lab.of("test_error", "beta", choice="test", beta=lambda b: b <= low + 1e-9, **at_n)
            together, layerwise = (
                lab.of("test_error", "beta", method=method, samples=n, choice="validation")
                for method in (TOGETHER, LAYERWISE)
            )
            behind, claim = (layerwise - together).where_holds(together, learnt), functools.partial(self.claim, s)
            made += [
                claim(f"learnt-{n}", above, below_threshold, f"below {s.threshold:.4g}", "learnt", n=n),
                claim(f"not-learnt-{n}", below, lab.AtLeast(s.learnt), "practically impossible", "not-learnt", n=n),
                claim(f"crossing-{n}", together, crossing, "about 1", "crossing", n=n),
                claim(f"layerwise-{n}", behind, worse, "worse (argued, not shown)", "layerwise", n=n, nowhere=never),
            ]
        return made

    def table(self, s: Fig3Settings) -> lab.Table:
        on_test = {"choice": "test"}
        more = lab.Shown("composite_learnt", where=on_test), lab.Shown("width", where=on_test, show="first")
        return lab.Table(["samples", "beta", "method"], composite.columns(*more), order=("samples", "beta"))

    def figures(self, s: Fig3Settings) -> list[lab.Over]:
        axes: dict[str, Any] = {"x": "beta", "x_label": f"β (α = {s.alpha:g})", "where": {"choice": "test"}}
        constant = [s.outputs * (s.alpha**2 + beta**2) for beta in s.betas]
        return [
            lab.Over(
                "error",
                y="test_error",
                line="method",
                panel="samples",
                levels={"βF learnt, G(F) not": s.threshold},
                more=lambda _: [lab.Line("constant", list(s.betas), constant)],
                **axes,
            ),
            lab.Over(
                "learnt",
                y="composite_learnt",
                line={
                    f"{name}, N = {n}": {"method": name, "samples": n}
                    for name in (TOGETHER, LAYERWISE)
                    for n in reversed(s.sizes)
                },
                levels={"all of it": 1.0, "nothing": 0.0},
                **axes,
            ),
        ]


def _network_spec(s: Fig3Settings, at: lab.At) -> bk.store.RunSpec:
    """The network trained together or layer by layer; what it has learnt is measured with reported seeds only."""
    rule: Any = composite.descent_of(s, at, at.samples, "all")
    if at.method == LAYERWISE:
        rule = bk.algorithms.Layerwise(rule, rule)
    network, problem = composite.network_of("3resnet", at.width), composite.problem_of(s, at.beta)
    measured = () if at.searching else (bk.resnet.LearntSignals(),)
    return composite.trained(s, problem, network, rule, at.samples, at, *measured)


def _network_row(s: Fig3Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    learnt = outcome.scalars.get("composite_coefficient")
    return {
        **composite.errors(s, at, outcome),
        "base_coefficient": outcome.scalars.get("base_coefficient"),
        "composite_learnt": None if learnt is None else learnt / s.alpha,
    }


def _two_step_spec(s: Fig3Settings, at: lab.At) -> bk.store.RunSpec:
    """Kernel regression twice, with polynomial kernels of the degrees that F and G have."""
    learner = bk.kernels.TwoStepRidge(
        bk.kernels.PolynomialKernel(2, scale=1 / s.dim),
        bk.kernels.PolynomialKernel(4, scale=1 / s.outputs),
        s.two_step_weights,
    )
    return bk.store.RunSpec(composite.problem_of(s, at.beta), learner, at.samples, s.test_samples, at.seed)
