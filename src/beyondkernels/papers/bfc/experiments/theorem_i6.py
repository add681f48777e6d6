"""Theorems I.6 and I.7: two-layer polynomial networks need as many neurons as a rank; deep ones do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between
from beyondkernels.papers.bfc.experiments.common import number
from beyondkernels.papers.bfc.paper import PAPER

WIDE_2, WIDE_3, NARROW = "I.6, L = 2", "I.6, L = 3", "I.7, L = 2"
"""The theorem and the number of layers of the target."""

DEPTHS = {WIDE_2: 2, WIDE_3: 3, NARROW: 2}
NAMES = {WIDE_2: "wide-2", WIDE_3: "wide-3", NARROW: "narrow-2"}
SHALLOW, DEEP = "two layers", "deep"

TIGHT = 2.0  # at one neuron less than the rank, the best risk over the bound is at most this, at degree 4
FAR_BELOW = 0.01  # the deep network's risk over the bound for two layers with as many neurons is at most this
FLOOR = 1e-3  # smaller risks are drawn at this height: rounding alone tells them apart
BEYOND = 2  # how many neurons more than the rank are tried

Dim = Annotated[int, between(2, 6)]
Iterations = Annotated[lab.Count, between(1, 100_000)]


@dataclass(frozen=True)
class TheoremI6Settings(bk.core.Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    wide_dim: Dim = lab.setting(6, "ours", "d of I.6 with L = 2")
    three_dim: Annotated[int, between(2, 5)] = lab.setting(5, "ours", "d of I.6 with L = 3")
    narrow_dim: Dim = lab.setting(6, "ours", "d of I.7 with L = 2")
    alpha: Annotated[float, between(0, 1, "()")] = lab.setting(0.1, "ours", "α₃ with L = 3; α₂ is 1")
    iterations: Iterations = lab.setting(500, "ours", "of L-BFGS for two layers, at most")
    deep_iterations: Iterations = lab.setting(1000, "ours", "of L-BFGS for deep networks")
    start: lab.Size = lab.setting(0.5, "ours", "weights start as N(0, start²/q) where q numbers enter")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each is another start")

    def dim(self, case: str) -> int:
        return {WIDE_2: self.wide_dim, WIDE_3: self.three_dim, NARROW: self.narrow_dim}[case]

    def deep_widths(self, case: str) -> tuple[int, ...]:
        """The deep network: one neuron more in each layer than the target's layers have, or just as many for I.7."""
        return (self.three_dim + 1, 2) if case == WIDE_3 else (1,)

    def deep_neurons(self, case: str) -> int:
        """All neurons of the deep network; the squares of layer 1 count for I.7, where two layers do not get them."""
        return sum(self.deep_widths(case)) + (self.narrow_dim if case == NARROW else 0)

    def certificate(self, case: str, neurons: int) -> bk.bfc.NeuronCertificate:
        """What no two-layer network with so many neurons can do."""
        depth, theorem = DEPTHS[case], "I.7" if case == NARROW else "I.6"
        alpha = self.alpha if depth > 2 else 1.0
        return bk.bfc.NeuronCertificate(neurons, self.dim(case), depth, alpha, theorem)

    def rank(self, case: str) -> int:
        """With fewer neurons no two-layer network is exact."""
        d = self.dim(case)
        return d if case == WIDE_2 else d * (d + 1) // 2


class TheoremI6(lab.Experiment):
    id = "bfc/theoremI6"
    reference = PAPER.at("Lemma I.5, Theorems I.6 and I.7")
    quantities = {
        "case": lab.Quantity("theorem, layers", heading="Theorem, layers"),
        "method": lab.Quantity("network"),
        "neurons": lab.Quantity("r"),
        "bound": number("bound", ".3g", "For two-layer networks with r neurons."),
        "risk": number("risk E(h − G*)²", ".3g"),
        "drawn": number("risk E(h − G*)²", log=True),
        "over": number("risk over the bound"),
        "variance": number("Var(G*)", ".3g"),
        "iterations": number("steps", ".0f"),
    }
    seconds_per_run = {"smoke": 0.02, "laptop": 2.0, "paper": 60.0}
    seed_sets = lab.THREE_SETS
    settings_class = TheoremI6Settings
    scales = {
        "laptop": lab.scale(wide_dim=5, three_dim=4, narrow_dim=4, iterations=300, deep_iterations=600, seeds=4),
        "smoke": lab.scale("laptop", wide_dim=3, three_dim=2, narrow_dim=3, iterations=10, deep_iterations=10, seeds=2),
    }

    def runs(self, s: TheoremI6Settings) -> list[lab.Runs]:
        tried = {case: tuple(range(1, s.rank(case) + BEYOND + 1)) for case in DEPTHS}
        shallow = [{"case": [case], "method": [SHALLOW], "neurons": tried[case]} for case in DEPTHS]
        deep = [{"case": [case], "method": [DEEP], "neurons": [s.deep_neurons(case)]} for case in (WIDE_3, NARROW)]
        return [lab.Runs(spec, over, row) for over in (*shallow, *deep)]

    def claims(self, s: TheoremI6Settings) -> list[lab.Statement]:
        def least(case: str, **where: Any) -> lab.Value:
            return lab.least("over", per_seed=False, case=case, method=SHALLOW, **where)

        def claim(kind: str, case: str, value: lab.Value, test: lab.Condition) -> lab.Statement:
            told = {"case": case, "rank": s.rank(case), "widths": s.deep_widths(case), "neurons": s.deep_neurons(case)}
            sentence = "deep-narrow" if (kind, case) == ("deep", NARROW) else kind
            return self.claim(s, f"{kind}-{NAMES[case]}", value, test, None, sentence, **told)

        tight = {case: least(case, neurons=s.rank(case) - 1) for case in (WIDE_2, NARROW)}
        deep = {case: lab.least("over", per_seed=False, case=case, method=DEEP) for case in (WIDE_3, NARROW)}
        return [
            *(claim("never", case, least(case), lab.AtLeast(1.0)) for case in DEPTHS),
            *(claim("tight", case, value, lab.AtMost(TIGHT)) for case, value in tight.items()),
            *(claim("deep", case, value, lab.AtMost(FAR_BELOW)) for case, value in deep.items()),
        ]

    def table(self, s: TheoremI6Settings) -> lab.Table:
        def least(rows: lab.Rows) -> float | None:
            return rows["risk"].min() if rows["risk"].notna().any() else None

        columns = [
            lab.Shown("bound", show="first"),
            lab.Shown("risk", "Least risk", show=least, about="Of all starts; E(h − G*)², exact."),
            lab.Shown("risk", "Largest risk", show="largest"),
            lab.Shown("variance", show="first"),
            "iterations",
        ]
        return lab.Table(["case", "method", "neurons"], columns)

    def figures(self, s: TheoremI6Settings) -> list[lab.Over]:
        labels = {SHALLOW: "two layers, fitted", DEEP: "deep, fitted"}
        axes: dict[str, Any] = {"x": "neurons", "x_label": "neurons r", "y": "drawn", "middle": "median"}
        return [
            lab.Over(
                NAMES[case],
                f"Theorem {case}: risk over the number of neurons",
                f"d = {s.dim(case)}, rank {s.rank(case)}. With r at or above the rank, the bound is zero. Each seed is "
                f"another start of the same fit. Risks below {FLOOR:g} are drawn at {FLOOR:g}.",
                line={label: {"case": case, "method": method} for method, label in labels.items()},
                more=lambda rows, case=case: bound_line(s, case),
                events={f"rank {s.rank(case)}": float(s.rank(case))},
                **axes,
            )
            for case in (WIDE_3, NARROW, WIDE_2)
        ]


def problem_at(s: TheoremI6Settings, case: str) -> bk.bfc.QuadraticTarget:
    alphas = (1.0, s.alpha)[: DEPTHS[case] - 1]
    return bk.bfc.even_target(s.dim(case), DEPTHS[case], alphas, "I.7" if case == NARROW else "I.6")


def spec(s: TheoremI6Settings, at: lab.At) -> bk.store.RunSpec:
    problem = problem_at(s, at.case)
    if at.method == DEEP:
        network: Any = bk.bfc.QuadraticDenseNet(problem.graph, s.deep_widths(at.case), problem.scales, scale=s.start)
        learner = bk.bfc.PopulationFit(network, s.deep_iterations)
    else:
        squares = at.case != NARROW
        degree = 2**problem.depth // (2 if squares else 1)
        network = bk.bfc.PolynomialTwoLayer(at.neurons, degree, squares, scale=s.start)
        learner = bk.bfc.PopulationFit(network, s.iterations)
    return bk.store.RunSpec(problem, learner, 1, 1, at.seed)


def row(s: TheoremI6Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    """The risk, the bound, and one over the other where the bound says something."""
    bound = s.certificate(at.case, at.neurons).risk
    risk = outcome.scalars.get("test_loss", float("nan"))
    more = {"over": risk / bound} if bound > 0 else {}
    found = {name: outcome.scalars.get(name, float("nan")) for name in ("variance", "iterations")}
    return found | {"risk": risk, "drawn": max(risk, FLOOR), "bound": bound, **more}


def bound_line(s: TheoremI6Settings, case: str) -> list[lab.Line]:
    """The bound, from one neuron to one less than the rank."""
    places = list(range(1, s.rank(case)))
    return [lab.Line("bound for two layers", places, [s.certificate(case, r).risk for r in places])] if places else []
