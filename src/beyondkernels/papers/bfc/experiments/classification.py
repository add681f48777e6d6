"""Theorem 4 and §3.2: two classes, and what each layer adds to the accuracy."""

from __future__ import annotations

import functools
import math
from typing import Any

from beyondkernels import lab
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments import classified
from beyondkernels.papers.bfc.experiments.classified import ALGORITHMS, LITERAL, NETWORKS, OTHER, PRACTICAL, alphas_of
from beyondkernels.papers.bfc.experiments.common import number
from beyondkernels.papers.bfc.experiments.pictures import LOW, over_steps, runs_of
from beyondkernels.papers.bfc.paper import PAPER

FEWER = 0.5  # the part of the wrong labels that may remain when a layer is added
PROPORTIONAL = lab.Between(0.8, 1.2)  # the slopes that count as “proportional to α”
ORDER = 10.0  # how many times larger or smaller a number “of order α” may be
UPPER = (3, 4)  # the layers whose α varies

LEAST = "the cross-entropy of G* itself over ε₀/2 at the last ε₀, which can halve only where this is below 1"
TOP = "of the highest layer that the learner has"
WRONG = "The share of fresh points with a wrong label."
DECIDED = f"The share of labels that change if the target loses a layer and all above it, {TOP}."

LAPTOP: dict[str, Any] = {"dim": 6, "sizes": (0.1, 0.2, 0.4), "steps": (1000, 2000, 5000), "samples": 200_000}
LAPTOP |= {"algorithm_samples": 50_000, "linear_samples": 2000, "test_samples": 100_000, "width": 20, "seeds": 5}
SMOKE: dict[str, Any] = {"dim": 4, "sizes": (0.2, 0.4), "steps": (10, 10, 20), "samples": 200, "batch": 50, "seeds": 2}
SMOKE |= {"algorithm_samples": 200, "linear_samples": 1000, "test_samples": 500, "width": 6, "draws": 3}


class Classification(lab.Experiment):
    id = "bfc/classification"
    reference = PAPER.at("§3.2, Theorem 4, App. H (footnote 47)")
    quantities = {
        "size": number("α₃", log=True),
        "method": lab.Quantity("learner"),
        "test_error": number("share of wrong labels", ".4f", WRONG, "Wrong", log=True, within=lab.SHARE),
        "train_error": number("wrong training labels", ".4f", heading="Wrong, training", within=lab.SHARE),
        "alpha": number("α", ".3f", f"The standard deviation of what a layer adds to G*, {TOP}."),
        "typical": number("typical", ".3f", f"The median of what a layer adds to G*, {TOP}."),
        "decided": number("share decided", ".4f", DECIDED, "Decided, computed", within=lab.SHARE),
        "ranks": lab.Quantity("ranks found", about="k₂, k₃, … as Algorithm 1 finds them, seed 0."),
        "target_error": number("ε₀", ".1e", "Algorithm 1's target error at its end."),
        "least": number("least objective", ".2f", f"This is {LEAST}."),
        **{f"decided{i}": number(f"share that layer {i} decides", within=lab.SHARE) for i in (2, 3, 4)},
        **{f"{name}{i}": number(f"{name} of layer {i}") for name in ("alpha", "typical") for i in (2, 3, 4)},
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 5.0, "paper": 60.0}
    settings_class = classified.ClassificationSettings
    scales = {
        "laptop": lab.scale(**LAPTOP, stage_steps=2000, last_steps=4000, check_every=100),
        "smoke": lab.scale("laptop", **SMOKE, stage_steps=5, last_steps=5, check_every=5),
    }

    def runs(self, s: classified.ClassificationSettings) -> list[lab.Runs]:
        return [
            lab.Runs(classified.spec, {"method": list(NETWORKS.values()), "size": s.sizes}, classified.row),
            lab.Runs(classified.spec, {"method": ALGORITHMS, "size": [s.algorithm_size]}, classified.row),
        ]

    def claims(self, s: classified.ClassificationSettings) -> list[lab.Statement]:
        made, most = [], {"most": 100 * s.accuracy}
        for layer in UPPER:
            symbol = f"α{LOW[layer]}"
            for name, share, value in shares(layer, f"alpha{layer}"):
                told, slope = {"share": share, "symbol": symbol}, value.slope()
                made.append(
                    self.claim(s, f"{name}-slope-{layer}", slope, PROPORTIONAL, f"about {symbol}", "slope", **told)
                )
        for layer in (2, *UPPER):
            symbol, order = f"α{LOW[layer]}", lab.Between(1 / ORDER, ORDER)
            alpha, typical = (lab.of(f"{name}{layer}", "size", method=NETWORKS[layer]) for name in ("alpha", "typical"))
            beside = (
                "the median of what the layer adds, over its standard deviation, is at most",
                (typical / alpha).largest(),
            )
            for name, share, value in shares(layer, "size"):
                told = {"share": share, "symbol": symbol, "beside": beside}
                made.append(
                    self.claim(s, f"{name}-order-{layer}", value / typical, order, f"about {symbol}", "order", **told)
                )
        made.append(self.claim(s, "theorem4", wrong(4, "size").median(), lab.AtMost(s.accuracy), "at most ε", **most))
        for layer in UPPER:
            ratio = (wrong(layer, "size") / wrong(layer - 1, "size")).median()
            paper = "all layers are learnt"
            made.append(self.claim(s, f"needed-{layer}", ratio, lab.AtMost(FEWER), paper, "needed", layer=layer))
        for name, method, v in (
            ("algorithm", PRACTICAL, f"log(1/ε₀)/({s.constant:g}ε₀)"),
            ("algorithm-literal", LITERAL, f"log(1/ε₀)/({classified.PAPER_CONSTANT:g}ε₀)"),
            ("algorithm-other", OTHER, f"{classified.PAPER_CONSTANT:g} log²(1/ε₀)/ε₀"),
        ):
            errs, told = lab.of("test_error", method=method).median(), {"v": v, **most}
            least = f"{LEAST}:", lab.of("least", method=method)
            made.append(
                self.claim(s, name, errs, lab.AtMost(s.accuracy), "at most ε", "algorithm", beside=least, **told)
            )
        return made

    def table(self, s: classified.ClassificationSettings) -> lab.Table:
        ranks = lab.Shown("ranks", show="first")
        columns = ["test_error", "train_error", "alpha", "typical", "decided", ranks, "target_error", "least"]
        return lab.Table(["size", "method"], columns, order=("size",))

    def figures(self, s: classified.ClassificationSettings) -> list[lab.Picture]:
        methods = {name: {"method": name} for name in (*NETWORKS.values(), *ALGORITHMS)}
        return [
            lab.Drawn("increments", by=functools.partial(increments, s)),
            lab.Over("error", x="size", y="test_error", line=methods, levels={"allowed": s.accuracy}),
            lab.Drawn("halving", by=halvings),
        ]


def wrong(layer: int, by: str) -> lab.Value:
    """The share of wrong labels of the network with all layers up to one."""
    return lab.of("test_error", by, method=NETWORKS[layer])


def shares(layer: int, by: str) -> list[tuple[str, str, lab.Value]]:
    """What a layer decides: a name, in words, and as a value."""
    computed = f"The share of points that layer {layer} of the target decides, computed,"
    learnt = f"The accuracy that a trained network gains by layer {layer}"
    return [
        ("exact", computed, lab.of(f"decided{layer}", by, method=NETWORKS[layer])),
        ("learnt", learnt, wrong(layer - 1, by) - wrong(layer, by)),
    ]


def increments(s: classified.ClassificationSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """The shares that layers 3 and 4 decide, computed and learnt, over their α."""
    import numpy as np

    lines = []
    for layer in UPPER:
        below, mine = (lab.select(rows, {"status": "finished", "method": NETWORKS[top]}) for top in (layer - 1, layer))
        x, computed = lab.by_seed(mine, "size", f"decided{layer}")
        more, without = lab.by_seed(below, "size", "test_error")
        if x and x == more:
            alphas = [alphas_of(size)[layer - 2] for size in x]
            gains = np.subtract(without, lab.by_seed(mine, "size", "test_error")[1])
            lines.append(lab.Line(f"layer {layer}, computed", alphas, computed))
            lines.append(lab.Line(f"layer {layer}, learnt", alphas, np.where(gains > 0, gains, math.nan)))
    ends = [alphas_of(min(s.sizes))[-1], alphas_of(max(s.sizes))[1]]
    lines += [lab.Line("α", ends, ends)] if lines else []
    axes: dict[str, Any] = {"x_label": "α of the layer", "x_scale": "log", "middle": "median"}
    return over_steps(picture, lines, "share of points", **axes)


def halvings(picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    lines = []
    for method, v in ((PRACTICAL, "our v"), (LITERAL, "v of footnote 47"), (OTHER, "v of App. H.1.1")):
        for run in runs_of(rows, method=method)[:1]:
            if "rule/objective" in run[OUTCOME].series:
                steps, objective = run[OUTCOME].over("rule/objective")
                later, target = steps >= 1, run[OUTCOME].series["rule/target_error"]
                lines.append(lab.Line(f"objective, {v}", steps[later], objective[later]))
                lines.append(lab.Line(f"ε₀, {v}", steps[later], target[later]))
    return over_steps(picture, lines, "objective")
