"""What Theorems 2 and 3 share: exact best risks beside bounds that count dimensions, as claims, table and figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, rising
from beyondkernels.papers.resnet.experiments import hard_targets
from beyondkernels.papers.resnet.experiments.hard_targets import NETWORK, THRESHOLD, HardSettings, class_size

PAPER_SHARE, PAPER_TARGETS = 1000, 0.99
"""The theorems: for N or D up to C/1000, at least 99 % of the targets have a risk above α²/16."""

MOST_FUNCTIONS = 5000  # the most points or features of one run
SMALL, LARGE = "enumeration", "large d"  # cases of both: d so small that all points are enumerated, and d large
Dim = Annotated[int, at_least(2), at_most(500)]
EnumeratedDim = Annotated[int, at_least(2), at_most(16)]


@dataclass(frozen=True)
class ExactRiskSettings(HardSettings):
    shares: Annotated[tuple[float, ...], between(0, 1, "(]"), rising, not_empty] = lab.setting(
        (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0), "ours", "N/C or D/C, rounded down, at least one"
    )
    targets: Annotated[int, at_least(1), at_most(20_000)] = lab.setting(
        2000, "ours", "whose risks are listed; all, if there are no more"
    )
    exact_seeds: lab.Seeds = lab.setting(3, "ours", "how many of the seeds have exact risks too: they differ little")
    large_outputs: Dim = lab.setting(4, "ours", "k at large d")

    @property
    def cases(self) -> dict[str, tuple[int, int]]:
        """The dimension d and k of each case."""
        raise NotImplementedError

    @property
    def shown(self) -> lab.Where:
        """Which rows the table shows: all of them, unless there are too many."""
        return {}

    def numbers(self, case: str, shares: Sequence[float] = ()) -> tuple[int, ...]:
        """N or D for these shares of C in a case, or for all shares; each once."""
        targets = class_size(*self.cases[case])
        found = tuple(dict.fromkeys(max(1, math.floor(share * targets + 1e-9)) for share in shares or self.shares))
        bk.core.require(
            found[-1] <= MOST_FUNCTIONS,
            f"shares of the {targets} targets must be at most {MOST_FUNCTIONS} points or features, got {found[-1]}; a "
            "smaller dimension would do",
        )
        return found


SMOKE = {**hard_targets.SMOKE, "shares": (0.1, 1.0), "exact_seeds": 1}


def quantities_of(letter: str) -> dict[str, lab.Quantity]:
    """What both measure, with N or D as the letter."""
    counted = f"risk in units of α²/{THRESHOLD}"

    def shown(heading: str, about: str, label: str = "risk E‖H − f‖²", form: str = ".3g") -> lab.Quantity:
        return lab.Quantity(label, form, lab.NON_NEGATIVE, log=label.startswith("risk"), heading=heading, about=about)

    def share(heading: str, about: str) -> lab.Quantity:
        return lab.Quantity("share of targets", ".3g", lab.SHARE, heading=heading, about=about)

    return {
        "functions": lab.Quantity(letter, within=lab.NON_NEGATIVE, log=True),
        "risk": shown("Risk", "The test error of a network; of others the best risk, its mean over targets."),
        "bound": shown("Bound", f"No such mean is below kα²(1 − {letter}/C)."),
        "own_risk": shown("Own target", "The best risk for the target that the network of this seed has."),
        "smallest_risk": shown("Smallest", "The smallest best risk of the listed targets."),
        "learnt_share": share("Learnt", f"Share of the listed targets with risk α²/{THRESHOLD} or less."),
        "bound_share": share("Learnt ≤", f"No such share is above 16{letter}/(15C)."),
        "unlearnt_share": share("Not learnt", f"Share of the listed targets with risk above α²/{THRESHOLD}."),
        "left_out": shown("Left out", "Directions of the span left out as rounding.", "directions", ".0f"),
        "numerical_error": shown("Error", "An estimate of the numerical error of a risk.", "error", ".0e"),
        "case": lab.Quantity("case"),
        "learner": lab.Quantity("learner"),
        "room": lab.Quantity("risk − bound"),
        "share_room": lab.Quantity("bound on the share − share", within=(-1.0, 1.0)),
        "own_excess": lab.Quantity(counted, within=lab.NON_NEGATIVE),
        "smallest_excess": lab.Quantity(counted, within=lab.NON_NEGATIVE),
    }


class ExactRisks(lab.Experiment):
    """The bounds as claims, the table, and figures over N or D.

    A subclass says by ``letter`` what the bounds count, by ``what`` whom they bind, and by ``drawn`` which learners
    beside the network stand in the figures of each case.
    """

    letter: ClassVar[str]
    what: ClassVar[str]
    drawn: ClassVar[Mapping[str, Sequence[str]]]

    def bounds(self, s: ExactRiskSettings, number: int) -> list[lab.Statement]:
        """The bounds at every place, and the theorem of that number where its condition holds."""
        room, share_room = (lab.least(column, per_seed=False) for column in ("room", "share_room"))
        unlearnt = lab.least("unlearnt_share", per_seed=False, in_theorem=True)
        most, printed = lab.AtLeast(PAPER_TARGETS), f"at least {PAPER_TARGETS:.0%}"
        return [
            self.claim(s, "bound", room, lab.AtLeast(0.0)),
            self.claim(s, "share", share_room, lab.AtLeast(0.0)),
            self.claim(s, "theorem", unlearnt, most, printed, few=PAPER_SHARE, number=number),
        ]

    def table(self, s: ExactRiskSettings) -> lab.Table:
        columns = [
            "risk",
            lab.Shown("bound", show="first"),
            *("own_risk", "smallest_risk", "learnt_share"),
            lab.Shown("bound_share", show="first"),
            *(lab.Shown(name, show="largest") for name in ("left_out", "numerical_error")),
        ]
        return lab.Table(["case", "learner", "functions"], columns, s.shown)

    def figures(self, s: ExactRiskSettings) -> list[lab.Picture]:
        return [picture for case in self.drawn for picture in self._pictures(s, case)]

    def remarks(self, s: ExactRiskSettings) -> list[str]:
        sizes = [(*sizes, class_size(*sizes)) for sizes in s.cases.values()]
        words = "; ".join(f"C({d}, {k}) = {C:,}, C/{PAPER_SHARE} = {C / PAPER_SHARE:,.4g}" for d, k, C in sizes)
        return [f"The numbers of targets: {words}. α²/{THRESHOLD} = {s.threshold:.4g}."]

    def _pictures(self, s: ExactRiskSettings, case: str) -> list[lab.Over]:
        (dim, k), letter, name = s.cases[case], self.letter, case.replace(" ", "-")
        targets, alone = class_size(dim, k), k * s.alpha**2
        axes: dict[str, Any] = {
            "x": "functions",
            "line": {learner: {"learner": learner} for learner in (NETWORK, *self.drawn[case])},
            "where": {"case": case},
            "x_label": f"{letter}; C = {targets}",
        }

        def bound(
            rows: lab.Rows, label: str, height: Callable[[float], float], most: float = math.inf
        ) -> list[lab.Line]:
            there = sorted({float(n) for n in lab.select(rows, {"case": case})["functions"] if n <= most})
            return [lab.Line(label, there, [height(n) for n in there])] if there else []

        return [
            lab.Over(
                f"risk-{name}",
                f"Risk over {letter}, d = {dim}, k = {k}",
                "F is the target without the product of coordinates; predicting F alone leaves kα². The bound on the "
                f"mean is zero at {letter} = C.",
                y="risk",
                levels={f"α²/{THRESHOLD}": s.threshold, "F alone, kα²": alone},
                more=lambda rows: bound(
                    rows, f"at least, for all: kα²(1 − {letter}/C)", lambda n: alone * (1 - n / targets), targets - 1
                ),
                **axes,
            ),
            lab.Over(
                f"share-{name}",
                f"Share of targets at or below α²/{THRESHOLD} over {letter}, d = {dim}, k = {k}",
                "Of a network, the share of its seeds, each of which has a target of its own.",
                y="learnt_share",
                y_limits=(0.0, 1.0),
                more=lambda rows: [
                    *bound(rows, f"at most, for all: 16{letter}/(15C)", lambda n: min(1.0, 16 * n / (15 * targets))),
                    *bound(
                        rows,
                        f"at most, the paper: {1 - PAPER_TARGETS:.0%}",
                        lambda n: 1 - PAPER_TARGETS,
                        targets / PAPER_SHARE,
                    ),
                ],
                **axes,
            ),
        ]


def row(s: ExactRiskSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Risk and share of targets beside their bounds, which are those of all kernels and feature maps.

    The share of a network's run is 1 if its risk is α²/16 or less, and 0 otherwise.
    """
    sizes, exact = s.cases[at.case], outcome.scalars
    bounds = bk.certificates.UniversalCertificate(at.functions, *sizes, s.alpha)
    risk = exact.get("risk", exact.get("test_loss"))
    found: dict[str, Any] = {
        "risk": risk,
        "bound": bounds.mean_risk,
        "bound_share": bounds.learnable_share,
        "in_theorem": at.functions * PAPER_SHARE <= class_size(*sizes),
    }
    if "learnt_share" not in exact:
        return {**found, "learnt_share": None if risk is None else float(risk <= s.threshold)}
    return {
        **found,
        **{name: exact[name] for name in ("own_risk", "smallest_risk")},
        **{f"{name}_excess": exact[f"{name}_risk"] / s.threshold for name in ("own", "smallest")},
        "room": exact["risk"] - bounds.mean_risk,
        "learnt_share": exact["learnt_share"],
        "unlearnt_share": 1 - exact["learnt_share"],
        "share_room": bounds.learnable_share - exact["learnt_share"],
        **{name: exact[name] for name in ("dimension", "left_out", "numerical_error")},
    }
