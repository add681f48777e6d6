"""Theorem 1: the risk that Algorithm 1 leaves, against α."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.resnet.paper import PAPER

NETWORK, FROZEN, SAME, KERNEL = "Algorithm 1", "V frozen", "same T", "two-step kernel"


_RISKS = {"tail": "Tail", "average": "Average (6.2)", "end": "End", "floor": "F alone", "fourth_power": "kα⁴"}


@dataclass(frozen=True)
class RiskSettings(bk.core.Checked):
    dim: lab.Count = lab.setting(40, "ours", "d")
    outputs: lab.Count = lab.setting(4, "ours", "k")
    alphas: lab.Sizes = lab.setting(
        (0.2, 0.225, 0.25, 0.275, 0.3, 0.325, 0.35, 0.375, 0.4, 0.425, 0.45, 0.475, 0.5), "ours"
    )
    width: lab.Count = lab.setting(1000, "ours", "m")
    first_std: lab.Size = lab.setting(0.5, "ours", "σ_w, within [m^(−1/2+0.01), m^(−0.01)] of Table 1")
    second_std: lab.Size = lab.setting(1.0, "ours", "σ_v as in §8.1; Table 1 asks for polylog(m)")
    unit_alpha: lab.Size = lab.setting(0.5, "ours", "where δ = 1: Theorem 1 leaves its constant open")
    rate: lab.Size = lab.setting(1.0, "ours", "η_w/min{1, δ}; chosen on seeds 100 to 102 at α = 0.5")
    ratio: lab.Size = lab.setting(0.1, "ours", "η_v/η_w at δ = 1, falling as α²; chosen likewise")
    kernel_samples: lab.Count = lab.setting(2000, "ours", "points of the two-step kernel")
    kernel_weights: lab.Sizes = lab.setting((10.0, 100.0, 1e3, 1e4, 1e5), "ours", "of its second kernel, to try")
    seeds: lab.Count = lab.setting(10, "ours", "0, 1, 2, …")
    test_samples: lab.Count = lab.setting(20_000, "ours", "fresh points for the risk at the end")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, far more slowly")

    def __post_init__(self) -> None:
        bk.core.require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Theorem1(lab.Experiment):
    id = "resnet/theorem1"
    reference = PAPER.at("Theorem 1, Algorithm 1, eq. (6.2)")
    quantities = {
        "alpha": lab.Quantity("α", within=lab.NON_NEGATIVE, log=True),
        "points": lab.Quantity("T", ",.0f", lab.NON_NEGATIVE),
        **{
            name: lab.Quantity("risk E‖out − y‖²", ".2g", lab.NON_NEGATIVE, log=True, better="less", heading=heading)
            for name, heading in _RISKS.items()
        },
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 6.0, "paper": 30.0}
    settings_class = RiskSettings
    scales = {
        "laptop": lab.scale(
            dim=30,
            alphas=(0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
            width=400,
            kernel_samples=960,
            seeds=5,
            test_samples=10_000,
        ),
        "smoke": lab.scale(
            dim=6,
            outputs=2,
            alphas=(0.4, 0.5),
            width=16,
            kernel_samples=60,
            kernel_weights=(1.0, 10.0),
            seeds=2,
            test_samples=200,
        ),
    }

    def runs(self, s: RiskSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"method": [NETWORK, FROZEN, SAME, KERNEL], "alpha": s.alphas}, row)]

    def claims(self, s: RiskSettings) -> list[lab.Statement]:
        tail, frozen, same = (lab.of("tail", "alpha", method=method) for method in (NETWORK, FROZEN, SAME))
        average, without = (lab.of("average", "alpha", method=method) for method in (NETWORK, FROZEN))
        floor, power = lab.of("floor", "alpha", method=NETWORK), lab.of("fourth_power", "alpha", method=SAME)
        promised, below, still = "order α⁴, from above", lab.AtMost(1.0), "with V frozen it is"
        steep = lab.AtLeast(3.5)  # α⁴, with room for what a fit over a short range leaves
        return [
            self.claim(s, "slope", tail.slope(), steep, promised, beside=(still, frozen.slope())),
            self.claim(s, "slope-average", average.slope(), steep, promised, beside=(still, without.slope())),
            self.claim(s, "second-layer", (tail / frozen).largest(), lab.AtMost(0.5)),
            self.claim(s, "below-floor", (tail / floor).largest(), below),
            self.claim(s, "fourth-power", (same / power).largest(), below, promised),
            self.claim(s, "slope-same-t", same.slope(), steep),  # a bound from above promises no slope once T stays
        ]

    def table(self, s: RiskSettings) -> lab.Table:
        own = {"method": NETWORK}
        columns = [
            lab.Shown("points", where=own, show="first"),
            *(lab.Shown(name, where=own) for name in ("tail", "average", "end")),
            lab.Shown("floor", show="first"),
            lab.Shown("tail", "V frozen, tail", where={"method": FROZEN}),
            lab.Shown("tail", "Same T, tail", where={"method": SAME}),
            lab.Shown("end", "Two steps", where={"method": KERNEL}),
        ]

        def slopes(rows: lab.Rows) -> list[dict[str, Any]]:
            line: dict[str, Any] = {"alpha": "slope"}
            for key, column in zip(table.keys, columns, strict=True):
                if column.show == "mean":
                    found = lab.of(column.column, "alpha", **column.where).slope().compute(rows).dropna()
                    line |= {key: found.mean(), f"{key}_sd": found.std()} if len(found) else {}
            return [line] if len(line) > 1 else []

        table = lab.Table(["alpha"], columns, more=slopes)
        return table

    def figures(self, s: RiskSettings) -> list[lab.Over]:
        kinds = {"average (6.2)": "average", "last half": "tail", "at the end": "end"}
        own, same = ({label: {"method": one, "y": y} for label, y in kinds.items()} for one in (NETWORK, SAME))
        own |= {"V frozen, last half": {"method": FROZEN, "y": "tail"}, KERNEL: {"method": KERNEL, "y": "end"}}
        powers = [
            lab.Line(label, list(s.alphas), [s.outputs * alpha**power for alpha in s.alphas])
            for label, power in (("F alone, kα²", 2), ("slope 4: kα⁴", 4))
        ]
        return [
            lab.Over(name, x="alpha", y="tail", line=lines, more=lambda _: powers)
            for name, lines in (("risk", own), ("same-t", same))
        ]

    def remarks(self, s: RiskSettings) -> list[str]:
        """What the risks are to be compared with, and how Theorem 1's hypotheses stand at both ends."""
        low, high = s.alphas[0], s.alphas[-1]
        constants = ", ".join(f"{problem_of(s, alpha).polynomial_risk(0):.4g}" for alpha in (low, high))
        floors = ", ".join(f"{s.outputs * alpha**2:.4g}" for alpha in (low, high))
        compared = self.sentence(s, "compared", low=low, high=high, constants=constants, floors=floors)
        return [compared, *(_hypotheses(s, alpha) for alpha in (low, high))]


def problem_of(s: RiskSettings, alpha: float) -> bk.resnet.HardInstance:
    """The hard instance (7.1) on uniform signs."""
    return bk.resnet.HardInstance(s.dim, s.outputs, alpha)


def network_of(s: RiskSettings) -> bk.networks.ThreeLayerResNet:
    """The network of §6."""
    return bk.networks.theorem_network(s.width, s.first_std, s.second_std)


@functools.lru_cache(maxsize=256)
def theorem_of(s: RiskSettings, alpha: float) -> bk.resnet.Theorem1Settings:
    """Theorem 1's numbers for one α; sizes are those of the target in Concept 1, labels divided by √k, with C* = 1."""
    sizes = bk.resnet.concept_complexity(problem_of(s, alpha), star=1.0).sizes
    given = {name: getattr(s, name) for name in ("unit_alpha", "rate", "ratio", "first_std", "second_std")}
    return bk.resnet.anchored_theorem1(sizes, network_of(s), **given)


def numbers_of(s: RiskSettings, at: lab.At) -> bk.resnet.Theorem1Settings:
    """Whose T and rates a method has: those of its own α, or those of the smallest."""
    return theorem_of(s, min(s.alphas) if at.method == SAME else at.alpha)


def spec(s: RiskSettings, at: lab.At) -> bk.store.RunSpec:
    problem = problem_of(s, at.alpha)
    if at.method == KERNEL:
        # of a wide two-layer ReLU network with biases, everything of unit variance
        scales = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=1)
        kernel = bk.kernels.InfiniteTangent(depth=2, parameterisation=scales)
        learner: Any = bk.kernels.TwoStepRidge(kernel, kernel, weights=s.kernel_weights)
        return bk.store.RunSpec(problem, learner, s.kernel_samples, s.test_samples, at.seed)
    rule = numbers_of(s, at).algorithm
    if at.method == FROZEN:
        rule = replace(rule, second_rate=0.0)
    # samples of millions of points: not many of them at a time
    learner = bk.engine.TrainedNetwork(network_of(s), rule, backend=s.backend, memory=2**30)
    return bk.store.RunSpec(problem, learner, rule.steps, s.test_samples, at.seed)


def row(s: RiskSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """All risks are E‖out − y‖²."""
    found = outcome.scalars
    return {
        "points": s.kernel_samples if at.method == KERNEL else numbers_of(s, at).steps,
        "end": found.get("test_loss"),
        "tail": found.get("online_loss_tail"),
        "average": found.get("online_loss"),
        "floor": s.outputs * at.alpha**2,
        "fourth_power": s.outputs * at.alpha**4,
    }


def _hypotheses(s: RiskSettings, alpha: float) -> str:
    found = theorem_of(s, alpha)
    holding = [str(each) for each in found.hypotheses if each.holds]
    return (
        f"Theorem 1 at α = {alpha:g} (T = {found.steps:,}, η_w = {found.first_rate:.3g}, η_v = "
        f"{found.second_rate:.3g}, δ = {found.risk:.3g}): {len(holding)} of {len(found.hypotheses)} hypotheses hold. "
        f"The others: {'; '.join(map(str, found.missed))}. Those that hold: {'; '.join(holding)}."
    )
