"""What Theorems 2 and 3 share: claims about bounds, the columns of the table, and figures over N or D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beyondkernels.lab import AtLeast, Line, Over, Rows, Shown, Statement, claim, least
from beyondkernels.papers.resnet.experiments.exact_risks import PAPER_SHARE, PAPER_TARGETS, THRESHOLD, ExactRiskSettings


def theorem_claims(what: str, letter: str, number: int) -> list[Statement]:
    """The bounds at every place, and the theorem's own statement where its condition holds.

    Arguments:
        what: kernels or feature maps in words, in the singular.
        letter: N or D.
        number: of the theorem.
    """
    every = f"For every {what}, in every case and for every {letter}"
    return [
        claim(
            "bound",
            f"{every}, the mean over all targets of the exact best risk is at least kα²(1 − {letter}/C): what it "
            "exceeds it by, at the least",
            least("room", per_seed=False),
            AtLeast(0.0),
        ),
        claim(
            "share",
            f"{every}, at most the share 16{letter}/(15C) of the listed targets has a best risk of α²/{THRESHOLD} or "
            "less: that bound minus the share, at the least",
            least("share_room", per_seed=False),
            AtLeast(0.0),
        ),
        claim(
            "theorem",
            f"Theorem {number}: wherever {letter} ≤ C/{PAPER_SHARE}, at least {PAPER_TARGETS:.0%} of the listed "
            f"targets have a best risk above α²/{THRESHOLD}: their share, at the least",
            least("unlearnt_share", per_seed=False, in_theorem=True),
            AtLeast(PAPER_TARGETS),
            paper=f"at least {PAPER_TARGETS:.0%}",
        ),
    ]


def columns(letter: str) -> list[Shown]:
    """The columns of both tables.

    Arguments:
        letter: N or D.
    """
    return [
        Shown("risk", "Risk", ".3g", about="Of a network: its test error. Others: the best risk, mean over targets."),
        Shown("bound", "Bound", ".3g", show="first", about=f"No such mean is below kα²(1 − {letter}/C)."),
        Shown("own_risk", "Own target", ".3g", about="The best risk for the target that the network of this seed has."),
        Shown("smallest_risk", "Smallest", ".3g", about="The smallest best risk of the listed targets."),
        Shown("learnt_share", "Learnt", ".3g", about=f"Share of the listed targets with risk α²/{THRESHOLD} or less."),
        Shown("bound_share", "Learnt ≤", ".3g", show="first", about=f"No such share is above 16{letter}/(15C)."),
        Shown("left_out", "Left out", ".0f", show="largest", about="Directions of the span left out as rounding."),
        Shown("numerical_error", "Error", ".0e", show="largest", about="An estimate of the numerical error of a risk."),
    ]


def pictures(
    s: ExactRiskSettings, case: str, letter: str, targets: int, outputs: int, words: str, lines: Sequence[str]
) -> list[Over]:
    """Risk, and share of targets that can be learnt, over N or D in one case.

    Arguments:
        s: the settings.
        case: which rows.
        letter: N or D.
        targets: C.
        outputs: k.
        words: the case in words.
        lines: the learners.
    """
    alone, name = outputs * s.alpha**2, case.replace(" ", "-")
    axes: dict[str, Any] = {
        "x": "functions",
        "line": {line: {"learner": line} for line in lines},
        "where": {"case": case},
        "x_label": f"{letter}; C = {targets}",
        "x_scale": "log",
    }

    def places(rows: Rows) -> list[float]:
        mine = rows[rows["case"] == case]["functions"] if "case" in rows else []
        return sorted({float(value) for value in mine})

    def risk_bound(rows: Rows) -> list[Line]:
        there = [n for n in places(rows) if n < targets]
        return [Line(f"at least, for all: kα²(1 − {letter}/C)", there, [alone * (1 - n / targets) for n in there])]

    def share_bound(rows: Rows) -> list[Line]:
        there = places(rows)
        ours = Line(f"at most, for all: 16{letter}/(15C)", there, [min(1.0, 16 * n / (15 * targets)) for n in there])
        paper = [n for n in there if PAPER_SHARE * n <= targets]
        return [
            ours,
            *(
                [Line(f"at most, the paper: {1 - PAPER_TARGETS:.0%}", paper, [1 - PAPER_TARGETS] * len(paper))]
                if paper
                else []
            ),
        ]

    return [
        Over(
            f"risk-{name}",
            f"Risk over {letter}, {words}",
            "The network's test error, and the mean over targets of exact best risks. F is the target without the "
            f"product of coordinates; predicting F alone leaves kα². The bound on the mean is zero at {letter} = C.",
            f"Risk over {letter} of {', '.join(lines)}, beside the bound for all and the level α²/{THRESHOLD}",
            y="risk",
            y_label="risk E‖H − f‖²",
            y_scale="log",
            levels={f"α²/{THRESHOLD}": s.threshold, "F alone, kα²": alone},
            more=risk_bound,
            **axes,
        ),
        Over(
            f"share-{name}",
            f"Share of targets at or below α²/{THRESHOLD} over {letter}, {words}",
            "Of the listed targets; of a network, the share of its seeds, each of which has a target of its own.",
            f"Share of targets learnt over {letter} of {', '.join(lines)}, beside the bounds from above",
            y="learnt_share",
            y_label="share of targets",
            y_limits=(0.0, 1.0),
            more=share_bound,
            **axes,
        ),
    ]
