"""Theorem 2: exact best risks of kernels against the number of training points, and a network on the same points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from beyondkernels.core import require
from beyondkernels.core.constraints import at_least, at_most, not_empty, positive, rising
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Between,
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
from beyondkernels.papers.resnet.experiments.exact_kernels import BOTH, KERNELS, NARROW, kernel_of
from beyondkernels.papers.resnet.experiments.exact_risks import (
    MOST_FUNCTIONS,
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

CUBE, FINITE, LARGE = "closed form", "enumeration", "large d"
"""The cases: d moderate, d so small that all points are enumerated, d large."""

AGREEMENT = 1e-9
"""How far two routes may differ."""

TENTH = 0.1
"""The share N/C at which the network is compared."""


@dataclass(frozen=True)
class Theorem2Settings(ExactRiskSettings):
    """The numbers of the experiment."""

    dim: Dim = setting(30, "ours", "d = d₁ for the closed form")
    outputs: Outputs = setting(3, "ours", "k, there and in enumeration")
    enumerated_dim: Annotated[int, at_least(2), at_most(16)] = setting(14, "ours", "d for kernels of finite width")
    large_dim: Dim = setting(100, "ours", "d where N stays below C/1000")
    large_outputs: Outputs = setting(4, "ours", "k there")
    large_samples: Annotated[tuple[int, ...], positive, at_most(MOST_FUNCTIONS), rising, not_empty] = setting(
        (250, 500, 1000, 2000, 3921), "ours", "N there"
    )
    width: Annotated[int, positive, at_most(100_000)] = setting(100, "ours", "m")

    def __post_init__(self) -> None:
        for case in (CUBE, FINITE):
            numbers_of(self.shares, class_size(*self.sizes(case)))
        class_size(*self.sizes(LARGE))
        require(
            any(share >= TENTH for share in self.shares),
            f"shares must hold one of at least {TENTH:g}, got {self.shares}",
        )

    def sizes(self, case: str) -> tuple[int, int]:
        """The dimension d and k in a case."""
        if case == LARGE:
            return self.large_dim, self.large_outputs
        return (self.dim if case == CUBE else self.enumerated_dim), self.outputs

    def samples(self, case: str) -> tuple[int, ...]:
        """All N in a case."""
        return self.large_samples if case == LARGE else numbers_of(self.shares, class_size(*self.sizes(case)))

    @property
    def tenth(self) -> int:
        """The N at which the network is compared for the closed form."""
        share = next(share for share in self.shares if share >= TENTH)
        return numbers_of([share], class_size(*self.sizes(CUBE)))[0]


class Theorem2(Experiment):
    """Exact best risks of kernels, and a network."""

    id: ClassVar[str] = "resnet/theorem2"
    reference = PAPER.at("Theorem 2 (§3.1, §7.1, App. D.1)")
    text_file: ClassVar[str] = "theorem2.md"
    symbols: ClassVar[Mapping[str, str]] = {"functions": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.03, "laptop": 1.5, "paper": 8.0}
    settings_class: ClassVar[type] = Theorem2Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(dim=20, large_samples=(250, 500, 1000, 2000), exact_seeds=2, seeds=5),
        "smoke": scale(
            dim=8,
            enumerated_dim=6,
            large_dim=12,
            large_outputs=4,
            large_samples=(40,),
            shares=(0.1, 1.0),
            width=8,
            steps=50,
            batch=10,
            exact_seeds=1,
            seeds=2,
            test_samples=100,
        ),
    }

    def runs(self, s: Theorem2Settings) -> list[Runs]:
        """Kernels in every case, and the network wherever there are at least d points."""
        kernels = {CUBE: KERNELS, FINITE: (*NARROW, *BOTH), LARGE: KERNELS}
        made = []
        for case, learners in kernels.items():
            enough = [n for n in s.samples(case) if n >= s.sizes(case)[0]]
            places: dict[str, Any] = {"case": [case], "learner": learners, "functions": s.samples(case)}
            made += [
                Runs(spec, places, read, seeds=s.exact_seeds),
                Runs(spec, {**places, "learner": [NETWORK], "functions": enough}, read),
            ]
        return made

    def claims(self, s: Theorem2Settings) -> list[Statement]:
        """The bounds, the theorem, and the network where they hold."""
        most, whole = s.large_samples[-1], s.samples(CUBE)[-1]
        targets = {case: class_size(*s.sizes(case)) for case in (CUBE, LARGE)}
        failed = 1 - 16 * s.tenth / (15 * targets[CUBE])

        def network(name: str, text: str, case: str, n: int) -> Statement:
            where = {"case": case, "functions": n}
            return claim(
                name,
                f"{text}, the network's risk is clearly below α²/{THRESHOLD}",
                of("risk", learner=NETWORK, **where),
                AtMost(s.threshold, "clearly"),
                beside=(
                    "on the same points and target the smallest best risk of a kernel, in units of it, is",
                    least("own_excess", per_seed=False, **where),
                ),
            )

        relation = f"C/{targets[LARGE] // most}" if most <= targets[LARGE] else "above C"
        return [
            *theorem_claims("kernel", "N", 2),
            network(
                "network-large", f"At d = {s.large_dim}, k = {s.large_outputs}, N = {most} = {relation}", LARGE, most
            ),
            network(
                "network",
                f"At d = {s.dim}, k = {s.outputs}, N = {s.tenth}, where every kernel has a risk above α²/{THRESHOLD} "
                f"for at least {max(0.0, failed):.0%} of the targets",
                CUBE,
                s.tenth,
            ),
            claim(
                "all-points",
                f"Even with N = {whole} points at d = {s.dim} none of the six "
                f"kernels has a best risk of α²/{THRESHOLD} or less for any of the listed targets: the smallest, "
                "in units of it",
                least("smallest_excess", per_seed=False, case=CUBE, functions=whole),
                AtLeast(1.0),
            ),
            claim(
                "routes",
                "Closed form and enumeration of the cube give one mean risk at every N: their difference, within "
                f"{AGREEMENT:g}",
                of("risk", "functions", case=FINITE, learner=BOTH[0])
                - of("risk", "functions", case=FINITE, learner=BOTH[1]),
                Between(-AGREEMENT, AGREEMENT),
            ),
        ]

    def table(self, s: Theorem2Settings) -> Table:
        """A line for each case, learner and N; of the many N those around a thousandth, a tenth and all of C."""
        shown = {case: s.samples(case) for case in (CUBE, FINITE, LARGE)}
        few = {n for case in (CUBE, FINITE) for n in (shown[case][0], shown[case][-1], *shown[case][4:6])}
        return Table(
            {"case": "Case", "learner": "Learner", "functions": "N"},
            columns("N"),
            {"functions": sorted({*few, *shown[LARGE]})},
        )

    def figures(self, s: Theorem2Settings) -> list[Picture]:
        """Risks and shares in every case."""
        found: list[Picture] = []
        for case, learners in ((CUBE, KERNELS), (LARGE, KERNELS), (FINITE, (*NARROW, BOTH[0]))):
            dim, outputs = s.sizes(case)
            words = f"d = {dim}, k = {outputs}"
            found += pictures(s, case, "N", class_size(dim, outputs), outputs, words, (NETWORK, *learners))
        return found

    def remarks(self, s: Theorem2Settings) -> list[str]:
        """How many targets there are."""
        sizes = [(*s.sizes(case), class_size(*s.sizes(case))) for case in (CUBE, FINITE, LARGE)]
        words = "; ".join(
            f"C({d}, {k}) = {count:,}, C/{PAPER_SHARE} = {count / PAPER_SHARE:,.4g}" for d, k, count in sizes
        )
        return [f"The numbers of targets: {words}. α²/{THRESHOLD} = {s.threshold:.4g}."]


def spec(s: Theorem2Settings, at: At) -> RunSpec:
    """A kernel's best risk on N points, or the network trained on them."""
    dim, outputs = s.sizes(at.case)
    problem = problem_of(s, dim, outputs, at)
    if at.learner == NETWORK:
        return network_spec(s, problem, s.width, at.functions, at)
    kernel = kernel_of(at.learner, s.width, outputs, at.seed)
    route = "enumeration" if at.learner == BOTH[1] else None
    return exact_spec(s, problem, kernel, at.functions, at, route)


def read(s: Theorem2Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The row of a run."""
    return row(s, at.functions, *s.sizes(at.case), outcome)
