"""Theorem 2: the best linear model on fixed features, beside the bound and beside learned features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, odd, positive, rising
from beyondkernels.lab import (
    AtLeast,
    Count,
    Experiment,
    Over,
    Picture,
    Runs,
    Scale,
    Seeds,
    Shown,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
    setting,
)
from beyondkernels.papers.features.experiments.balls import (
    BALL,
    CUBE,
    EVERY,
    FIXED,
    KERNELS,
    LARGE,
    LEARNED,
    SHARE,
    SURE,
    ball_rows,
    ball_spec,
    certificate,
    every_rows,
    every_spec,
    rows,
    spec,
)
from beyondkernels.papers.features.paper import PAPER

Norms = Annotated[tuple[float, ...], between(0.1, 1e6), rising, not_empty]


@dataclass(frozen=True)
class Theorem2Settings(Checked):
    """The numbers of the experiment."""

    relevants: Annotated[tuple[int, ...], at_least(5), at_most(17), odd, rising, not_empty] = setting(
        (11, 13, 15), "theorem", "k; D is 16k, the least that the theorem allows; beyond 17, our bound rounds to p_o"
    )
    norms: Norms = setting((1.0, 3.0, 10.0, 30.0, 100.0), "ours", "B")
    background: Annotated[float, between(0.01, 0.5)] = setting(0.5, "paper", "p_o")
    tangents: Annotated[int, positive, at_most(20)] = setting(
        2, "ours", "neurons of the NTK features; every map has N = D times this many features"
    )
    spread: Annotated[float, between(1e-3, 1e3)] = setting(
        0.5, "ours", "of a fixed neuron's input; chosen on another instance (100) from 0.5 and 1"
    )
    samples: Count = setting(50_000, "ours")
    test_samples: Count = setting(50_000, "ours")
    cube: Annotated[int, between(6, 16)] = setting(16, "ours", "D where all patterns are listed")
    cube_relevant: Annotated[int, at_least(3), odd] = setting(11, "ours", "k there")
    cube_neurons: Annotated[int, positive, at_most(20)] = setting(4, "ours", "there in place of the neurons above")
    cube_norms: Norms = setting((0.3, 1.0, 3.0), "ours", "B there")
    every: Annotated[int, between(6, 16)] = setting(12, "ours", "D where the problem is solved for every set A")
    every_relevant: Annotated[int, at_least(3), odd] = setting(7, "ours", "k there; neurons and B as above")
    targets: Annotated[Count, at_most(200)] = setting(
        10, "ours", "sets A that are drawn where all patterns are listed, for each seed"
    )
    tolerance: Annotated[float, between(1e-6, 0.1)] = setting(1e-3, "ours", "largest duality gap")
    seeds: Seeds = setting(5, "ours", "each with its own set A; the fixed maps are the same for all")

    def __post_init__(self) -> None:
        require(
            self.cube_relevant <= self.cube,
            f"cube_relevant must not exceed cube ({self.cube}), got {self.cube_relevant}",
        )
        require(
            self.every_relevant <= self.every,
            f"every_relevant must not exceed every ({self.every}), got {self.every_relevant}",
        )


class Theorem2(Experiment):
    """Least hinge losses over a ball of weights, for fixed and for learned features."""

    id: ClassVar[str] = "features/theorem2"
    reference = PAPER.at("Theorem 2, Corollary 3; App. C, Theorems 28 and 29")
    text_file: ClassVar[str] = "theorem2.md"
    symbols: ClassVar[Mapping[str, str]] = {"relevant": "k", "norm": "B"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.2, "laptop": 4.0, "paper": 15.0}
    settings_class: ClassVar[type] = Theorem2Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(relevants=(11, 15), samples=20_000, test_samples=20_000, targets=3, seeds=3),
        "smoke": scale(
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

    def runs(self, s: Theorem2Settings) -> list[Runs]:
        """Every map at every k, and the fixed ones also where all patterns can be listed."""
        listed = {"place": [CUBE], "relevant": [s.cube_relevant], "method": list(FIXED), "target": range(s.targets)}
        return [
            Runs(spec, {"place": [LARGE], "relevant": s.relevants, "method": [*FIXED, LEARNED], "target": [0]}, rows),
            Runs(spec, listed, rows),
            Runs(
                every_spec,
                {"place": [EVERY], "relevant": [s.every_relevant], "method": list(FIXED), "target": [0]},
                every_rows,
                seeds=1,
            ),
            Runs(
                ball_spec,
                {"place": [BALL], "relevant": s.relevants, "method": list(KERNELS), "target": [0]},
                ball_rows,
                seeds=1,
            ),
        ]

    def claims(self, s: Theorem2Settings) -> list[Statement]:
        """Fixed features stay above the bounds, and learned features fall below."""
        last, most = s.relevants[-1], s.norms[-1]
        learned: dict[str, Any] = {"place": LARGE, "method": LEARNED, "norm": most}
        fixed = list(FIXED)
        return [
            claim(
                "exact",
                f"D = {s.cube}, over all patterns: for every fixed map, A and B no model in the ball has a loss below "
                "our bound, by the dual value less the bound",
                least("lower_room", per_seed=False, place=CUBE),
                AtLeast(0.0),
            ),
            claim(
                "mean",
                f"D = {s.cube}, k = {s.cube_relevant}: for every fixed map and B the mean over all sets A of "
                "p_o(1 − B|c_A|), with c_A the features' correlations with the parity, is at least our bound, by their "
                "difference",
                least("mean_room", per_seed=False, place=CUBE),
                AtLeast(0.0),
            ),
            claim(
                "worst",
                f"D = {s.every}, k = {s.every_relevant}, solved for every set A: for every fixed map and B the largest "
                "least loss over A is at least our bound, by its dual value less the bound",
                least("worst_room", per_seed=False, place=EVERY),
                AtLeast(0.0),
            ),
            claim(
                "every",
                "There, also the mean over all sets A of the least loss is at least our bound, by the mean dual value "
                "less the bound",
                least("every_room", per_seed=False, place=EVERY),
                AtLeast(0.0),
            ),
            claim(
                "kernel",
                "Corollary 3: for every k, kernel and B, no function of norm at most B in the kernel's Hilbert space "
                "has been found with a loss below our bound p_o(1 − B√(κ/C)), by the least loss less the bound",
                least("kernel_room", per_seed=False, place=BALL),
                AtLeast(0.0),
            ),
            claim(
                "gap",
                f"Every convex problem is solved up to a duality gap of {s.tolerance:g}, by what is left of it",
                least("gap_room", per_seed=False),
                AtLeast(0.0),
            ),
            claim(
                "floor",
                "For every k, fixed map, A and B, no model in the ball has a loss below our bound on the whole "
                "distribution: the bound lies below p_o by p_o·B√(N/C), and of this the dual value in closed form "
                "leaves at least the share",
                least("floor_room", per_seed=False, place=[LARGE, CUBE], method=fixed),
                AtLeast(0.0),
            ),
            claim(
                "fresh",
                f"On fresh points no model on fixed features is below our bound by more than {SURE} standard errors, "
                "by the least sum of loss and these errors less the bound",
                least("fresh_room", per_seed=False, place=LARGE, method=fixed),
                AtLeast(0.0),
            ),
            claim(
                "below-ours",
                f"At B = {most:g} and every k, the best model on the learned features is clearly below what our bound "
                "leaves to fixed ones, by the bound less its loss on fresh points",
                of("learned_room", "relevant", **learned),
                AtLeast(0.0, "clearly"),
            ),
            claim(
                "below-paper",
                f"At k = {last} and B = {most:g} it is clearly below the paper's own bound too",
                of("learned_paper_room", **learned, relevant=last),
                AtLeast(0.0, "clearly"),
            ),
        ]

    def table(self, s: Theorem2Settings) -> Table:
        """A line for each place, k, map and B."""
        return Table(
            {"place": "Over", "relevant": "k", "method": "Features", "norm": "B"},
            [
                Shown("test_loss", "Loss", ".3f", about="Hinge loss on fresh points, of the best model in the ball."),
                Shown("worst_loss", "Largest", ".3f", show="largest", about="Over the sets A."),
                Shown(
                    "lower", "Dual", ".3f", about="Dual value of the problem that was solved; for every A, the mean."
                ),
                Shown(
                    "worst_lower",
                    "Worst ≥",
                    ".3f",
                    show="largest",
                    about="The worst A's least loss is at least this: the largest dual value that is known.",
                ),
                Shown(
                    "worst_upper",
                    "Worst ≤",
                    ".3f",
                    show="first",
                    about="And at most this: the largest primal value over all sets A.",
                ),
                Shown("floor", "Floor", ".3f", about="A dual value over the whole distribution, in closed form."),
                Shown(
                    "least_floor", "Floor, min", ".3f", show="first", about="The least p_o(1 − B|c_A|) over all sets A."
                ),
                Shown("bound", "Ours", ".3f", show="first", about="Our bound."),
                Shown("paper_bound", "Paper", ".3f", show="first", about="The paper's bound."),
            ],
        )

    def figures(self, s: Theorem2Settings) -> list[Picture]:
        """Losses and bounds over B."""
        lines = {name: {"method": name} for name in (*FIXED, LEARNED)}
        bounds = {
            "bound (ours)": {"y": "bound", "method": "Random neurons"},
            "bound (paper)": {"y": "paper_bound", "method": "Random neurons"},
        }
        axis: dict[str, Any] = {"x": "norm", "x_label": "B", "x_scale": "log", "y_label": "hinge loss"}
        return [
            Over(
                "large",
                "Hinge loss over B, k = {}",
                "The loss on fresh points of the best model with weights of norm at most B. All maps have the same "
                f"number of features, {s.tangents} for each of D = {SHARE}k patterns. The axis ends at 0, where a "
                "bound ceases to say anything.",
                "Hinge loss over the norm of the weights for three fixed maps and one learned map, with two bounds",
                y="test_loss",
                line={**lines, **bounds},
                panel="relevant",
                where={"place": LARGE},
                y_limits=(0.0, 1.0),
                **axis,
            ),
            Over(
                "listed",
                f"Least hinge loss over all patterns, D = {s.cube}, k = {{}}",
                "The dual value of the problem over all patterns, which is the least loss up to the duality gap, for "
                "the first set A of each seed. The paper's bound is not drawn, because k exceeds D/16.",
                "Least hinge loss over the norm of the weights for three fixed maps, with our bound",
                y="lower",
                line={**{name: lines[name] for name in FIXED}, "bound (ours)": bounds["bound (ours)"]},
                panel="relevant",
                where={"place": CUBE, "target": 0},
                **axis,
            ),
            Over(
                "every",
                f"Least hinge loss for the worst set A, D = {s.every}, k = {{}}",
                "The largest dual value over all sets A, which is the largest least loss up to the duality gap.",
                "Least hinge loss for the worst A over the norm of the weights for three fixed maps, with our bound",
                y="worst_lower",
                line={**{name: lines[name] for name in FIXED}, "bound (ours)": bounds["bound (ours)"]},
                panel="relevant",
                where={"place": EVERY},
                **axis,
            ),
            Over(
                "kernels",
                "Least hinge loss in the ball of a kernel, k = {}",
                "The primal value over the whole distribution, the same for every set A, for functions of norm at most "
                "B in the kernel's Hilbert space (Corollary 3). The bound is too close to p_o to be told from it.",
                "Least hinge loss over the norm of the function for two kernels, with our bound",
                y="worst_upper",
                line={
                    **{name: {"method": name} for name in KERNELS},
                    "bound (ours)": {"y": "bound", "method": "Gaussian kernel"},
                },
                panel="relevant",
                where={"place": BALL},
                y_limits=(0.0, 1.0),
                **axis,
            ),
        ]

    def remarks(self, s: Theorem2Settings) -> list[str]:
        """Up to which norm each bound says something."""
        ends = []
        for k in s.relevants:
            one = certificate(0.5, SHARE * k, k, s.tangents * SHARE * k, 1.0)  # the same for every p_o
            ends.append(f"{0.5 / (0.5 - one.paper):.3g} and {1 / one.share:.2g} at k = {k}")
        last, most = s.relevants[-1], s.norms[-1]
        paper = certificate(s.background, SHARE * last, last, s.tangents * SHARE * last, most).paper
        return [
            f"The paper's bound and ours are above 0 up to this B: {'; '.join(ends)}.",
            f"At k = {last} and B = {most:g} the paper's bound is {paper:.3g}.",
        ]
