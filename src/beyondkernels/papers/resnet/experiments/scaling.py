"""How many samples a network, the best kernel and a recursive feature machine need, against the number of targets."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Between,
    Drawn,
    Experiment,
    Line,
    Needed,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    Value,
    claim,
    scale,
)
from beyondkernels.papers.resnet.experiments.exact_risks import THRESHOLD
from beyondkernels.papers.resnet.experiments.scaling_runs import (
    BEST,
    KERNELS,
    LEARNERS,
    MACHINE,
    NETWORK,
    ScalingSettings,
    bisection,
    bound,
    enough,
    row,
    spec,
)
from beyondkernels.papers.resnet.experiments.scaling_views import (
    amount,
    exponent_dots,
    exponent_lines,
    for_every,
    least_over,
    needed,
    needed_curves,
    over_d_log_d,
    winner,
)
from beyondkernels.papers.resnet.paper import PAPER

CLOSE = 0.15
"""How far from 1 the kernels' exponent of C may be: degrees below k take points too, and relatively more at small d."""

LOWER = 0.25
"""By how much the other exponents of C are claimed to be lower."""


class Scaling(Experiment):
    """Samples needed against C and d."""

    id: ClassVar[str] = "resnet/scaling"
    reference = PAPER.at("§3.1, §7: Corollary 7.1, Theorem 2")
    text_file: ClassVar[str] = "scaling.md"
    symbols: ClassVar[Mapping[str, str]] = {"outputs": "k", "dim": "d", "targets": "C"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.02, "laptop": 0.3, "paper": 1.5}
    settings_class: ClassVar[type] = ScalingSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(dims2=(10, 14, 20, 28), dims3=(8, 10, 12, 15), dims4=(8, 9, 10, 12), most=800, seeds=5),
        "smoke": scale(
            outputs=(2,),
            dims2=(3, 4),
            start=16,
            most=16,
            resolution=1.0,
            growth=100.0,
            kernel_resolution=1.0,
            width=8,
            batch=10,
            steps=50,
            rounds=2,
            seeds=2,
            test_samples=100,
        ),
    }

    def runs(self, s: ScalingSettings) -> list[Runs]:
        """A search for N at every place."""
        return [
            Needed(
                spec,
                {"method": [NETWORK, MACHINE, *KERNELS], "outputs": [k], "dim": dims},
                row,
                coordinate="samples",
                bisection=functools.partial(bisection, s),
                enough=enough,
            )
            for k, dims in s.dims.items()
        ]

    def claims(self, s: ScalingSettings) -> list[Statement]:
        """Exponents, and the numbers at the largest d."""
        exponent = {
            (k, name): needed(k, methods, "targets").slope() for k in s.dims for name, methods in LEARNERS.items()
        }
        made = [
            claim(
                "bound",
                f"Every kernel needs at least C(1 − 1/({THRESHOLD}k)) points, as counting dimensions says: the least "
                "ratio",
                least_over(KERNELS, "bound"),
                AtLeast(1.0),
                interval="one number over all kernels, d, k and seeds",
            )
        ]
        for k, dims in s.dims.items():
            made += [
                claim(
                    f"kernel-{k}",
                    f"For k = {k}, the best kernel's samples grow as C to a power within {CLOSE:g} of 1",
                    exponent[k, BEST],
                    Between(1 - CLOSE, 1 + CLOSE),
                    paper="at least 1",
                    beside=("between the two largest d it is", needed(k, KERNELS, "targets", dim=dims[-2:]).slope()),
                ),
                claim(
                    f"network-{k}",
                    f"For k = {k}, the network's exponent of C is clearly lower than the best kernel's by {LOWER:g} or "
                    "more: the difference",
                    exponent[k, BEST] - exponent[k, NETWORK],
                    AtLeast(LOWER, "clearly"),
                    beside=("the network's exponent is", exponent[k, NETWORK]),
                ),
            ]
        return [
            *made,
            claim(
                "machine",
                f"For every k, the feature machine's exponent of C is clearly lower than the best kernel's by "
                f"{LOWER:g} or more: the difference",
                for_every({k: exponent[k, BEST] - exponent[k, MACHINE] for k in s.dims}),
                AtLeast(LOWER, "clearly"),
            ),
            *(
                claim(
                    f"{name.split()[-1]}-fewer",
                    f"For every k, at the largest d the {name} needs clearly fewer samples than the best kernel: the "
                    "ratio",
                    for_every({k: fewer(k, dims[-1], name) for k, dims in s.dims.items()}),
                    AtMost(1.0, "clearly"),
                )
                for name in (NETWORK, MACHINE)
            ),
            claim(
                "network-dim",
                "For every k, the network's samples grow no faster than d log d: the exponent of d that is left after "
                "division",
                for_every({k: over_d_log_d(needed(k, LEARNERS[NETWORK], "dim")).slope() for k in s.dims}),
                AtMost(0.0),
                paper="d, up to logarithms",
            ),
        ]

    def table(self, s: ScalingSettings) -> Table:
        """A line for each k and d, and the exponents."""
        by = {"outputs": "k", "dim": "d", "targets": "C"}
        columns = [
            Shown("bound", "All kernels ≥", ".0f", show="first", about=f"C(1 − 1/({THRESHOLD}k))."),
            Shown("needed", "Best kernel", where={"method": KERNELS}, show=amount),
            Shown("method", "Which", where={"method": KERNELS}, show=winner),
            *(
                Shown("needed", name.capitalize(), where={"method": name}, show=amount)
                for name in (NETWORK, MACHINE, *KERNELS[1:])
            ),
        ]
        keys = {BEST: "needed", NETWORK: "needed_2", MACHINE: "needed_3"}
        more = exponent_lines(list(s.dims), LEARNERS, keys)
        return Table(by, columns, order=("outputs", "dim"), remarks=False, more=more)

    def remarks(self, s: ScalingSettings) -> list[str]:
        """What a seed's number of samples rests on."""
        judged = "For the network and the feature machine, one run with one start decides it at each N and seed."
        return [f"Whether N samples suffice is exact for kernels. {judged}"]

    def figures(self, s: ScalingSettings) -> list[Drawn]:
        """Samples needed over C for each k, the exponents, and every kernel by itself."""

        def over_targets(name: str, k: int, lines: dict[str, tuple[str, ...]], words: str) -> Drawn:
            sizes = [(math.comb(d, k), bound(k, d)) for d in s.dims[k]]
            least = Line("least of any kernel", *map(list, zip(*sizes, strict=True)))
            return Drawn(
                f"{name}-{k}",
                f"Samples needed over the number of targets, k = {k}{words}",
                f"To bring the risk to α²/{THRESHOLD}: mean over seeds, shaded from the lowest to the highest. Both "
                "axes are logarithmic. The last line is C(1 − 1/(16k)), below which no kernel is.",
                f"Samples needed over C(d, {k}) by {', '.join(lines)}, beside the bound for all kernels",
                functools.partial(needed_curves, k, lines, least),
            )

        single = {name: (name,) for name in KERNELS}
        return [
            *(over_targets("needed", k, LEARNERS, "") for k in s.dims),
            Drawn(
                "exponents",
                "Exponents of the samples needed",
                "Least squares of log N on log C(d, k), and on log d, seed by seed.",
                "Fitted exponents of C and of d with their intervals, for each learner and k",
                functools.partial(exponent_dots, list(s.dims), LEARNERS),
            ),
            *(over_targets("kernels", k, single, ": every kernel") for k in s.dims),
        ]


def fewer(outputs: int, dim: int, name: str) -> Value:
    """The samples a learner needs over those of the best kernel, at one d."""
    mine, best = (needed(outputs, LEARNERS[each], "dim", dim=dim) for each in (name, BEST))
    return (mine / best).largest()
