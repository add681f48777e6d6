"""Theorem 1: the quadratic DenseNet learns targets of three and four layers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.algorithm1 import StagedSettings, algorithm_of, algorithm_row, algorithm_spec
from beyondkernels.papers.bfc.experiments.common import error, number, variances_of
from beyondkernels.papers.bfc.experiments.layers import INPUTS, NAMES, TOGETHER, problem_at
from beyondkernels.papers.bfc.experiments.pictures import LOW, entries, over_steps, panel, runs_of
from beyondkernels.papers.bfc.paper import PAPER

ALGORITHM = "Algorithm 1"
POINTS = 60  # of a seed's line in the pictures, about
SHARES = {"learnt": "share of seeds", "right": "ranks right", "reached": "thresholds reached"}
WAYS = {"plain": (TOGETHER, "plain training"), "algorithm": (ALGORITHM, ALGORITHM)}

BAR = 0.01  # the error must be at most this part of what the last layer adds; without that layer, more is left
MOST_SEEDS = 0.8  # in which share of the seeds; the theorem has 0.99
CONSTANT = 50.0  # of Theorem 2, in units of the layers' standard deviations, as in bfc/theorem2
SELF_REGULARISED = 2.0  # what E‖S‖² stays below in units of B (Corollary F.3e), where B is at least E‖S*‖² and 1

SMOKE: dict[str, Any] = {"width": 6, "stage_steps": 20, "last_steps": 30, "draws": 3, "check_every": 10, "looks": 1}


@dataclass(frozen=True)
class Theorem1Settings(StagedSettings):
    three_alpha: lab.Size = lab.setting(0.1, "ours", "α₃ with three layers: a ratio of standard deviations")


class Theorem1(lab.Experiment):
    id = "bfc/theorem1"
    reference = PAPER.at("Theorem 1, Algorithm 1, §4")
    quantities = {
        **layers.QUANTITIES,
        "test": error("test error", "Relative to Var(G*), which is what a constant leaves."),
        "bar": error("bar"),
        "alone": error("without the last layer", heading="Without layer L"),
        **{name: lab.Quantity(words, ".2f", lab.SHARE, better="more") for name, words in SHARES.items()},
        "times": number("constant", ".2g", "What Theorem 2's constant must be at least here."),
        **{f"S{i}": error(f"S{LOW[i]}") for i in (2, 3, 4)},
        "ranks": lab.Quantity("ranks found", about="k₂, k₃, … as Algorithm 1 finds them."),
        "norm": number("largest features", ".2f", "E‖S‖² over E‖S*‖², the largest of all layers on the way."),
        "steps": number("steps", ",.0f"),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 12.0, "paper": 60.0}
    settings_class = Theorem1Settings
    scales = {
        "laptop": lab.scale(**layers.LAPTOP, width=20, stage_steps=8000, last_steps=4000, check_every=20, seeds=6),
        "smoke": lab.scale("laptop", **layers.SMOKE, **SMOKE, samples=300, steps=20, snapshots=2),
    }
    seed_sets = {"laptop": (0, 500, 1000)}

    def runs(self, s: Theorem1Settings) -> list[lab.Runs]:
        alphas = {3: s.three_alpha, 4: s.four_alphas[1]}
        specs = {TOGETHER: layers.plain_spec, ALGORITHM: algorithm_spec}
        return [
            lab.Runs(spec, {"layers": [n], "alpha": [alphas[n]], "inputs": [INPUTS[n]], "method": [method]}, rows_of)
            for n in INPUTS
            for method, spec in specs.items()
        ]

    def claims(self, s: Theorem1Settings) -> list[lab.Statement]:
        made, many = [], lab.AtLeast(MOST_SEEDS)
        for n in INPUTS:
            at: dict[str, Any] = {"layers": n, "top": n}
            said: dict[str, Any] = {"network": NAMES[n], "last": n}
            for name, (method, _) in WAYS.items():
                learnt = lab.of("learnt", method=method, **at).share()
                made.append(self.claim(s, f"{name}-{n}", learnt, many, "any ε, with probability 0.99", name, **said))
            for name, column in {"ranks": "right", "thresholds": "reached"}.items():
                share = lab.of(column, method=ALGORITHM, **at).share()
                made.append(self.claim(s, f"{name}-{n}", share, many, None, name, **said))
            norm, times = (lab.of(column, method=ALGORITHM, **at) for column in ("norm", "times"))
            bounded = norm.largest(per_seed=False)
            made += [
                self.claim(s, f"bounded-{n}", bounded, lab.AtMost(SELF_REGULARISED), "2B", "bounded", **said),
                self.claim(s, f"features-{n}", times.median(), lab.AtMost(CONSTANT), "≲", "features", **said),
            ]
            alone = (lab.of("alone", method=TOGETHER, **at) / lab.of("bar", method=TOGETHER, **at)).median()
            made.append(self.claim(s, f"alone-{n}", alone, lab.Above(1.0), None, "alone", **said))
        return made

    def table(self, s: Theorem1Settings) -> lab.Table:
        ranks = lab.Shown("ranks", show="first")
        columns = ["test", "bar", "alone", "S2", "S3", "S4", ranks, "reached", "norm", "times", "steps"]
        by = ["layers", "inputs", "method", "seed"]
        return lab.Table(by, columns, where={"last": True}, order=("layers", "method", "seed"))

    def figures(self, s: Theorem1Settings) -> list[lab.Picture]:
        return [
            lab.Drawn("stages", by=functools.partial(first_runs, s, stage_curves)),
            lab.Drawn("norms", by=functools.partial(first_runs, s, size_curves)),
            lab.Drawn("seeds", by=functools.partial(seed_curves, s)),
        ]


Curves = Callable[[Theorem1Settings, lab.Drawn, dict[str, Any]], list[lab.Curves]]


def first_runs(s: Theorem1Settings, draw: Curves, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """A figure of the first seed's run of Algorithm 1 with four layers, and one with three."""
    return [
        curves
        for n in (4, 3)
        for row in runs_of(rows, layers=n, method=ALGORITHM)[:1]
        for curves in draw(s, panel(picture, f"-{n}", NAMES[n].lower()), row)
    ]


def stage_curves(s: Theorem1Settings, picture: lab.Drawn, row: dict[str, Any]) -> list[lab.Curves]:
    """The objective over the stages, with the thresholds that it crosses and ε₀²."""
    run, numbers = row[OUTCOME], algorithm_of(s, problem_at(s, lab.At(row))).settings
    if "rule/objective" not in run.series:
        return []
    steps, objective = run.over("rule/objective")
    later = steps >= 1  # ε₀ is set by a look at the objective, in the first step
    target = run.series["rule/target_error"][later] ** 2
    lines = [lab.Line("objective", steps[later], objective[later]), lab.Line("ε₀²", steps[later], target)]
    levels, events = numbers.thresholds, entries(run.scalars, numbers.depth)
    return over_steps(picture, lines, "objective", events, levels, x_scale="log")


def size_curves(s: Theorem1Settings, picture: lab.Drawn, row: dict[str, Any]) -> list[lab.Curves]:
    """E‖S‖² of every layer over the stages, relative to the target's, and the ranks that were found."""
    run, lines = row[OUTCOME], []
    for i in range(2, row["layers"] + 1):
        if f"norms/relative{i}" in run.series:
            steps, sizes = run.over(f"norms/relative{i}")
            there = sizes > 0  # a layer has no features before it is distilled
            if there.any():
                label = f"S{LOW[i]}, rank {run.scalars[f'layer{i}/rank']:.0f}"
                lines.append(lab.Line(label, steps[there], sizes[there]))
    levels, events = {f"{SELF_REGULARISED:g}": SELF_REGULARISED}, entries(run.scalars, row["layers"])
    return over_steps(picture, lines, "E‖S‖² / E‖S*‖²", events, levels, x_scale="log", y_scale="linear")


def seed_curves(s: Theorem1Settings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Test errors over training; the plain learner's layers join at the same steps in every run."""
    drawn = []
    for n, (name, (method, words)) in itertools.product((4, 3), WAYS.items()):
        found = runs_of(rows, layers=n, method=method, last=True)
        found = [(row, *thinned(row[OUTCOME])) for row in found if "test_loss" in row[OUTCOME].series]
        lines = [
            lab.Line(f"seed {row['seed']}", steps, [loss / row["variance"] for loss in losses])
            for row, steps, losses in found
        ]
        lowest = min((row["bar"] for row, *_ in found), default=0.0)
        levels = {"lowest bar of the seeds": lowest}
        mine = panel(picture, f"-{n}-{name}", NAMES[n], words, NAMES[n].lower())
        joins = s.joins(n) if method == TOGETHER else {}
        drawn += over_steps(mine, lines, "test error, relative to Var(G*)", joins, levels)
    return drawn


def thinned(run: bk.core.Outcome) -> tuple[Any, Any]:
    """Test errors at some of the recorded steps, evenly spaced by their order; the picture shows no more."""
    steps, losses = run.over("test_loss")
    kept = slice(None, None, -(len(steps) // -POINTS))
    return [*steps[:-1][kept], steps[-1]], [*losses[:-1][kept], losses[-1]]


def bar_of(problem: bk.bfc.QuadraticTarget) -> float:
    """Relative to Var(G*)."""
    variance, last = variances_of(problem)
    return BAR * last / variance


def rows_of(s: Theorem1Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """The stages of the plain learner, or the end of Algorithm 1; a run that diverged has not met its bar."""
    before, more = [], {}
    if at.method == ALGORITHM:
        end = algorithm_row(s, at, outcome)
    else:
        *before, end = ({"last": False} | row for row in layers.stage_rows(s, at, outcome))
        more = {"alone": before[-1]["test"], "steps": outcome.scalars["steps"]}
    bar = bar_of(problem_at(s, at))
    return [*before, end | {"last": True, "bar": bar, "learnt": float(end["test"] <= bar)} | more]
