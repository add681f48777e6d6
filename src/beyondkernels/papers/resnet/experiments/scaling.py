"""How many samples a network, the best kernel and a recursive feature machine need, against the number of targets."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, rising
from beyondkernels.papers.resnet.experiments import hard_targets as hard, scaling_views as views
from beyondkernels.papers.resnet.experiments.hard_targets import NETWORK, THRESHOLD
from beyondkernels.papers.resnet.experiments.scaling_views import BEST, KERNELS, LEARNERS, MACHINE, for_every, needed
from beyondkernels.papers.resnet.paper import PAPER

CLOSE = 0.15
"""How far from 1 the kernels' exponent of C may be: degrees below k take points too, and relatively more at small d."""

LOWER = 0.25  # by how much the other exponents of C are claimed to be lower
LEAST = 8  # the least N that is tried
Dims = Annotated[tuple[int, ...], at_most(100), rising, not_empty]
Part = Annotated[float, between(0, 1, "[]")]


@dataclass(frozen=True)
class ScalingSettings(hard.HardSettings):
    outputs: Annotated[tuple[int, ...], between(2, 4), rising, not_empty] = lab.setting((2, 3, 4), "ours", "k")
    dims2: Dims = lab.setting((10, 14, 20, 28, 40, 56), "ours", "d for k = 2")
    dims3: Dims = lab.setting((8, 10, 12, 15, 18, 22), "ours", "d for k = 3")
    dims4: Dims = lab.setting((8, 9, 10, 12, 14, 16), "ours", "d for k = 4")
    start: Annotated[int, at_least(LEAST)] = lab.setting(64, "ours", "the first N of network and feature machine")
    most: Annotated[int, at_least(LEAST), at_most(5000)] = lab.setting(2400, "ours", "no larger N is tried")
    resolution: Part = lab.setting(0.05, "ours", "how well N is known, relative: for network and feature machine")
    growth: Annotated[float, between(1.1, 100)] = lab.setting(
        1.25, "ours", "by which N grows from the bound on, until a kernel gets there"
    )
    kernel_resolution: Part = lab.setting(0.03, "ours", "for kernels")
    width: lab.Count = lab.setting(100, "ours", "m")
    rounds: Annotated[int, at_least(1), at_most(100)] = lab.setting(5, "ours", "of the feature machine")
    test_samples: lab.Count = lab.setting(10_000, "ours", "fresh points for the risk of network and feature machine")

    def __post_init__(self) -> None:
        for k, dims in self.dims.items():
            enough = len(dims) > 1 and dims[0] > k
            bk.core.require(enough, f"dims{k} must hold at least two numbers, all above {k}, got {dims}")
        bk.core.require(self.start <= self.most, f"start must be at most {self.most}, the largest N, got {self.start}")

    @property
    def dims(self) -> dict[int, tuple[int, ...]]:
        given = {2: self.dims2, 3: self.dims3, 4: self.dims4}
        return {k: given[k] for k in self.outputs}


class Scaling(lab.Experiment):
    id = "resnet/scaling"
    reference = PAPER.at("§3.1, §7: Corollary 7.1, Theorem 2")
    quantities = {
        "outputs": lab.Quantity("k", within=lab.NON_NEGATIVE),
        "targets": lab.Quantity("C", within=lab.NON_NEGATIVE, log=True),
        "needed": lab.Quantity("samples needed", within=lab.NON_NEGATIVE, log=True, better="less"),
        "bound": lab.Quantity("all kernels ≥", ".0f", lab.NON_NEGATIVE, about=f"C(1 − 1/({THRESHOLD}k))."),
    }
    seconds_per_run = {"smoke": 0.02, "laptop": 0.3, "paper": 1.5}
    settings_class = ScalingSettings
    scales = {
        "laptop": lab.scale(dims2=(10, 14, 20, 28), dims3=(8, 10, 12, 15), dims4=(8, 9, 10, 12), most=800, seeds=5),
        "smoke": lab.scale(
            **hard.SMOKE,
            outputs=(2,),
            dims2=(3, 4),
            start=16,
            most=16,
            resolution=1.0,
            growth=100.0,
            kernel_resolution=1.0,
            width=8,
            rounds=2,
        ),
    }

    def runs(self, s: ScalingSettings) -> list[lab.Runs]:
        return [
            lab.Needed(
                spec,
                {"method": [NETWORK, MACHINE, *KERNELS], "outputs": [k], "dim": dims},
                row,
                coordinate="samples",
                bisection=functools.partial(bisection, s),
                enough=enough,
            )
            for k, dims in s.dims.items()
        ]

    def claims(self, s: ScalingSettings) -> list[lab.Statement]:
        exponent = {
            (k, name): needed(k, methods, "targets").slope() for k in s.dims for name, methods in LEARNERS.items()
        }
        made = [self.claim(s, "bound", views.least_over(KERNELS, "bound"), lab.AtLeast(1.0))]
        clearly, close = lab.AtLeast(LOWER), lab.Between(1 - CLOSE, 1 + CLOSE)
        for k, dims in s.dims.items():
            last = "between the two largest d it is", needed(k, KERNELS, "targets", dim=dims[-2:]).slope()
            own = "the network's exponent is", exponent[k, NETWORK]
            less = exponent[k, BEST] - exponent[k, NETWORK]
            made += [
                self.claim(s, f"kernel-{k}", exponent[k, BEST], close, "at least 1", "kernel", k=k, beside=last),
                self.claim(s, f"network-{k}", less, clearly, None, "network", k=k, beside=own),
            ]
        less = for_every({k: exponent[k, BEST] - exponent[k, MACHINE] for k in s.dims})
        made.append(self.claim(s, "machine", less, clearly))
        for name in (NETWORK, MACHINE):
            fewer = for_every({k: _fewer(k, dims[-1], name) for k, dims in s.dims.items()})
            below, short = lab.Below(1.0), name.split()[-1]
            made.append(self.claim(s, f"{short}-fewer", fewer, below, None, "fewer", name=name))
        left = for_every({k: views.over_d_log_d(needed(k, LEARNERS[NETWORK], "dim")).slope() for k in s.dims})
        return [*made, self.claim(s, "network-dim", left, lab.AtMost(0.0), "d, up to logarithms")]

    def table(self, s: ScalingSettings) -> lab.Table:
        columns = [
            lab.Shown("bound", show="first"),
            lab.Shown("needed", "Best kernel", where={"method": KERNELS}, show=views.amount),
            lab.Shown("method", "Which", where={"method": KERNELS}, show=views.winner),
            *(
                lab.Shown("needed", name.capitalize(), where={"method": name}, show=views.amount)
                for name in (NETWORK, MACHINE, *KERNELS[1:])
            ),
        ]
        keys = {NETWORK: "needed_2", MACHINE: "needed_3", BEST: "needed"}
        more = functools.partial(views.exponent_lines, orders=list(s.dims), keys=keys)
        return lab.Table(["outputs", "dim", "targets"], columns, order=("outputs", "dim"), remarks=False, more=more)

    def figures(self, s: ScalingSettings) -> list[lab.Drawn]:
        def over_targets(name: str, k: int, lines: dict[str, tuple[str, ...]], words: str) -> lab.Drawn:
            sizes = [(math.comb(d, k), bound(k, d)) for d in s.dims[k]]
            least = lab.Line("least of any kernel", *map(list, zip(*sizes, strict=True)))
            return lab.Drawn(
                f"{name}-{k}",
                f"Samples needed over the number of targets, k = {k}{words}",
                f"To bring the risk to α²/{THRESHOLD}: mean over seeds, shaded from the lowest to the highest. Both "
                "axes are logarithmic. The last line is C(1 − 1/(16k)), below which no kernel is.",
                f"Samples needed over C(d, {k}) by {', '.join(lines)}, beside the bound for all kernels",
                functools.partial(views.needed_curves, k, lines, least),
            )

        return [
            *(over_targets("needed", k, LEARNERS, "") for k in s.dims),
            lab.Drawn("exponents", by=functools.partial(views.exponent_dots, list(s.dims))),
            *(over_targets("kernels", k, {name: (name,) for name in KERNELS}, ": every kernel") for k in s.dims),
        ]


def _fewer(outputs: int, dim: int, name: str) -> lab.Value:
    """The samples a learner needs over those of the best kernel, at one d."""
    mine, best = (needed(outputs, LEARNERS[each], "dim", dim=dim) for each in (name, BEST))
    return (mine / best).largest()


def bound(outputs: int, dim: int) -> float:
    """No kernel has a mean best risk of α²/16 with fewer points: C(1 − 1/(16k)), where kα²(1 − N/C) is α²/16.

    >>> bound(2, 10)
    43.59375
    """
    return math.comb(dim, outputs) * (1 - 1 / (THRESHOLD * outputs))


def bisection(s: ScalingSettings, at: lab.At) -> lab.Bisection:
    """How N is searched at a place: for a kernel from the bound upwards."""
    if at.method in KERNELS:
        start = max(1, min(s.most, math.ceil(bound(at.outputs, at.dim))))
        return lab.Bisection(start, s.most, 1, s.growth, s.kernel_resolution)
    return lab.Bisection(s.start, s.most, LEAST, resolution=s.resolution)


def enough(s: ScalingSettings, at: lab.At, outcome: bk.core.Outcome) -> bool:
    """Whether the risk is α²/16 or less: the mean over targets of a kernel's best risk, or the test error."""
    return outcome.scalars["risk" if at.method in KERNELS else "test_loss"] <= s.threshold


def spec(s: ScalingSettings, at: lab.At) -> bk.store.RunSpec:
    """One learner with N points; each seed has a target of its own."""
    problem = hard.problem_of(s, at.dim, at.outputs, at)
    if at.method in KERNELS:
        best = bk.resnet.BestRisk(made_kernel(at.method, at.outputs), targets=1)
        return bk.store.RunSpec(problem, best, at.samples, 0, at.seed)
    if at.method == MACHINE:
        machine = bk.kernels.RecursiveFeatureMachine("gaussian", rounds=s.rounds)
        return bk.store.RunSpec(problem, machine, at.samples, s.test_samples, at.seed)
    return hard.network_spec(s, problem, s.width, at.samples, at)


def made_kernel(name: str, outputs: int) -> bk.kernels.Kernel:
    """The kernel of that name; two of them know the degree k."""
    polynomial = bk.kernels.PolynomialKernel
    if name == "linear + power":
        return polynomial(1, offset=0.0) + polynomial(outputs, offset=0.0)
    return polynomial(outputs) if name == "polynomial" else hard.kernel_of(name, 1, outputs, 0)


def row(s: ScalingSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    risk = outcome.scalars.get("risk" if at.method in KERNELS else "test_loss")
    return {"targets": math.comb(at.dim, at.outputs), "bound": bound(at.outputs, at.dim), "risk": risk}
