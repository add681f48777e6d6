"""Theorem 3: exact best risks of feature maps against their number of features, and networks of as many parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core.constraints import at_least, at_most, not_empty, positive, rising
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Experiment,
    Picture,
    Runs,
    Scale,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
    setting,
)
from beyondkernels.papers.resnet.experiments.exact_risks import (
    NETWORK,
    PAPER_SHARE,
    THRESHOLD,
    Dim,
    ExactRiskSettings,
    Outputs,
    class_size,
    exact_spec,
    network_spec,
    numbers_of,
    problem_of,
    row,
)
from beyondkernels.papers.resnet.experiments.exact_views import columns, pictures, theorem_claims
from beyondkernels.papers.resnet.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.kernels import RandomFeatures

SMALL, LARGE = "enumeration", "large d"
"""The cases: d so small that all points are enumerated, and d large, with the bounds for all feature maps alone."""

NEURONS, DERIVATIVES, WAVES, PARITIES = "ReLU neurons", "NTK features", "Fourier features", "coordinates and parities"
MAPS = (NEURONS, DERIVATIVES, WAVES, PARITIES)
"""The feature maps."""

Widths = Annotated[tuple[int, ...], positive, at_most(100_000), rising, not_empty]


@dataclass(frozen=True)
class Theorem3Settings(ExactRiskSettings):
    """The numbers of the experiment."""

    dim: Annotated[int, at_least(2), at_most(16)] = setting(14, "ours", "d = d₁ for exact risks")
    outputs: Annotated[int, at_least(2), at_most(16)] = setting(4, "ours", "k there")
    widths: Widths = setting((5, 10, 20, 40), "ours", "m of the networks there")
    samples: Count = setting(2000, "ours", "points for the networks there; the theorem does not limit them")
    large_dim: Dim = setting(100, "ours", "d where D stays below C/1000")
    large_outputs: Outputs = setting(4, "ours", "k there")
    large_widths: Widths = setting((9, 18, 35), "ours", "m of the networks there")
    large_samples: Count = setting(4000, "ours", "points for the networks there")

    def __post_init__(self) -> None:
        numbers_of(self.shares, class_size(*self.sizes(SMALL)))
        class_size(*self.sizes(LARGE))

    def sizes(self, case: str) -> tuple[int, int]:
        """The dimension d and k in a case."""
        return (self.dim, self.outputs) if case == SMALL else (self.large_dim, self.large_outputs)

    def parameters(self, case: str) -> dict[int, int]:
        """The widths of the networks in a case, by how many parameters they have: W, V, A and two biases."""
        dim, outputs = self.sizes(case)
        widths = self.widths if case == SMALL else self.large_widths
        return {width * (dim + 2 * outputs + 2): width for width in widths}


class Theorem3(Experiment):
    """Exact best risks of feature maps, and networks."""

    id: ClassVar[str] = "resnet/theorem3"
    reference = PAPER.at("Theorem 3 (§3.2, §7.2, App. D.2)")
    text_file: ClassVar[str] = "theorem3.md"
    symbols: ClassVar[Mapping[str, str]] = {"functions": "D"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.03, "laptop": 3.0, "paper": 5.0}
    settings_class: ClassVar[type] = Theorem3Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(exact_seeds=2, seeds=5),
        "smoke": scale(
            dim=6,
            outputs=3,
            shares=(0.1, 1.0),
            widths=(2, 4),
            samples=40,
            large_dim=12,
            large_widths=(4,),
            large_samples=40,
            steps=50,
            batch=10,
            exact_seeds=1,
            seeds=2,
            test_samples=100,
        ),
    }

    def runs(self, s: Theorem3Settings) -> list[Runs]:
        """Feature maps where the cube is enumerated, and networks in both cases."""
        features = numbers_of(s.shares, class_size(*s.sizes(SMALL)))
        exact = {"case": [SMALL], "learner": MAPS, "functions": features}
        networks = [
            {"case": [case], "learner": [NETWORK], "functions": list(s.parameters(case))} for case in (SMALL, LARGE)
        ]
        return [Runs(spec, exact, read, seeds=s.exact_seeds), *(Runs(spec, places, read) for places in networks)]

    def claims(self, s: Theorem3Settings) -> list[Statement]:
        """The bounds, the theorem, and networks of few parameters."""

        def network(name: str, case: str, parameters: int) -> Statement:
            dim, outputs = s.sizes(case)
            unlearnt = max(0.0, 1 - 16 * parameters / (15 * class_size(dim, outputs)))
            return claim(
                name,
                f"At d = {dim}, k = {outputs} a network with D = {parameters} parameters has a risk clearly below "
                f"α²/{THRESHOLD}, while every map to D features has a best risk above it for at least {unlearnt:.4g} "
                "of the targets",
                of("risk", case=case, learner=NETWORK, functions=parameters),
                AtMost(s.threshold, "clearly"),
            )

        more = [D for D in numbers_of(s.shares, class_size(*s.sizes(SMALL))) if s.dim < D]
        last, few = list(s.parameters(LARGE))[-1], list(s.parameters(SMALL))
        return [
            *theorem_claims("feature map", "D", 3),
            network("network-large", LARGE, last),
            network("network", SMALL, few[min(1, len(few) - 1)]),
            claim(
                "tight",
                "The bound on the mean cannot be raised by more than kα²d/C: with all "
                f"d = {s.dim} coordinates and D − d parities the mean exceeds it by no more, for every D above d",
                of("room", "functions", learner=PARITIES, functions=more),
                AtMost(s.outputs * s.alpha**2 * s.dim / class_size(*s.sizes(SMALL)) * (1 + 1e-9)),
            ),
            claim(
                "usual-maps",
                f"Of the three usual maps none has a best risk of α²/{THRESHOLD} or less for any of the listed "
                "targets, at any D up to C: the smallest, in units of it",
                least("smallest_excess", per_seed=False, learner=[NEURONS, DERIVATIVES, WAVES]),
                AtLeast(1.0),
            ),
        ]

    def table(self, s: Theorem3Settings) -> Table:
        """A line for each case, learner and D."""
        return Table({"case": "Case", "learner": "Learner", "functions": "D"}, columns("D"))

    def figures(self, s: Theorem3Settings) -> list[Picture]:
        """Risks and shares in both cases."""
        found: list[Picture] = []
        for case, maps in ((SMALL, MAPS), (LARGE, ())):
            dim, outputs = s.sizes(case)
            words = f"d = {dim}, k = {outputs}"
            found += pictures(s, case, "D", class_size(dim, outputs), outputs, words, (NETWORK, *maps))
        return found

    def remarks(self, s: Theorem3Settings) -> list[str]:
        """How many targets there are."""
        sizes = [(*s.sizes(case), class_size(*s.sizes(case))) for case in (SMALL, LARGE)]
        words = "; ".join(f"C({d}, {k}) = {c:,}, C/{PAPER_SHARE} = {c / PAPER_SHARE:,.4g}" for d, k, c in sizes)
        return [f"The numbers of targets: {words}. α²/{THRESHOLD} = {s.threshold:.4g}."]


def features_of(name: str, count: int, outputs: int) -> RandomFeatures:
    """The feature map of that name with so many features."""
    kernels = bk.kernels
    return {
        NEURONS: lambda: kernels.GaussianFeatures(count, weight_std=1.0, bias_std=1.0),
        DERIVATIVES: lambda: kernels.DerivativeFeatures(count, weight_std=1.0, bias_std=1.0),
        WAVES: lambda: kernels.FourierFeatures(count, bandwidth=1.0),
        PARITIES: lambda: kernels.ParityFeatures(count, outputs),
    }[name]()


def spec(s: Theorem3Settings, at: At) -> RunSpec:
    """A feature map's best risk, or a network with so many parameters."""
    problem = problem_of(s, *s.sizes(at.case), at)
    if at.learner == NETWORK:
        samples = s.samples if at.case == SMALL else s.large_samples
        return network_spec(s, problem, s.parameters(at.case)[at.functions], samples, at)
    return exact_spec(s, problem, features_of(at.learner, at.functions, s.outputs), 1, at)


def read(s: Theorem3Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The row of a run."""
    return row(s, at.functions, *s.sizes(at.case), outcome)
