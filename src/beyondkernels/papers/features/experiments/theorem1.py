"""Theorem 1: error over width and training time, beside the bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, not_empty, odd, positive, rising
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Counts,
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
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.features.problems import DictionaryProblem

RATE = -2 / 3  # how the bound falls with m when T = m^{4/3}
OWN = "m^(4/3)"  # the theorem's own T
SOMETHING = "yes"  # whether a bound is below one, and so says something
INFORMATIVE = 1  # the k at which the bound is below one at widths that can be run


@dataclass(frozen=True)
class Theorem1Settings(Checked):
    """The numbers of the experiment."""

    dim: Count = setting(100, "ours")
    patterns: Count = setting(100, "ours", "D; the theorem asks for m ≥ D")
    relevants: Annotated[tuple[int, ...], positive, odd, rising, not_empty] = setting(
        (1, 3, 5), "ours", "5 is Table 1's; at 1 the bound is informative"
    )
    widths: Counts = setting((30, 100, 300, 1000, 3000), "ours", "m; the network has 2m neurons")
    times: Annotated[tuple[int, ...], at_least(3), rising, not_empty] = setting(
        (30, 100, 300, 1000), "ours", "T; the theorem's own is m^(4/3)"
    )
    own_widths: Counts = setting((30, 100, 300, 1000), "ours", "m that also train for the theorem's own T, at k = 1")
    samples: Count = setting(20_000, "ours", "the theorem has the exact gradient")
    batch: Count = setting(500, "ours", "from step 3 on")
    looks: Annotated[Count, at_most(1000)] = setting(
        20, "ours", "how many of the steps 2, …, T are looked at for the best one"
    )
    test_samples: Count = setting(4000, "ours")
    seeds: Seeds = setting(5, "ours", "each with its own dictionary and relevant set")

    def __post_init__(self) -> None:
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        for name in ("widths", "own_widths"):
            require(len(getattr(self, name)) > 1, f"{name} must hold at least two numbers, got {getattr(self, name)}")
        first = self.relevants[0]
        require(first == INFORMATIVE, f"relevants must begin with 1, where claims speak, got {first}")


class Theorem1(Experiment):
    """Theorem 26 taken literally, over m and T."""

    id: ClassVar[str] = "features/theorem1"
    reference = PAPER.at("Theorem 1; Theorem 26, eq. (279)")
    text_file: ClassVar[str] = "theorem1.md"
    symbols: ClassVar[Mapping[str, str]] = {"relevant": "k", "pairs": "m", "steps": "T"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 2.0, "paper": 30.0}
    settings_class: ClassVar[type] = Theorem1Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            dim=20, patterns=20, times=(30, 100, 300), own_widths=(30, 100, 300), samples=5000, batch=200, seeds=3
        ),
        "smoke": scale(
            "laptop",
            dim=8,
            patterns=8,
            relevants=(1, 3),
            widths=(5, 10),
            own_widths=(4, 8),
            times=(5, 10),
            samples=100,
            batch=20,
            seeds=2,
        ),
    }

    def runs(self, s: Theorem1Settings) -> list[Runs]:
        """Every k, m and T; and at k = 1 the theorem's own T."""
        return [
            Runs(spec, {"relevant": s.relevants, "steps": s.times, "pairs": s.widths}, row),
            Runs(spec, {"relevant": [INFORMATIVE], "steps": [OWN], "pairs": s.own_widths}, row),
        ]

    def claims(self, s: Theorem1Settings) -> list[Statement]:
        """The bound at k = 1, where it says something, with constant one, and its rate."""
        return [
            claim(
                "error",
                "k = 1: at every m and T the error is at most the bound with constant one, by their least difference",
                least("error_room", per_seed=False, relevant=INFORMATIVE),
                AtLeast(0.0),
                paper="O(1) times the bound",
            ),
            claim(
                "loss",
                "k = 1: at every m and T where the bound is below one, the hinge loss too is at most the bound with "
                "constant one, by their least difference",
                least("loss_room", per_seed=False, relevant=INFORMATIVE, says=SOMETHING),
                AtLeast(0.0),
                paper="O(1) times the bound",
                beside=(
                    "the bound is at least the loss times",
                    least("spare", per_seed=False, relevant=INFORMATIVE, says=SOMETHING),
                ),
            ),
            claim(
                "rate",
                f"k = 1, T = {OWN}: the hinge loss falls with m at least as fast as m^(−2/3), by its slope",
                of("best_loss", "pairs", relevant=INFORMATIVE, steps=OWN).slope(),
                AtMost(RATE),
                paper=RATE,
            ),
        ]

    def table(self, s: Theorem1Settings) -> Table:
        """A line for each k, T and m."""
        return Table(
            {"relevant": "k", "steps": "T", "pairs": "m"},
            [
                Shown("error", "Error (%)", ".2f"),
                Shown("best_loss", "Hinge loss", ".1e", about="The least over the steps that were looked at."),
                Shown("bound", "Bound", ".2g", show="first", about="With constant one."),
                Shown("says", "Below 1", show="first"),
            ],
        )

    def figures(self, s: Theorem1Settings) -> list[Picture]:
        """Loss and bound over m for each k, and over T at k = 1."""
        last = s.times[-1]
        lines = {f"T = {T}": {"steps": T} for T in (*s.times, OWN)}
        shown = dict.fromkeys((s.widths[0], s.widths[len(s.widths) // 2], s.widths[-1]))
        given: dict[str, Any] = {"relevant": INFORMATIVE, "steps": list(s.times)}
        by_width = {f"m = {m}": {"pairs": m, **given} for m in shown}
        bounds = {f"bound, m = {m}": {"y": "bound", "pairs": m, **given} for m in shown}
        axis: dict[str, Any] = {"y": "best_loss", "y_label": "hinge loss", "x_scale": "log", "y_scale": "log"}
        return [
            Over(
                "width",
                "Hinge loss over width, k = {}",
                "The least test loss over training. The bound has constant one; above 1 it says nothing, because a "
                "network that answers 0 has a loss of 1. A loss of 0 has no place on this axis.",
                "Hinge loss over width for each training time, with the bound",
                x="pairs",
                line={**lines, f"bound, T = {last}": {"y": "bound", "steps": last}},
                panel="relevant",
                x_label="m",
                levels={"loss of answering 0": 1.0},
                **axis,
            ),
            Over(
                "time",
                "Hinge loss over training time, k = 1",
                "The least test loss over training. The rate of a step is k²/(Tm^(1/3)), so that the way of all steps "
                "together does not depend on T. A loss of 0 has no place on this axis.",
                "Hinge loss over training time for three widths, with the bounds",
                x="steps",
                line={**by_width, **bounds},
                x_label="T",
                **axis,
            ),
        ]

    def remarks(self, s: Theorem1Settings) -> list[str]:
        """From which width on the bound says anything."""
        needed = [f"{(k**8 + k**3 + k**2) ** 1.5:,.0f} at k = {k}" for k in s.relevants]
        return [f"With constant one and T = m^(4/3) the bound is below 1 from this m on: {'; '.join(needed)}."]


def problem_of(s: Theorem1Settings, at: At) -> DictionaryProblem:
    """Parity at p_o = 1/2, where all assumptions hold."""
    return bk.features.DictionaryParity(s.dim, s.patterns, at.relevant, instance=at.seed)


def spec(s: Theorem1Settings, at: At) -> RunSpec:
    """Theorem 26's settings without any change."""
    problem, network = problem_of(s, at), bk.networks.TwoLayer(at.pairs)
    process = bk.features.theorem26(problem, network, steps=None if at.steps == OWN else at.steps, batch=s.batch)
    looked = tuple(sorted({max(2, round(process.steps * part / s.looks)) for part in range(1, s.looks + 1)}))
    learner = bk.engine.TrainedNetwork(network, bk.algorithms.FeatureLearning(process), record_at=looked)
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed)


def row(s: Theorem1Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Loss and error at the best step, and the bound."""
    steps = math.ceil(at.pairs ** (4 / 3)) if at.steps == OWN else at.steps
    bound = bk.features.error_bound(at.relevant, at.pairs, steps)
    found = {"bound": bound, "says": SOMETHING if bound < 1 else "no"}
    if outcome.status != "finished":
        return found
    losses = outcome.series["test_loss"]
    best = int(losses.argmin())
    error = 1 - float(outcome.series["test_accuracy"][best])
    loss = float(losses[best])
    found |= {"best_loss": loss, "error": 100 * error, "spare": bound / loss if loss > 0 else math.inf}
    return found | {"error_room": bound - error, "loss_room": bound - loss}
