"""Theorem 2: the best linear model on fixed features, beside the bound and beside learned features."""

from __future__ import annotations

from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments import balls
from beyondkernels.papers.features.paper import PAPER

LOSSES = {
    "test_loss": ("Loss", "Hinge loss on fresh points, of the best model in the ball."),
    "worst_loss": ("Largest", "Over the sets A."),
    "worst_upper": ("Worst ≤", "The worst A's least loss is at most this: the largest primal value over all sets A."),
}
BOUNDS = {
    "lower": ("Dual", "Dual value of the problem that was solved; for every A, the mean."),
    "worst_lower": ("Worst ≥", "The worst A's least loss is at least this: the largest dual value that is known."),
    "floor": ("Floor", "A dual value over the whole distribution, in closed form."),
    "least_floor": ("Floor, min", "The least p_o(1 − B|c_A|) over all sets A."),
    "bound": ("Ours", "Our bound."),
    "paper_bound": ("Paper", "The paper's bound."),
}
"""Hinge losses, and what bounds them from below: by column the heading, and what it holds."""

ROOMS = ("paper", "lower", "mean", "worst", "every", "kernel", "gap", "floor", "fresh", "learned", "learned_paper")
"""What stays on its side of a bound, each by how much."""

SMALL = {"tangents": 1, "cube": 8, "cube_relevant": 3, "cube_neurons": 1, "every": 6, "every_relevant": 3, "targets": 2}
"""Dictionaries and maps at smoke scale."""


class Theorem2(lab.Experiment):
    id = "features/theorem2"
    reference = PAPER.at("Theorem 2, Corollary 3; App. C, Theorems 28 and 29")
    quantities = {
        "place": lab.Quantity("over"),
        "relevant": lab.Quantity("k"),
        "method": lab.Quantity("features"),
        "norm": lab.Quantity("B", log=True),
        **{
            column: lab.Quantity("hinge loss", ".3f", within, heading=heading, about=about)
            for columns, within in ((LOSSES, lab.NON_NEGATIVE), (BOUNDS, lab.ANY))
            for column, (heading, about) in columns.items()
        },
        **{f"{name}_room": lab.Quantity(f"distance from the bound, {name}") for name in ROOMS},
    }
    seconds_per_run = {"smoke": 0.2, "laptop": 4.0, "paper": 15.0}
    settings_class = balls.Theorem2Settings
    scales = {
        "laptop": lab.scale(relevants=(11, 15), samples=20_000, test_samples=20_000, targets=3, seeds=3),
        "smoke": lab.scale(
            "laptop", **SMALL, relevants=(5,), norms=(1.0, 10.0), samples=300, test_samples=300, tolerance=1e-2, seeds=2
        ),
    }

    def runs(self, s: balls.Theorem2Settings) -> list[lab.Runs]:
        fixed, one = list(balls.FIXED), {"target": [0]}
        large = {"place": [balls.LARGE], "relevant": s.relevants, "method": [*fixed, balls.LEARNED], **one}
        sparse = {"place": [balls.SPARSE], "relevant": s.relevants[:1], "method": fixed, **one}
        listed = {"place": [balls.CUBE], "relevant": [s.cube_relevant], "method": fixed, "target": range(s.targets)}
        every = {"place": [balls.EVERY], "relevant": [s.every_relevant], "method": fixed, **one}
        kernels = {"place": [balls.BALL], "relevant": s.relevants, "method": list(balls.KERNELS), **one}
        drawn = [lab.Runs(balls.spec, over, balls.rows) for over in (large, sparse, listed)]
        return drawn + [lab.Runs(balls.whole_spec, over, balls.rows, seeds=1) for over in (every, kernels)]

    def claims(self, s: balls.Theorem2Settings) -> list[lab.Statement]:
        last, most, fixed = s.relevants[-1], s.norms[-1], list(balls.FIXED)
        cube, every, ball = ({"place": place} for place in (balls.CUBE, balls.EVERY, balls.BALL))
        sampled = [balls.LARGE, balls.SPARSE]
        never_below: dict[str, dict[str, Any]] = {
            "exact": cube,
            "mean": cube,
            "worst": every,
            "every": every,
            "kernel": ball,
            "gap": {},
            "paper": {"place": sampled, "method": fixed},
            "floor": {"place": [*sampled, balls.CUBE], "method": fixed},
            "fresh": {"place": sampled, "method": fixed},
        }

        def room(name: str, where: dict[str, Any]) -> lab.Value:
            return lab.least(f"{'lower' if name == 'exact' else name}_room", per_seed=False, **where)

        learned: dict[str, Any] = {"place": balls.LARGE, "method": balls.LEARNED, "norm": most}
        ours = lab.of("learned_room", "relevant", **learned)
        papers = lab.of("learned_paper_room", **learned, relevant=last)
        below, told = lab.Above(0.0), {"most": most, "last": last}
        return [
            *(
                self.claim(s, name, room(name, where), lab.AtLeast(0.0), errors=balls.SURE)
                for name, where in never_below.items()
            ),
            self.claim(s, "below-ours", ours, below, **told),
            self.claim(s, "below-paper", papers, below, **told),
        ]

    def table(self, s: balls.Theorem2Settings) -> lab.Table:
        largest = [lab.Shown(name, show="largest") for name in ("worst_loss", "worst_lower")]
        names = ("worst_upper", "least_floor", "bound", "paper_bound")
        upper, *given = (lab.Shown(name, show="first") for name in names)
        columns = ["test_loss", largest[0], "lower", largest[1], upper, "floor", *given]
        return lab.Table(["place", "relevant", "method", "norm"], columns)

    def figures(self, s: balls.Theorem2Settings) -> list[lab.Picture]:
        fixed = {name: {"method": name} for name in balls.FIXED}
        ours, paper = ({"y": bound, "method": "Random neurons"} for bound in ("bound", "paper_bound"))
        kernels = {name: {"method": name} for name in balls.KERNELS}
        bounded = {**fixed, "bound (ours)": ours}
        axis: dict[str, Any] = {"x": "norm", "panel": "relevant"}
        return [
            lab.Over(
                "large",
                y="test_loss",
                line={**fixed, balls.LEARNED: {"method": balls.LEARNED}, "bound (ours)": ours, "bound (paper)": paper},
                where={"place": balls.LARGE},
                y_limits=(0.0, 1.0),
                **axis,
            ),
            lab.Over("listed", y="lower", line=bounded, where={"place": balls.CUBE, "target": 0}, **axis),
            lab.Over("every", y="worst_lower", line=bounded, where={"place": balls.EVERY}, **axis),
            lab.Over(
                "kernels",
                y="worst_upper",
                line={**kernels, "bound (ours)": {"y": "bound", "method": "Gaussian kernel"}},
                where={"place": balls.BALL},
                y_limits=(0.0, 1.0),
                **axis,
            ),
        ]

    def remarks(self, s: balls.Theorem2Settings) -> list[str]:
        last, most = s.relevants[-1], s.norms[-1]

        def bounds(k: int, background: float, norm: float) -> bk.features.FixedFeatureCertificate:
            D = balls.SHARE * k
            return bk.features.FixedFeatureCertificate(D, k, background, s.tangents * D, norm)

        ones = {k: bounds(k, 0.5, 1.0) for k in s.relevants}  # where they end is the same for every p_o
        ends = (f"{0.5 / (0.5 - one.paper):.3g} and {1 / one.share:.2g} at k = {k}" for k, one in ones.items())
        return [
            f"The paper's bound and ours are above 0 up to this B: {'; '.join(ends)}.",
            f"At k = {last} and B = {most:g} the paper's bound is {bounds(last, s.background, most).paper:.3g}.",
        ]
