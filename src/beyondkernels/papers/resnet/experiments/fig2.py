"""Figure 2: the three-layer ResNet against kernels and fully connected networks, over width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.resnet.experiments import composite
from beyondkernels.papers.resnet.paper import PAPER

Regime = Literal["all", "hidden", "last", "NTK"]

_NETWORKS: tuple[composite.NetworkName, ...] = ("3resnet", "3layer", "2layer")
_TO_BEGIN_WITH = "for kernels trained by SGD, to begin with"


class Method(NamedTuple):
    """One curve: a network, which of its layers are trained, and whether it is solved as a kernel or trained by SGD."""

    network: composite.NetworkName
    regime: Regime
    solved: bool = False

    @property
    def kernel(self) -> bool:
        return self.regime in ("last", "NTK")

    @property
    def name(self) -> str:
        return f"{self.network} ({self.regime})" + (", by SGD" if self.kernel and not self.solved else "")

    @property
    def id(self) -> str:
        return f"{self.network}-{self.regime.lower()}" + ("-sgd" if self.kernel and not self.solved else "")


SOLVED = [Method(network, regime, solved=True) for regime in ("last", "NTK") for network in _NETWORKS]
BY_SGD = [Method(method.network, method.regime) for method in SOLVED]


@dataclass(frozen=True)
class Fig2aSettings(composite.CompositeSettings):
    kernel_rates: lab.Sizes = lab.setting((0.005, 0.01, 0.02, 0.05, 0.1), "ours", _TO_BEGIN_WITH)
    kernel_decays: lab.Sizes = lab.setting((0.01, 0.02, 0.05, 0.1, 0.2), "ours", _TO_BEGIN_WITH)
    kernel_rate_limits: lab.Sizes = lab.setting((1e-5, 1.0), "ours", "the kernels' grid does not grow beyond")
    kernel_decay_limits: lab.Sizes = lab.setting((1e-4, 10.0), "ours", "the kernels' grid does not grow beyond")

    def __post_init__(self) -> None:
        super().__post_init__()
        composite.check_axis(self, "kernel_rates", "kernel_rate_limits")
        composite.check_axis(self, "kernel_decays", "kernel_decay_limits")

    @property
    def kernel_axes(self) -> dict[str, lab.Axis]:
        decays = lab.Axis(self.kernel_decays, self.kernel_decay_limits)
        return {"learning_rate": lab.Axis(self.kernel_rates, self.kernel_rate_limits), "weight_decay": decays}


@dataclass(frozen=True)
class Fig2bSettings(Fig2aSettings):
    samples: lab.Count = lab.setting(1000, "paper", "N")


_LAPTOP = lab.scale(
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
    **dict.fromkeys(("rate_limits", "kernel_rate_limits"), (0.005, 0.02)),
    **dict.fromkeys(("decay_limits", "kernel_decay_limits"), (0.002, 0.05)),
}


class Fig2a(lab.Experiment):
    id = "resnet/fig2a"
    reference = PAPER.at("§8.1, Figure 2(a)")
    quantities = composite.QUANTITIES
    seconds_per_run = {"smoke": 0.05, "laptop": 0.3, "paper": 3.5}
    settings_class = Fig2aSettings
    scales = {"laptop": _LAPTOP, "smoke": lab.scale(**_SMOKE)}
    regime: Regime = "all"

    @property
    def networks(self) -> list[Method]:
        return [Method(network, self.regime) for network in _NETWORKS]

    def runs(self, s: Fig2aSettings) -> list[lab.Runs]:
        """What SGD trains, searched anew at every width; every kernel at every width, and at infinite width."""
        trained = {method.name: method for method in (*self.networks, *BY_SGD)}
        solved = {method.name: method for method in SOLVED}
        return [
            lab.Searched(
                lambda s, at: _trained_spec(s, trained[at.method], at),
                {"method": list(trained), "width": s.widths},
                composite.errors,
                axes=lambda at: s.kernel_axes if trained[at.method].kernel else s.axes,
                criteria=composite.CRITERIA,
                search_seeds=s.search_seeds,
            ),
            lab.Runs(
                lambda s, at: _solved_spec(s, solved[at.method], at),
                {"method": list(solved), "width": (*s.widths, math.inf)},
                lambda _, at, outcome: bk.resnet.ridge_choices(outcome, "leave-one-out", "ridge_on_edge"),
            ),
        ]

    def claims(self, s: Fig2aSettings) -> list[lab.Statement]:
        """The ResNet learns more than F; nothing else does.

        The ResNet's setting and width are those with the least validation error in the search, so no reported number
        chose them. The others are favoured: their settings are chosen on test points.
        """
        limit, (resnet, *others) = f"{s.threshold:.4g}", self.networks
        error, searched = (
            lab.of(column, "width", method=resnet.name, choice="validation")
            for column in ("test_error", "search_error")
        )
        least, below = error.at_minimum_of(searched), lab.AtMost(s.threshold)
        told = {"name": resnet.name, "limit": limit}
        made = [self.claim(s, resnet.id, least, below, f"below {limit}", "resnet", **told)]
        for method in (*others, *BY_SGD, *SOLVED):
            sentence = "solved" if method.solved else "kernel" if method.kernel else "network"
            sentence = "not-strictly-kernel" if method == Method("3resnet", "last") else sentence
            above = lab.AtLeast(s.threshold)
            value, told = lab.of("test_error", "width", method=method.name, choice="test"), told | {"name": method.name}
            made.append(self.claim(s, method.id, value, above, f"above {limit}", sentence, **told))
        return made

    def table(self, s: Fig2aSettings) -> lab.Table:
        return lab.Table(["method", "width"], composite.columns())

    def figures(self, s: Fig2aSettings) -> list[lab.Over]:
        axes: dict[str, Any] = {"x": "width", "y": "test_error"}
        floor = {"F learnt, G(F) not": s.threshold}
        levels = {**floor, "constant": self.facts(s).constant}

        def lines(methods: list[Method]) -> dict[str, dict[str, str]]:
            return {method.name: {"method": method.name, "choice": "test"} for method in methods}

        return [
            lab.Over("error", line=lines([*self.networks, *SOLVED]), levels=levels, **axes),
            lab.Over("kernels-by-sgd", line=lines(BY_SGD), levels=levels, **axes),
            lab.Over(
                "choices",
                line={
                    "fresh seeds, by test error": {"choice": "test"},
                    "fresh seeds, by validation": {"choice": "validation"},
                    "the search's own best": {"choice": "test", "y": "search_error"},
                },
                where={"method": self.networks[0].name},
                levels=floor,
                **axes,
            ),
        ]

    def facts(self, settings: Fig2aSettings) -> Any:
        constant = settings.outputs * (1 + settings.alpha**2)
        return SimpleNamespace(s=settings, constant=constant, resnet=self.networks[0].name)


class Fig2b(Fig2a):
    id = "resnet/fig2b"
    title = "A three-layer ResNet trained in its hidden layers, against kernels and plain networks"
    summary = (
        "As resnet/fig2a, but the readout keeps its random start and only the hidden layers are trained, from "
        "{{s.samples}} points: the setting of Theorem 1. Again the ResNet alone learns the composite part, once it is "
        "wide enough."
    )
    reference = PAPER.at("§8.1, Figure 2(b)")
    seconds_per_run = {"smoke": 0.1, "laptop": 0.5, "paper": 7.0}
    settings_class = Fig2bSettings
    scales = {"laptop": _LAPTOP, "smoke": lab.scale(**{**_SMOKE, "samples": 200})}
    regime = "hidden"


def _trained_spec(s: Fig2aSettings, method: Method, at: lab.At) -> bk.store.RunSpec:
    network, tangent = composite.network_of(method.network, at.width), method.regime == "NTK"
    rule = composite.descent_of(s, at, s.samples, "all" if tangent else method.regime)
    network = bk.networks.Linearised(network) if tangent else network
    return composite.trained(s, composite.problem_of(s), network, rule, s.samples, at)


def _solved_spec(s: Fig2aSettings, method: Method, at: lab.At) -> bk.store.RunSpec:
    """Kernel ridge regression with the kernel of a network drawn with the run's seed, or of an infinitely wide one."""
    tangent = method.regime == "NTK"
    if math.isinf(at.width):
        network = composite.network_of(method.network, 1000, form="full")  # the limits do not depend on this width
        kernel = bk.kernels.infinite_tangent(network) if tangent else bk.kernels.infinite_conjugate(network)
    else:
        network = composite.network_of(method.network, at.width)
        finite = bk.kernels.FiniteTangent if tangent else bk.kernels.FiniteConjugate
        kernel = finite(network, at.seed, out_dim=s.outputs)
    learner = bk.kernels.KernelRidge(kernel)
    return bk.store.RunSpec(composite.problem_of(s), learner, s.samples, s.test_samples, at.seed)
