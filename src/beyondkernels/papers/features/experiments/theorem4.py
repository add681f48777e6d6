"""Theorem 4: learners that ask statistical queries, with input structure and without."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments import queried
from beyondkernels.papers.features.paper import PAPER

ASKED = "All that were asked; the search ends when it has the target."
LEARNT, OFF = 0.99, 0.6  # what counts as learnt, and as off 1/2


class Theorem4(lab.Experiment):
    id = "features/theorem4"
    reference = PAPER.at("Theorem 4 and App. D")
    quantities = {
        "relevant": lab.Quantity("k"),
        "share": lab.Quantity("queries/bound"),
        "method": lab.Quantity("learner"),
        "queries": lab.Quantity("queries", log=True),
        "targets": lab.Quantity("targets C", log=True),
        "asked": lab.Quantity("queries", ".0f", lab.NON_NEGATIVE, log=True, about=ASKED),
        "test_accuracy": lab.Quantity("test accuracy", ".3f", lab.SHARE, heading="Accuracy at the bound"),
        "sample_size": lab.Quantity("points", ".0f", lab.NON_NEGATIVE, about="Points drawn for each question."),
        "farthest": lab.Quantity("distance from 1/2 over what chance allows", within=lab.NON_NEGATIVE),
        "cost_room": lab.Quantity("cost minus its bound"),
        "our_ratio": lab.Quantity("accuracy above 1/2, over ours"),
        "printed_ratio": lab.Quantity("accuracy above 1/2, over the printed"),
        "exact_accuracy": lab.Quantity("accuracy over all points", within=lab.SHARE),
    }
    seconds_per_run = {"smoke": 0.05, "laptop": 4.0, "paper": 60.0}
    settings_class = queried.Theorem4Settings
    seed_sets = {"laptop": (0, 500, 1000)}
    scales = {
        "laptop": lab.scale(patterns=60, seeds=3),
        "smoke": lab.scale(
            patterns=30, tolerance=0.3, pairs=1, small_patterns=7, small_relevants=(1, 3), test_samples=300, seeds=2
        ),
    }

    def runs(self, s: queried.Theorem4Settings) -> list[lab.Runs]:
        large = {"inputs": queried.INPUTS, "method": tuple(queried.METHODS), "oracle": queried.ORACLES}
        small = {"method": (queried.SEARCH, queried.GUESS), "relevant": s.small_relevants}
        return [lab.Runs(queried.spec, large, queried.rows), lab.Runs(queried.small_spec, small, queried.small_row)]

    def claims(self, s: queried.Theorem4Settings) -> list[lab.Statement]:
        few, (WITH, WITHOUT) = s.small_patterns, queried.INPUTS
        most = max(s.small_relevants, key=lambda k: math.comb(few, k))
        found: dict[str, Any] = {"method": queried.SEARCH, "inputs": queried.few_inputs(few)}
        search, descent = queried.METHODS.values()
        told: dict[str, Any] = {"search": search, "descent": descent, "few": few, "most": most, "end": s.patterns + 1}
        claim = functools.partial(self.claim, s)

        def learnt(column: str, method: str) -> lab.Value:
            return lab.of(column, "oracle", method=method, inputs=WITH, share=1.0)

        without = []
        for (method, words), oracle in itertools.product(queried.METHODS.items(), queried.ORACLES):
            farthest = lab.of("farthest", inputs=WITHOUT, method=method, oracle=oracle, share=1.0)
            chance, more = lab.AtMost(1.0), {"words": words, "oracle": oracle, "errors": queried.ERRORS}
            name, largest = f"{method}-{oracle}", farthest.largest(per_seed=False)
            without.append(claim(name, largest, chance, "at most 1/C³", "without", **more))
        cost, least = lab.of("cost_room", relevant=most, **found), lab.least("exact_accuracy", per_seed=False, **found)
        guessed = found | {"method": queried.GUESS}
        printed, ours = (lab.of(f"{each}_ratio", "relevant", **guessed) for each in ("printed", "our"))
        at_end = lab.AtMost(s.patterns + 1)
        return [
            claim("search-learns", learnt("test_accuracy", queried.SEARCH), lab.AtLeast(LEARNT), **told),
            claim("search-queries", learnt("asked", queried.SEARCH), at_end, **told),
            claim("descent-learns", learnt("test_accuracy", queried.DESCENT), lab.AtLeast(OFF), **told),
            *without,
            claim("search-cost", cost, lab.AtLeast(0.0), **told),
            claim("search-finds", least, lab.AtLeast(1.0), **told),
            claim("printed-threshold", printed, lab.AtMost(1.0), "at most 1", **told),
            claim("our-threshold", ours, lab.AtMost(1.0)),
        ]

    def table(self, s: queried.Theorem4Settings) -> lab.Table:
        columns = ["asked", "test_accuracy", lab.Shown("sample_size", show="first")]
        return lab.Table(["inputs", "method", "oracle"], columns, {"share": 1.0, "inputs": queried.INPUTS})

    def figures(self, s: queried.Theorem4Settings) -> list[lab.Picture]:
        sq, D = bk.features.statistical_queries, s.small_patterns
        learners = itertools.product(queried.METHODS, queried.ORACLES)
        lines = {f"{method}, {oracle}": {"method": method, "oracle": oracle} for method, oracle in learners}
        targets = {k: sq.class_size(D, k) for k in s.small_relevants}
        needed = {k: sq.StatisticalQueryCertificate(D, k, 1, s.small_tolerance, 0.5).needed for k in targets}
        ours = {targets[k]: least for k, least in needed.items() if least > 0}
        bounds = [lab.Line("½ ∛C", list(targets.values()), [sq.theorem4(D, k) for k in targets])]
        if len(ours) > 1:
            bounds.append(lab.Line("τ²(C − 1), ours", list(ours), list(ours.values())))
        return [
            *(
                lab.Over(
                    f"accuracy-{inputs.split()[0]}",
                    f"Test accuracy over the number of queries, {inputs}",
                    f"D = {s.patterns}, k = {s.relevant}, τ = {s.tolerance:g}. An accuracy is that of the last "
                    "hypothesis before so many queries.",
                    "Test accuracy of two learners with two oracles over the queries asked, with a mark at the bound",
                    x="queries",
                    y="test_accuracy",
                    line=lines,
                    where={"inputs": inputs},
                    y_limits=(0.4, 1.15),
                    levels={"chance": 0.5},
                    events={"Theorem 4's bound": sq.theorem4(s.patterns, s.relevant)},
                )
                for inputs in queried.INPUTS
            ),
            lab.Over(
                "cost",
                x="targets",
                y="asked",
                line={"search": {"method": queried.SEARCH}},
                where={"inputs": queried.few_inputs(D)},
                more=lambda _: bounds,
            ),
        ]

    def remarks(self, s: queried.Theorem4Settings) -> list[str]:
        sq, D = bk.features.statistical_queries, s.small_patterns
        asked, k = max(1, math.floor(sq.theorem4(s.patterns, s.relevant))), min(3, D)
        found = sq.StatisticalQueryCertificate(s.patterns, s.relevant, asked, s.tolerance)
        listed = "; ".join(map(str, found.hypotheses))
        size = sq.dimension(sq.class_correlations(bk.features.DictionaryParity(D, D, k).without_structure()))
        return [
            f"With {asked} queries and τ = {s.tolerance:g}: {listed}. {found.verdict}",
            f"SQ-DIM of the parities of {k} out of {D} uniform patterns, by search: {size}.",
        ]
