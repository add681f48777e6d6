"""Theorem 2: exact best risks of kernels against the number of training points, and a network on the same points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, not_empty, positive, rising
from beyondkernels.papers.resnet.experiments import exact_risks, hard_targets as hard
from beyondkernels.papers.resnet.experiments.exact_risks import LARGE, SMALL, Dim
from beyondkernels.papers.resnet.experiments.hard_targets import BOTH, KERNELS, NARROW, NETWORK, class_size
from beyondkernels.papers.resnet.paper import PAPER

CUBE = "closed form"  # the case of a moderate d, beside those of both theorems
AGREEMENT = 1e-9  # how far two routes may differ
TENTH = 0.1  # the share N/C at which the network is compared
Numbers = Annotated[tuple[int, ...], positive, at_most(exact_risks.MOST_FUNCTIONS), rising, not_empty]


@dataclass(frozen=True)
class Theorem2Settings(exact_risks.ExactRiskSettings):
    dim: Dim = lab.setting(30, "ours", "d = d₁ for the closed form")
    outputs: Dim = lab.setting(3, "ours", "k, there and in enumeration")
    enumerated_dim: exact_risks.EnumeratedDim = lab.setting(14, "ours", "d for kernels of finite width")
    large_dim: Dim = lab.setting(100, "ours", "d where N stays below C/1000")
    large_samples: Numbers = lab.setting((250, 500, 1000, 2000, 3921), "ours", "N there")
    width: Annotated[int, positive, at_most(100_000)] = lab.setting(100, "ours", "m")

    def __post_init__(self) -> None:
        for case in self.cases:
            class_size(*self.cases[case])
            self.samples(case)
        there = any(share >= TENTH for share in self.shares)
        bk.core.require(there, f"shares must hold one of at least {TENTH:g}, got {self.shares}")

    @property
    def cases(self) -> dict[str, tuple[int, int]]:
        small, large = (self.enumerated_dim, self.outputs), (self.large_dim, self.large_outputs)
        return {CUBE: (self.dim, self.outputs), SMALL: small, LARGE: large}

    def samples(self, case: str) -> tuple[int, ...]:
        return self.large_samples if case == LARGE else self.numbers(case)

    @property
    def shown(self) -> lab.Where:
        """Of the many N those around a thousandth, a tenth and all of C."""
        few = {n for all_ in map(self.samples, (CUBE, SMALL)) for n in (all_[0], all_[-1], *all_[4:6])}
        return {"functions": sorted({*few, *self.large_samples})}

    @property
    def tenth(self) -> int:
        """The N at which the network is compared for the closed form."""
        return self.numbers(CUBE, [next(share for share in self.shares if share >= TENTH)])[0]


class Theorem2(exact_risks.ExactRisks):
    id = "resnet/theorem2"
    reference = PAPER.at("Theorem 2 (§3.1, §7.1, App. D.1)")
    letter, what = "N", "kernel"
    quantities = exact_risks.quantities_of("N")
    drawn = {CUBE: KERNELS, LARGE: KERNELS, SMALL: (*NARROW, BOTH[0])}
    seconds_per_run = {"smoke": 0.03, "laptop": 1.5, "paper": 8.0}
    settings_class = Theorem2Settings
    scales = {
        "laptop": lab.scale(dim=20, large_samples=(250, 500, 1000, 2000), exact_seeds=2, seeds=5),
        "smoke": lab.scale(
            **exact_risks.SMOKE, dim=8, enumerated_dim=6, large_dim=12, large_outputs=4, large_samples=(40,), width=8
        ),
    }

    def runs(self, s: Theorem2Settings) -> list[lab.Runs]:
        made = []
        for case, kernels in {CUBE: KERNELS, SMALL: (*NARROW, *BOTH), LARGE: KERNELS}.items():
            enough = [n for n in s.samples(case) if n >= s.cases[case][0]]
            places: dict[str, Any] = {"case": [case], "learner": kernels, "functions": s.samples(case)}
            made += [
                lab.Runs(spec, places, exact_risks.row, seeds=s.exact_seeds),
                lab.Runs(spec, {**places, "learner": [NETWORK], "functions": enough}, exact_risks.row),
            ]
        return made

    def claims(self, s: Theorem2Settings) -> list[lab.Statement]:
        most, whole = s.large_samples[-1], s.samples(CUBE)[-1]
        targets = {case: class_size(*sizes) for case, sizes in s.cases.items()}

        def network(name: str, case: str, n: int, **told: Any) -> lab.Statement:
            (dim, k), below = s.cases[case], lab.AtMost(s.threshold)
            where = {"case": case, "functions": n}
            words = "on the same points and target the smallest best risk of a kernel, in units of it, is"
            beside = words, lab.least("own_excess", per_seed=False, **where)
            risk = lab.of("risk", learner=NETWORK, **where)
            return self.claim(s, name, risk, below, d=dim, k=k, n=n, beside=beside, **told)

        relation = f"C/{targets[LARGE] // most}" if most <= targets[LARGE] else "above C"
        smallest = lab.least("smallest_excess", per_seed=False, case=CUBE, functions=whole)
        closed, enumerated = (lab.of("risk", "functions", case=SMALL, learner=name) for name in BOTH)
        return [
            *self.bounds(s, 2),
            network("network-large", LARGE, most, relation=relation),
            network("network", CUBE, s.tenth, failed=max(0.0, 1 - 16 * s.tenth / (15 * targets[CUBE]))),
            self.claim(s, "all-points", smallest, lab.AtLeast(1.0), whole=whole),
            self.claim(s, "routes", closed - enumerated, lab.Between(-AGREEMENT, AGREEMENT)),
        ]


def spec(s: Theorem2Settings, at: lab.At) -> bk.store.RunSpec:
    dim, outputs = s.cases[at.case]
    problem = hard.problem_of(s, dim, outputs, at)
    if at.learner == NETWORK:
        return hard.network_spec(s, problem, s.width, at.functions, at)
    kernel = hard.kernel_of(at.learner, s.width, outputs, at.seed)
    learner = bk.resnet.BestRisk(kernel, s.targets, at.seed, "enumeration" if at.learner == BOTH[1] else None)
    return bk.store.RunSpec(problem, learner, at.functions, 0, at.seed)
