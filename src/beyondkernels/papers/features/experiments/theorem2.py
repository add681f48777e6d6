"""Theorem 2: the best linear model on fixed features, beside the bound and beside learned features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments import balls
from beyondkernels.papers.features.paper import PAPER

if TYPE_CHECKING:
    from beyondkernels.papers.features.theory import FixedFeatureCertificate

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

ROOMS = ("lower", "mean", "worst", "every", "kernel", "gap", "floor", "fresh", "learned", "learned_paper")
"""What stays on its side of a bound, each by how much."""


class Theorem2(lab.Experiment):
    """Least hinge losses over a ball of weights, for fixed and for learned features."""

    id = "features/theorem2"
    reference = PAPER.at("Theorem 2, Corollary 3; App. C, Theorems 28 and 29")
    text_file = "theorem2.md"
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
            "laptop",
            relevants=(5,),
            norms=(1.0, 10.0),
            tangents=1,
            samples=300,
            test_samples=300,
            cube=8,
            cube_relevant=3,
            cube_neurons=1,
            every=6,
            every_relevant=3,
            targets=2,
            tolerance=1e-2,
            seeds=2,
        ),
    }

    def runs(self, s: balls.Theorem2Settings) -> list[lab.Runs]:
        """Every map at every k, and the fixed ones also where all patterns can be listed."""
        fixed, one = list(balls.FIXED), {"target": [0]}
        large = {"place": [balls.LARGE], "relevant": s.relevants, "method": [*fixed, balls.LEARNED], **one}
        listed = {"place": [balls.CUBE], "relevant": [s.cube_relevant], "method": fixed, "target": range(s.targets)}
        every = {"place": [balls.EVERY], "relevant": [s.every_relevant], "method": fixed, **one}
        kernels = {"place": [balls.BALL], "relevant": s.relevants, "method": list(balls.KERNELS), **one}
        drawn = [lab.Runs(balls.spec, over, balls.rows) for over in (large, listed)]
        return drawn + [lab.Runs(balls.whole_spec, over, balls.rows, seeds=1) for over in (every, kernels)]

    def claims(self, s: balls.Theorem2Settings) -> list[lab.Statement]:
        """Fixed features stay above the bounds, and learned features fall below."""
        last, most = s.relevants[-1], s.norms[-1]
        learned: dict[str, Any] = {"place": balls.LARGE, "method": balls.LEARNED, "norm": most}
        fixed = list(balls.FIXED)

        def never_below(name: str, text: str, **where: Any) -> lab.Statement:
            column = "lower_room" if name == "exact" else f"{name}_room"
            return lab.claim(name, text, lab.least(column, per_seed=False, **where), lab.AtLeast(0.0))

        return [
            never_below(
                "exact",
                f"D = {s.cube}, over all patterns: for every fixed map, A and B no model in the ball has a loss below "
                "our bound, by the dual value less the bound",
                place=balls.CUBE,
            ),
            never_below(
                "mean",
                f"D = {s.cube}, k = {s.cube_relevant}: for every fixed map and B the mean over all sets A of "
                "p_o(1 − B|c_A|), with c_A the features' correlations with the parity, is at least our bound, by their "
                "difference",
                place=balls.CUBE,
            ),
            never_below(
                "worst",
                f"D = {s.every}, k = {s.every_relevant}, solved for every set A: for every fixed map and B the largest "
                "least loss over A is at least our bound, by its dual value less the bound",
                place=balls.EVERY,
            ),
            never_below(
                "every",
                "There, also the mean over all sets A of the least loss is at least our bound, by the mean dual value "
                "less the bound",
                place=balls.EVERY,
            ),
            never_below(
                "kernel",
                "Corollary 3: for every k, kernel and B, no function of norm at most B in the kernel's Hilbert space "
                "has been found with a loss below our bound p_o(1 − B√(κ/C)), by the least loss less the bound",
                place=balls.BALL,
            ),
            never_below(
                "gap", f"Every convex problem is solved up to a duality gap of {s.tolerance:g}, by what is left of it"
            ),
            never_below(
                "floor",
                "For every k, fixed map, A and B, no model in the ball has a loss below our bound on the whole "
                "distribution: the bound lies below p_o by p_o·B√(N/C), and of this the dual value in closed form "
                "leaves at least the share",
                place=[balls.LARGE, balls.CUBE],
                method=fixed,
            ),
            never_below(
                "fresh",
                f"On fresh points no model on fixed features is below our bound by more than {balls.SURE} standard "
                "errors, by the least sum of loss and these errors less the bound",
                place=balls.LARGE,
                method=fixed,
            ),
            lab.claim(
                "below-ours",
                f"At B = {most:g} and every k, the best model on the learned features is clearly below what our bound "
                "leaves to fixed ones, by the bound less its loss on fresh points",
                lab.of("learned_room", "relevant", **learned),
                lab.AtLeast(0.0, "clearly"),
            ),
            lab.claim(
                "below-paper",
                f"At k = {last} and B = {most:g} it is clearly below the paper's own bound too",
                lab.of("learned_paper_room", **learned, relevant=last),
                lab.AtLeast(0.0, "clearly"),
            ),
        ]

    def table(self, s: balls.Theorem2Settings) -> lab.Table:
        """A line for each place, k, map and B."""
        largest = [lab.Shown(name, show="largest") for name in ("worst_loss", "worst_lower")]
        upper, *given = (
            lab.Shown(name, show="first") for name in ("worst_upper", "least_floor", "bound", "paper_bound")
        )
        columns = ["test_loss", largest[0], "lower", largest[1], upper, "floor", *given]
        return lab.Table(["place", "relevant", "method", "norm"], columns)

    def figures(self, s: balls.Theorem2Settings) -> list[lab.Picture]:
        """Losses and bounds over B."""
        fixed = {name: {"method": name} for name in balls.FIXED}
        ours, paper = ({"y": bound, "method": "Random neurons"} for bound in ("bound", "paper_bound"))
        kernels = {name: {"method": name} for name in balls.KERNELS}
        axis: dict[str, Any] = {"x": "norm", "panel": "relevant"}
        return [
            lab.Over(
                "large",
                "Hinge loss over B, k = {}",
                f"All maps have the same number of features, {s.tangents} for each of D = {balls.SHARE}k patterns. The "
                "axis ends at 0, where a bound ceases to say anything.",
                y="test_loss",
                line={**fixed, balls.LEARNED: {"method": balls.LEARNED}, "bound (ours)": ours, "bound (paper)": paper},
                where={"place": balls.LARGE},
                y_limits=(0.0, 1.0),
                **axis,
            ),
            lab.Over(
                "listed",
                f"Least hinge loss over all patterns, D = {s.cube}, k = {{}}",
                "It is the least loss up to the duality gap, here for the first set A of each seed. The paper's bound "
                "is not drawn, because k exceeds D/16.",
                y="lower",
                line={**fixed, "bound (ours)": ours},
                where={"place": balls.CUBE, "target": 0},
                **axis,
            ),
            lab.Over(
                "every",
                f"Least hinge loss for the worst set A, D = {s.every}, k = {{}}",
                "It is the largest least loss up to the duality gap, because here every set A is known.",
                y="worst_lower",
                line={**fixed, "bound (ours)": ours},
                where={"place": balls.EVERY},
                **axis,
            ),
            lab.Over(
                "kernels",
                "Least hinge loss in the ball of a kernel, k = {}",
                "Over the whole distribution, the same for every set A, for functions of norm at most B in the "
                "kernel's Hilbert space (Corollary 3). The bound is too close to p_o to be told from it.",
                y="worst_upper",
                line={**kernels, "bound (ours)": {"y": "bound", "method": "Gaussian kernel"}},
                where={"place": balls.BALL},
                y_limits=(0.0, 1.0),
                **axis,
            ),
        ]

    def remarks(self, s: balls.Theorem2Settings) -> list[str]:
        """Up to which norm each bound says something."""
        last, most = s.relevants[-1], s.norms[-1]

        def bounds(k: int, background: float, norm: float) -> FixedFeatureCertificate:
            D = balls.SHARE * k
            return bk.features.FixedFeatureCertificate(D, k, background, s.tangents * D, norm)

        ones = {k: bounds(k, 0.5, 1.0) for k in s.relevants}  # where they end is the same for every p_o
        ends = (f"{0.5 / (0.5 - one.paper):.3g} and {1 / one.share:.2g} at k = {k}" for k, one in ones.items())
        return [
            f"The paper's bound and ours are above 0 up to this B: {'; '.join(ends)}.",
            f"At k = {last} and B = {most:g} the paper's bound is {bounds(last, s.background, most).paper:.3g}.",
        ]
