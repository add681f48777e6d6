"""Footnote 15: the learner knows neither α nor the connection graph, and searches for both."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.pictures import over_steps
from beyondkernels.papers.bfc.paper import PAPER

GRAPHS = {"{3,0}": (3, 0), "{3,1}": (3, 1), "{3,1,0}": (3, 1, 0)}
"""Every 𝒥₄ that §2 allows with four layers, by its name; 𝒥₂ = {1} and 𝒥₃ = {2, 0} are the only ones allowed."""

KNOWN, FOUND, FACTOR = "α and graph known", "α and graph searched", "graph known, α times a factor"
WITHOUT = "without layer 4"


@dataclass(frozen=True)
class SearchSettings(common.PlainSettings):
    samples: lab.Count = lab.setting(5000, "ours", "N")
    validation_samples: lab.Count = lab.setting(2000, "ours", "points that choose")
    third: lab.Sizes = lab.setting((0.001, 0.01, 0.1, 1.0), "ours", "α′₃ of the grid")
    fourth: lab.Sizes = lab.setting((1e-5, 1e-4, 0.001, 0.01), "ours", "α′₄ of the grid")
    factors: lab.Sizes = lab.setting((0.01, 0.1, 1.0, 10.0, 100.0), "ours", "of all α but α₂, where the graph is known")
    search_seeds: lab.Seeds = lab.setting(2, "ours", "for the search alone")

    def __post_init__(self) -> None:
        super().__post_init__()
        bk.core.require(len(self.alphas) == 3, f"alphas must hold 3 numbers here, got {self.alphas}")


class Search(lab.Experiment):
    id = "bfc/search"
    reference = PAPER.at("§4, footnotes 9 and 15")
    quantities = {
        **common.PLAIN,
        "method": lab.Quantity("learner"),
        "role": lab.Quantity("runs"),
        "graph": lab.Quantity("𝒥₄"),
        "third": lab.Quantity("α′₃"),
        "fourth": lab.Quantity("α′₄"),
        "factor": common.number("α′/α", log=True),
        "of_last_layer": common.error("over layer 4", heading="Over layer 4"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 3.0, "paper": 8.0}
    settings_class = SearchSettings
    scales = {
        "laptop": lab.scale(
            **common.LAPTOP, samples=1000, third=(0.001, 0.01, 0.1), fourth=(1e-4, 0.001), factors=(0.1, 1.0, 10.0)
        ),
        "smoke": lab.scale(**common.SMOKE, samples=100, batch=50, third=(0.01,), fourth=(0.001,), factors=(0.1, 10.0)),
    }
    seed_sets = {"laptop": (0, 500, 1000)}

    def runs(self, s: SearchSettings) -> list[lab.Runs]:
        axes = {"third": s.third, "fourth": s.fourth}
        grid = {name: lab.Axis(values, (values[0], values[-1])) for name, values in axes.items()}
        return [
            lab.Searched(
                spec,
                {"method": [FOUND]},
                common.errors,
                axes=lambda _: grid,
                criteria={"validation": "validation_loss"},
                search_seeds=s.search_seeds,
                best_of={"graph": list(GRAPHS)},
                first_search_seed=2000,
                show_search=True,
            ),
            lab.Runs(spec, {"method": [KNOWN, WITHOUT]}, common.errors),
            lab.Runs(spec, {"method": [FACTOR], "factor": s.factors}, common.errors),
        ]

    def claims(self, s: SearchSettings) -> list[lab.Statement]:
        def left(by: str | None = None, **where: Any) -> lab.Value:
            return lab.of("of_last_layer", by, **where).median()

        learnt, (low, *_, high) = lab.AtMost(common.LEARNT), s.factors
        near, factor = "α up to a constant factor suffices", left("factor", method=FACTOR)
        return [
            self.claim(s, "found", left(method=FOUND, role="chosen"), learnt, "grid search suffices"),
            self.claim(s, "known", left(method=KNOWN), learnt, "any ε² (Theorem 1)"),
            self.claim(s, "factor", factor, learnt, near, low=low, high=high),
            self.claim(s, "without", left(method=WITHOUT), lab.AtLeast(common.LEARNT)),
        ]

    def table(self, s: SearchSettings) -> lab.Table:
        test, *rest = common.medians("test_error", "validation_error", "of_last_layer")
        largest = lab.Shown("test_error", "Largest", ".2g", show="largest")
        return lab.Table(["method", "role", "graph", "third", "fourth", "factor"], [test, largest, *rest])

    def figures(self, s: SearchSettings) -> list[lab.Picture]:
        line = {"test error": {"method": FACTOR}}
        return [
            lab.Drawn("search", by=functools.partial(search_curves, s)),
            lab.Over("factor", x="factor", y="test_error", line=line, levels=common.bar(s), middle="median"),
        ]


def search_curves(s: SearchSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """For each graph the least validation error over α′₄, over α′₃."""
    tried = rows[rows["role"] == "search"] if "role" in rows else rows[:0]
    if tried.empty:
        return []
    least = tried.groupby(["graph", "third", "fourth"])["validation_error"].mean().groupby(["graph", "third"]).min()
    lines = [
        lab.Line(f"layer 4 sees {name}", list(mine.index.get_level_values("third")), mine.tolist())
        for name, mine in least.groupby(level="graph", sort=False)
    ]
    y_label = "validation error / Var(G*)"
    return over_steps(picture, lines, y_label, levels=common.bar(s), x_label="α′₃", x_scale="log")


def spec(s: SearchSettings, at: lab.At) -> bk.store.RunSpec:
    problem = s.target(at.seed)
    network = common.network_of(s, problem)
    if at.method == FOUND:
        graph = (*network.graph[:-1], GRAPHS[at.graph])
        network = replace(network, graph=graph, alphas=(1.0, at.third, at.fourth))
    if at.method == FACTOR:
        first, *rest = network.alphas
        network = replace(network, alphas=(first, *(alpha * at.factor for alpha in rest)))
    steps = s.steps
    if at.method == WITHOUT:
        parts: Any = {name: getattr(network, name)[:-1] for name in ("graph", "widths", "alphas")}
        network, steps = replace(network, **parts), (*s.steps[:-2], sum(s.steps[-2:]))
    learner = bk.engine.TrainedNetwork(network, common.rule_of(s, steps, s.samples))
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (), s.validation_samples)
