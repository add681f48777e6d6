"""Figure 2: the three-layer ResNet against kernels and fully connected networks, over width."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import beyondkernels as bk
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Axis,
    Count,
    Experiment,
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
from beyondkernels.lab.declaration.search_axes import check_axis
from beyondkernels.papers.resnet.experiments import composite
from beyondkernels.papers.resnet.experiments.searching import CRITERIA, axes_of
from beyondkernels.papers.resnet.paper import PAPER
from beyondkernels.store import RunSpec

Regime = Literal["all", "hidden", "last", "NTK"]

_NETWORKS: tuple[composite.NetworkName, ...] = ("3resnet", "3layer", "2layer")
_ANY_WIDTH = 1000  # the limits of infinite width do not depend on it


@dataclass(frozen=True)
class Method:
    """One curve of the figure.

    Arguments:
        network: which network.
        regime: what is trained: all layers, the hidden ones, the last one, or all of them in the tangent kernel.
        solved: whether a kernel is solved exactly or its network is trained by SGD.
    """

    network: composite.NetworkName
    regime: Regime
    solved: bool = False

    @property
    def kernel(self) -> bool:
        """Whether it is a kernel method."""
        return self.regime in ("last", "NTK")

    @property
    def name(self) -> str:
        """As the figure calls it."""
        return f"{self.network} ({self.regime})" + (", by SGD" if self.kernel and not self.solved else "")

    @property
    def id(self) -> str:
        """The short name of its claim."""
        return f"{self.network}-{self.regime.lower()}" + ("-sgd" if self.kernel and not self.solved else "")


SOLVED = [Method(network, regime, solved=True) for regime in ("last", "NTK") for network in _NETWORKS]
BY_SGD = [Method(method.network, method.regime) for method in SOLVED]


@dataclass(frozen=True)
class Fig2aSettings(composite.CompositeSettings):
    """The numbers of Figure 2(a); the defaults are the paper's."""

    kernel_rates: Sizes = setting((0.005, 0.01, 0.02, 0.05, 0.1), "ours", "for kernels trained by SGD, to begin with")
    kernel_decays: Sizes = setting((0.01, 0.02, 0.05, 0.1, 0.2), "ours", "for kernels trained by SGD, to begin with")
    kernel_rate_limits: Sizes = setting((1e-5, 1.0), "ours", "the kernels' grid does not grow beyond")
    kernel_decay_limits: Sizes = setting((1e-4, 10.0), "ours", "the kernels' grid does not grow beyond")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_axis(self, "kernel_rates", "kernel_rate_limits")
        check_axis(self, "kernel_decays", "kernel_decay_limits")

    @property
    def kernel_axes(self) -> dict[str, Axis]:
        """Learning rates and weight decays to begin with, for kernels trained by SGD."""
        return axes_of(self.kernel_rates, self.kernel_rate_limits, self.kernel_decays, self.kernel_decay_limits)


@dataclass(frozen=True)
class Fig2bSettings(Fig2aSettings):
    """The numbers of Figure 2(b)."""

    samples: Count = setting(1000, "paper", "N")


_LAPTOP = scale(
    widths=(20, 50, 100, 200),
    learning_rates=(0.02, 0.05, 0.1),
    weight_decays=(0.002, 0.01, 0.05),
    kernel_rates=(0.005, 0.02, 0.1),
    kernel_decays=(0.01, 0.05, 0.2),
    test_samples=5000,
)
_SMOKE = {
    **composite.SMOKE,
    "widths": (8, 16),
    "kernel_rates": (0.005, 0.01),
    "kernel_decays": (0.01, 0.05),
    "rate_limits": (0.005, 0.02),
    "decay_limits": (0.002, 0.05),
    "kernel_rate_limits": (0.005, 0.02),
    "kernel_decay_limits": (0.002, 0.05),
}


class Fig2a(Experiment):
    """N = 500, all layers trained."""

    id: ClassVar[str] = "resnet/fig2a"
    reference = PAPER.at("§8.1, Figure 2(a)")
    text_file: ClassVar[str] = "fig2.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "width"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 0.3, "paper": 3.5}
    settings_class: ClassVar[type] = Fig2aSettings
    scales: ClassVar[Mapping[str, Scale]] = {"laptop": _LAPTOP, "smoke": scale(**_SMOKE)}
    regime: ClassVar[Regime] = "all"

    @property
    def networks(self) -> list[Method]:
        """The networks trained in the figure's regime, the ResNet first."""
        return [Method(network, self.regime) for network in _NETWORKS]

    def runs(self, s: Fig2aSettings) -> list[Runs]:
        """What SGD trains, searched anew at every width; every kernel at every width, and at infinite width."""
        by_name = {method.name: method for method in (*self.networks, *BY_SGD, *SOLVED)}
        names = {name: method for name, method in by_name.items() if not method.solved}
        return [
            Searched(
                lambda s, at: trained_spec(s, by_name[at.method], at),
                {"method": list(names), "width": s.widths},
                composite.errors,
                axes=lambda at: s.kernel_axes if by_name[at.method].kernel else s.axes,
                criteria=CRITERIA,
                search_seeds=s.search_seeds,
            ),
            Runs(
                lambda s, at: solved_spec(s, by_name[at.method], at),
                {"method": [method.name for method in SOLVED], "width": (*s.widths, math.inf)},
                lambda _, at, outcome: composite.solved(outcome, "leave-one-out", "ridge_on_edge"),
            ),
        ]

    def claims(self, s: Fig2aSettings) -> list[Statement]:
        """The ResNet learns more than F; nothing else does.

        The ResNet's setting and width are those with the least validation error in the search, so no reported number
        chose them. The others are favoured: their settings are chosen on test points.
        """
        bound, limit = s.threshold, f"{s.threshold:.4g}"
        resnet, *others = self.networks
        chosen = {"method": resnet.name, "choice": "validation"}
        made = [
            claim(
                resnet.id,
                f"At the width that validation points choose, {resnet.name} has a test error below {limit}",
                of("test_error", "width", **chosen).at_minimum_of(of("search_error", "width", **chosen)),
                AtMost(bound),
                paper=f"below {limit}",
            )
        ]
        for method in (*others, *BY_SGD, *SOLVED):
            how = ", solved with the ridge that suits the test points best," if method.solved else ""
            if (method.network, method.regime, method.solved) == ("3resnet", "last", False):
                how = " (no kernel method in the strict sense, since A stands twice in this network)"
            words = ("At every width", "stays above") if method.kernel else ("At no width", "falls clearly below")
            made.append(
                claim(
                    method.id,
                    f"{words[0]} the test error of {method.name}{how} {words[1]} {limit}",
                    of("test_error", "width", method=method.name, choice="test"),
                    AtLeast(bound, "mean" if method.kernel else "unless clearly not"),
                    paper=f"above {limit}",
                )
            )
        return made

    def table(self, s: Fig2aSettings) -> Table:
        """A line for each method and width."""
        on_test, without = {"choice": "test"}, {"choice": ("validation", "leave-one-out")}
        return Table(
            {"method": "Method", "width": "Width"},
            [
                Shown("test_error", "Chosen on test points", ".3f", on_test),
                Shown("test_error", "Chosen without", ".3f", without),
                Shown("search_error", "In the search", ".3f", on_test, "first"),
                Shown("learning_rate", "Rate", "g", on_test, "first"),
                Shown("weight_decay", "Decay", "g", on_test, "first"),
            ],
        )

    def figures(self, s: Fig2aSettings) -> list[Over]:
        """Test error over width, of networks and of kernels trained by SGD, and what the choices do to the ResNet's."""
        facts = self.facts(s)
        levels = {"F learnt, G(F) not": s.threshold, "constant": facts.constant}
        axes: dict[str, Any] = {
            "x": "width",
            "y": "test_error",
            "x_label": "width m",
            "y_label": "test error E‖out − y‖²",
            "x_scale": "log",
            "y_scale": "log",
        }
        resnet = self.networks[0]

        def lines(methods: list[Method]) -> dict[str, dict[str, str]]:
            return {method.name: {"method": method.name, "choice": "test"} for method in methods}

        by_test = "the learning rate and weight decay that a search with other seeds found best on test points"
        return [
            Over(
                "error",
                "Test error over width",
                f"Networks have {by_test}. Kernels are solved with the ridge that is best on the test points.",
                "Only the three-layer ResNet falls below the error of learning F alone; the kernels stay far above it",
                line=lines([*self.networks, *SOLVED]),
                levels=levels,
                **axes,
            ),
            Over(
                "kernels-by-sgd",
                "Test error over width of kernels trained by SGD",
                f"(last) trains the readout, (NTK) all parameters of the linearised network, each with {by_test}. The "
                "figure above has them solved.",
                "The kernels trained by SGD stay far above the error of learning F alone",
                line=lines(BY_SGD),
                levels=levels,
                **axes,
            ),
            Over(
                "choices",
                f"{resnet.name}: what the choice is worth",
                "The least error that the search met, which is what choosing by test error alone would print, and the "
                "errors of the chosen settings with fresh seeds.",
                "Test error over width of the same network: in the search, and retrained with fresh seeds",
                line={
                    "fresh seeds, by test error": {"choice": "test"},
                    "fresh seeds, by validation": {"choice": "validation"},
                    "the search's own best": {"choice": "test", "y": "search_error"},
                },
                where={"method": resnet.name},
                levels={"F learnt, G(F) not": s.threshold},
                **axes,
            ),
        ]

    def facts(self, settings: Fig2aSettings) -> Any:
        """The settings, and the risk of a constant."""
        constant = settings.outputs * (1 + settings.alpha**2)
        return SimpleNamespace(s=settings, constant=constant)


class Fig2b(Fig2a):
    """N = 1000, hidden layers trained."""

    id: ClassVar[str] = "resnet/fig2b"
    title: ClassVar[str] = "A three-layer ResNet trained in its hidden layers, against kernels and plain networks"
    summary: ClassVar[str] = (
        "As resnet/fig2a, but the readout keeps its random start and only the hidden layers are trained, from "
        "{{s.samples}} points: the setting of Theorem 1. Again the ResNet alone learns the composite part, once it is "
        "wide enough."
    )
    reference = PAPER.at("§8.1, Figure 2(b)")
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 0.5, "paper": 7.0}
    settings_class: ClassVar[type] = Fig2bSettings
    scales: ClassVar[Mapping[str, Scale]] = {"laptop": _LAPTOP, "smoke": scale(**{**_SMOKE, "samples": 200})}
    regime: ClassVar[Regime] = "hidden"


def trained_spec(s: Fig2aSettings, method: Method, at: At) -> RunSpec:
    """A network, or its linearisation, trained by SGD."""
    network, tangent = composite.network_of(method.network, at.width), method.regime == "NTK"
    rule = composite.descent_of(s, at, s.samples, "all" if tangent else method.regime)
    network = bk.networks.Linearised(network) if tangent else network
    return composite.trained(s, composite.problem_of(s), network, rule, s.samples, at)


def solved_spec(s: Fig2aSettings, method: Method, at: At) -> RunSpec:
    """Kernel ridge regression with the kernel of a network drawn with the run's seed, or of an infinitely wide one."""
    tangent = method.regime == "NTK"
    if math.isinf(at.width):
        network = composite.network_of(method.network, _ANY_WIDTH, form="full")
        kernel = bk.kernels.infinite_tangent(network) if tangent else bk.kernels.infinite_conjugate(network)
    else:
        network = composite.network_of(method.network, at.width)
        finite = bk.kernels.FiniteTangent if tangent else bk.kernels.FiniteConjugate
        kernel = finite(network, at.seed, out_dim=s.outputs)
    return RunSpec(composite.problem_of(s), bk.kernels.KernelRidge(kernel), s.samples, s.test_samples, at.seed)
