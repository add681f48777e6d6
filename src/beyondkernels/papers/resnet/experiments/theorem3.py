"""Theorem 3: exact best risks of feature maps against their number of features, and networks of as many parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, not_empty, positive, rising
from beyondkernels.papers.resnet.experiments import exact_risks, hard_targets as hard
from beyondkernels.papers.resnet.experiments.exact_risks import LARGE, SMALL, Dim, EnumeratedDim
from beyondkernels.papers.resnet.experiments.hard_targets import NETWORK, class_size
from beyondkernels.papers.resnet.paper import PAPER

NEURONS, DERIVATIVES, WAVES, PARITIES = "ReLU neurons", "NTK features", "Fourier features", "coordinates and parities"
MAPS = (NEURONS, DERIVATIVES, WAVES, PARITIES)
"""The feature maps. At large d none is computed: there are the bounds for all of them alone."""

Widths = Annotated[tuple[int, ...], positive, at_most(100_000), rising, not_empty]


@dataclass(frozen=True)
class Theorem3Settings(exact_risks.ExactRiskSettings):
    dim: EnumeratedDim = lab.setting(14, "ours", "d = d₁ for exact risks")
    outputs: EnumeratedDim = lab.setting(4, "ours", "k there")
    widths: Widths = lab.setting((5, 10, 20, 40), "ours", "m of the networks there")
    samples: lab.Count = lab.setting(2000, "ours", "points for the networks there; the theorem does not limit them")
    large_dim: Dim = lab.setting(100, "ours", "d where D stays below C/1000")
    large_widths: Widths = lab.setting((9, 18, 35), "ours", "m of the networks there")
    large_samples: lab.Count = lab.setting(4000, "ours", "points for the networks there")

    def __post_init__(self) -> None:
        self.numbers(SMALL)
        class_size(*self.cases[LARGE])

    @property
    def cases(self) -> dict[str, tuple[int, int]]:
        return {SMALL: (self.dim, self.outputs), LARGE: (self.large_dim, self.large_outputs)}

    def parameters(self, case: str) -> dict[int, int]:
        """The widths of the networks in a case, by how many parameters they have: W, V, A and two biases."""
        dim, outputs = self.cases[case]
        widths = self.widths if case == SMALL else self.large_widths
        return {width * (dim + 2 * outputs + 2): width for width in widths}


class Theorem3(exact_risks.ExactRisks):
    id = "resnet/theorem3"
    reference = PAPER.at("Theorem 3 (§3.2, §7.2, App. D.2)")
    letter, what = "D", "feature map"
    quantities = exact_risks.quantities_of("D")
    drawn = {SMALL: MAPS, LARGE: ()}
    seconds_per_run = {"smoke": 0.03, "laptop": 3.0, "paper": 5.0}
    settings_class = Theorem3Settings
    scales = {
        "laptop": lab.scale(exact_seeds=2, seeds=5),
        "smoke": lab.scale(
            **exact_risks.SMOKE,
            dim=6,
            outputs=3,
            widths=(2, 4),
            samples=40,
            large_dim=12,
            large_widths=(4,),
            large_samples=40,
        ),
    }

    def runs(self, s: Theorem3Settings) -> list[lab.Runs]:
        exact = {"case": [SMALL], "learner": MAPS, "functions": s.numbers(SMALL)}
        networks = [{"case": [case], "learner": [NETWORK], "functions": list(s.parameters(case))} for case in s.cases]
        return [
            lab.Runs(spec, exact, exact_risks.row, seeds=s.exact_seeds),
            *(lab.Runs(spec, places, exact_risks.row) for places in networks),
        ]

    def claims(self, s: Theorem3Settings) -> list[lab.Statement]:
        def network(name: str, case: str, parameters: int) -> lab.Statement:
            (dim, outputs), below = s.cases[case], lab.AtMost(s.threshold)
            risk = lab.of("risk", case=case, learner=NETWORK, functions=parameters)
            unlearnt = max(0.0, 1 - 16 * parameters / (15 * class_size(dim, outputs)))
            told = {"d": dim, "k": outputs, "parameters": parameters, "unlearnt": unlearnt}
            return self.claim(s, name, risk, below, None, "network", **told)

        last, few = list(s.parameters(LARGE))[-1], list(s.parameters(SMALL))
        room = lab.of("room", "functions", learner=PARITIES, functions=[D for D in s.numbers(SMALL) if s.dim < D])
        most = s.outputs * s.alpha**2 * s.dim / class_size(s.dim, s.outputs) * (1 + 1e-9)
        smallest = lab.least("smallest_excess", per_seed=False, learner=[NEURONS, DERIVATIVES, WAVES])
        return [
            *self.bounds(s, 3),
            network("network-large", LARGE, last),
            network("network", SMALL, few[min(1, len(few) - 1)]),
            self.claim(s, "tight", room, lab.AtMost(most)),
            self.claim(s, "usual-maps", smallest, lab.AtLeast(1.0)),
        ]


def features_of(name: str, count: int, outputs: int) -> bk.kernels.RandomFeatures:
    kernels = bk.kernels
    return {
        NEURONS: lambda: kernels.GaussianFeatures(count, weight_std=1.0, bias_std=1.0),
        DERIVATIVES: lambda: kernels.DerivativeFeatures(count, weight_std=1.0, bias_std=1.0),
        WAVES: lambda: kernels.FourierFeatures(count, bandwidth=1.0),
        PARITIES: lambda: kernels.ParityFeatures(count, outputs),
    }[name]()


def spec(s: Theorem3Settings, at: lab.At) -> bk.store.RunSpec:
    problem = hard.problem_of(s, *s.cases[at.case], at)
    if at.learner == NETWORK:
        samples = s.samples if at.case == SMALL else s.large_samples
        return hard.network_spec(s, problem, s.parameters(at.case)[at.functions], samples, at)
    features = features_of(at.learner, at.functions, s.outputs)
    return bk.store.RunSpec(problem, bk.resnet.BestRisk(features, s.targets, at.seed), 1, 0, at.seed)
