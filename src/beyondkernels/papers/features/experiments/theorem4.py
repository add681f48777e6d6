"""Theorem 4: learners that ask statistical queries, with input structure and without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Experiment,
    Line,
    Over,
    Picture,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
)
from beyondkernels.papers.features.experiments.queried import (
    DESCENT,
    ERRORS,
    GUESS,
    METHODS,
    ORACLES,
    SEARCH,
    WITH,
    WITHOUT,
    Theorem4Settings,
    few_inputs,
    rows,
    small_row,
    small_spec,
    spec,
)
from beyondkernels.papers.features.paper import PAPER

LEARNT, OFF = 0.99, 0.6
"""What counts as learnt, and as off 1/2."""


class Theorem4(Experiment):
    """Accuracy over the number of queries, and the queries a search takes over the number of targets."""

    id: ClassVar[str] = "features/theorem4"
    reference = PAPER.at("Theorem 4 and App. D")
    text_file: ClassVar[str] = "theorem4.md"
    symbols: ClassVar[Mapping[str, str]] = {"relevant": "k", "share": "queries/bound"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 4.0, "paper": 60.0}
    settings_class: ClassVar[type] = Theorem4Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(patterns=60, seeds=3),
        "smoke": scale(
            patterns=30,
            tolerance=0.3,
            pairs=1,
            small_patterns=7,
            small_relevants=(1, 3),
            test_samples=300,
            seeds=2,
        ),
    }

    def runs(self, s: Theorem4Settings) -> list[Runs]:
        """Both learners with both oracles on both kinds of inputs, and few patterns where every answer is exact."""
        large = {"inputs": (WITH, WITHOUT), "method": tuple(METHODS), "oracle": ORACLES}
        small = {"method": (SEARCH, GUESS), "relevant": s.small_relevants}
        return [Runs(spec, large, rows), Runs(small_spec, small, small_row)]

    def claims(self, s: Theorem4Settings) -> list[Statement]:
        """With structure few queries suffice; without it nothing is learnt within the bound."""
        D, few = s.patterns, s.small_patterns
        found: dict[str, Any] = {"method": SEARCH, "inputs": few_inputs(few)}
        guessed = found | {"method": GUESS}
        whole = {"inputs": WITH, "share": 1.0}
        most = max(s.small_relevants, key=lambda k: math.comb(few, k))
        without = [
            claim(
                f"{method}-{oracle}",
                f"Without structure, no hypothesis of {words} up to the bound is farther from accuracy 1/2 than "
                f"chance allows for so many, {ERRORS} standard errors for one alone: the {oracle} oracle, the largest "
                "distance as a share of this",
                of("farthest", inputs=WITHOUT, method=method, oracle=oracle, share=1.0).largest(per_seed=False),
                AtMost(1.0),
                paper="at most 1/C³",
            )
            for method, words in METHODS.items()
            for oracle in ORACLES
        ]
        return [
            claim(
                "search-learns",
                f"With structure, {METHODS[SEARCH]} is right on at least {100 * LEARNT:g} %, with either oracle",
                of("test_accuracy", "oracle", method=SEARCH, **whole),
                AtLeast(LEARNT),
            ),
            claim(
                "search-queries",
                f"With structure, it ends after D + 1 = {D + 1} queries, with either oracle",
                of("asked", "oracle", method=SEARCH, **whole),
                AtMost(D + 1),
            ),
            claim(
                "descent-learns",
                f"With structure, {METHODS[DESCENT]} is right on at least {100 * OFF:g} % within the bound, with "
                "either oracle",
                of("test_accuracy", "oracle", method=DESCENT, **whole),
                AtLeast(OFF),
            ),
            *without,
            claim(
                "search-cost",
                f"Without structure, for D = {few} and k = {most}, the search asks in the mean at least "
                "τ²(C − 1)²/(2C) queries before it has the target, our bound on the mean over all targets, by the "
                "queries beyond it",
                of("cost_room", relevant=most, **found),
                AtLeast(0.0),
            ),
            claim(
                "search-finds",
                f"With enough queries it has the target, for D = {few} and every k: the least accuracy over all points",
                least("exact_accuracy", per_seed=False, **found),
                AtLeast(1.0),
            ),
            claim(
                "printed-threshold",
                f"As printed, for the parities of the proof: for D = {few} and every k, a guess without queries is "
                "below error 1/2 by at most 1/C³, by the ratio",
                of("printed_ratio", "relevant", **guessed),
                AtMost(1.0),
                paper="at most 1",
            ),
            claim(
                "our-threshold",
                "Ours, by orthogonality: it is below error 1/2 by at most 1/(2√C), by the ratio",
                of("our_ratio", "relevant", **guessed),
                AtMost(1.0),
            ),
        ]

    def table(self, s: Theorem4Settings) -> Table:
        """A line for each kind of inputs, learner and oracle, at the bound."""
        return Table(
            {"inputs": "Inputs", "method": "Learner", "oracle": "Oracle"},
            [
                Shown("asked", "Queries", ".0f", about="All that were asked; the search ends when it has the target."),
                Shown("test_accuracy", "Accuracy at the bound", ".3f"),
                Shown("sample_size", "Points", ".0f", show="first", about="Points drawn for each question."),
            ],
            where={"share": 1.0, "inputs": (WITH, WITHOUT)},
        )

    def figures(self, s: Theorem4Settings) -> list[Picture]:
        """Accuracy over queries, and queries over the number of targets."""
        sq = bk.features.statistical_queries
        lines = {
            f"{method}, {oracle}": {"method": method, "oracle": oracle} for method in METHODS for oracle in ORACLES
        }
        targets = {k: sq.class_size(s.small_patterns, k) for k in s.small_relevants}
        bounds = {k: sq.StatisticalQueryCertificate(s.small_patterns, k, 1, s.small_tolerance, 0.5) for k in targets}
        ours = {size: bounds[k].needed for k, size in targets.items() if bounds[k].needed > 0}
        return [
            *(
                Over(
                    f"accuracy-{inputs.split()[0]}",
                    f"Test accuracy over the number of queries, {inputs}",
                    f"D = {s.patterns}, k = {s.relevant}, τ = {s.tolerance:g}. An accuracy is that of the last "
                    "hypothesis before so many queries.",
                    "Test accuracy of two learners with two oracles over the number of queries, with a mark at the "
                    "bound",
                    x="queries",
                    y="test_accuracy",
                    line=lines,
                    where={"inputs": inputs},
                    x_label="queries",
                    y_label="test accuracy",
                    x_scale="log",
                    y_limits=(0.4, 1.15),
                    levels={"chance": 0.5},
                    events={"Theorem 4's bound": sq.theorem4(s.patterns, s.relevant)},
                )
                for inputs in (WITH, WITHOUT)
            ),
            Over(
                "cost",
                f"Queries until the search has the target, D = {s.small_patterns}, without structure",
                f"One point for each k; the adversarial oracle with τ = {s.small_tolerance:g}, all answers exact. Our "
                "bound is on the worst target; its line is left out where it says nothing.",
                "Queries of the search over the number of targets C, with the paper's bound and ours",
                x="targets",
                y="asked",
                line={"search": {"method": SEARCH}},
                where={"inputs": few_inputs(s.small_patterns)},
                x_label="targets C",
                y_label="queries",
                x_scale="log",
                y_scale="log",
                more=lambda _: [
                    Line("½ ∛C", list(targets.values()), [sq.theorem4(s.small_patterns, k) for k in targets]),
                    *([Line("τ²(C − 1), ours", list(ours), list(ours.values()))] if len(ours) > 1 else []),
                ],
            ),
        ]

    def remarks(self, s: Theorem4Settings) -> list[str]:
        """How the case stands to the theorem, and the dimension by its definition."""
        sq = bk.features.statistical_queries
        asked = max(1, math.floor(sq.theorem4(s.patterns, s.relevant)))
        found = sq.StatisticalQueryCertificate(s.patterns, s.relevant, asked, s.tolerance)
        listed = "; ".join(str(each) for each in found.hypotheses)
        k = min(3, s.small_patterns)
        parity = bk.features.DictionaryParity(s.small_patterns, s.small_patterns, k).without_structure()
        size = sq.dimension(sq.class_correlations(parity))
        return [
            f"With {asked} queries and τ = {s.tolerance:g}: {listed}. {found.verdict}",
            f"SQ-DIM of the parities of {k} out of {s.small_patterns} uniform patterns, by search: {size}.",
        ]
