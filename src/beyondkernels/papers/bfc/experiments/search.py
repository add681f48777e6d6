"""Footnote 15: the learner knows neither α nor the connection graph, and searches for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.lab import (
    At,
    AtMost,
    Axis,
    Count,
    Curves,
    Drawn,
    Experiment,
    Level,
    Line,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Searched,
    Seeds,
    Shown,
    Sizes,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

GRAPHS = {"{3,0}": (3, 0), "{3,1}": (3, 1), "{3,1,0}": (3, 1, 0)}
"""Every 𝒥₄ that §2 allows with four layers, by its name; 𝒥₂ = {1} and 𝒥₃ = {2, 0} are the only ones allowed."""

KNOWN, FOUND, FACTOR = "α and graph known", "α and graph searched", "graph known, α times a factor"


@dataclass(frozen=True)
class SearchSettings(common.PlainSettings):
    """The numbers of the experiment."""

    samples: Count = setting(5000, "ours", "N")
    validation_samples: Count = setting(2000, "ours", "points that choose")
    third: Sizes = setting((0.001, 0.01, 0.1, 1.0), "ours", "α′₃ of the grid")
    fourth: Sizes = setting((1e-5, 1e-4, 0.001, 0.01), "ours", "α′₄ of the grid")
    factors: Sizes = setting((0.01, 0.1, 1.0, 10.0, 100.0), "ours", "of all α but α₂, where the graph is known")
    search_seeds: Seeds = setting(2, "ours", "for the search alone")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.alphas) == 3, f"alphas must hold 3 numbers here, got {self.alphas}")


class Search(Experiment):
    """The grid of α′₃, α′₄ and graphs, chosen on validation points."""

    id: ClassVar[str] = "bfc/search"
    reference = PAPER.at("§4, footnotes 9 and 15")
    text_file: ClassVar[str] = "search.md"
    symbols: ClassVar[Mapping[str, str]] = {"factor": "α′/α"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 3.0, "paper": 8.0}
    settings_class: ClassVar[type] = SearchSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            dim=8,
            steps=(1000, 2000, 5000),
            samples=1000,
            third=(0.001, 0.01, 0.1),
            fourth=(1e-4, 0.001),
            factors=(0.1, 1.0, 10.0),
            search_seeds=1,
            test_samples=5000,
            seeds=5,
        ),
        "smoke": scale(
            dim=4,
            steps=(10, 10, 20),
            samples=100,
            batch=50,
            validation_samples=100,
            third=(0.01,),
            fourth=(0.001,),
            factors=(0.1, 10.0),
            search_seeds=1,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: SearchSettings) -> list[Runs]:
        """The search; the learner that knows everything; the one that knows α up to a factor."""
        return [
            Searched(
                spec,
                {"method": [FOUND]},
                row,
                axes=lambda _: {"third": fixed(s.third), "fourth": fixed(s.fourth)},
                criteria={"validation": "validation_loss"},
                search_seeds=s.search_seeds,
                best_of={"graph": list(GRAPHS)},
                show_search=True,
            ),
            Runs(spec, {"method": [KNOWN]}, row),
            Runs(spec, {"method": [FACTOR], "factor": s.factors}, row),
        ]

    def claims(self, s: SearchSettings) -> list[Statement]:
        """What was found learns the target; so does any α within the factors."""
        layer = f"a tenth of the variance of what layer {s.depth} adds"
        found = of("of_last_layer", method=FOUND, role="chosen")
        return [
            claim(
                "found",
                f"With the α′ and the graph that validation points choose, the median test error is at most {layer}",
                found.median(),
                AtMost(common.LEARNT),
                paper="grid search suffices",
            ),
            claim(
                "known",
                f"With α and the graph known, the median test error is at most {layer}",
                of("of_last_layer", method=KNOWN).median(),
                AtMost(common.LEARNT),
                paper="any ε² (Theorem 1)",
            ),
            claim(
                "factor",
                f"With the graph known and α₃, α₄ of the target times any factor from {s.factors[0]:g} to "
                f"{s.factors[-1]:g}, the median test error is at most {layer}",
                of("of_last_layer", "factor", method=FACTOR).median(),
                AtMost(common.LEARNT),
                paper="α up to a constant factor suffices",
            ),
        ]

    def table(self, s: SearchSettings) -> Table:
        """A line for each place of the search, and for what is compared with it."""
        return Table(
            {"method": "Learner", "role": "Runs", "graph": "𝒥₄", "third": "α′₃", "fourth": "α′₄", "factor": "α′/α"},
            [
                common.medians("test_error", "Test error", common.RELATIVE),
                Shown("test_error", "Largest", ".2g", show="largest"),
                common.medians("validation_error", "Validation error"),
                common.medians("of_last_layer", f"Over layer {s.depth}"),
            ],
        )

    def figures(self, s: SearchSettings) -> list[Picture]:
        """What the search saw, and what a wrong factor costs."""
        return [
            Drawn(
                "search",
                "Validation error of the search",
                "For every graph and α′₃ the least error over α′₄, in the units of the target's variance. Dashed: a "
                f"tenth of what layer {s.depth} adds.",
                "The least validation error over α′₃, a line for each graph, and the dashed line",
                lambda picture, rows: search_curves(s, picture, rows),
            ),
            Over(
                "factor",
                "Test error when α is known up to a factor",
                "The graph is known. α₃ and α₄ of the learner are those of the target times the factor. "
                f"{common.RELATIVE}",
                "The test error over the factor between the learner's α and the target's",
                x="factor",
                y="test_error",
                line={"test error": {"method": FACTOR}},
                x_label="α′/α",
                y_label="test error / Var(G*)",
                x_scale="log",
                y_scale="log",
                middle="median",
                levels=common.bar(s),
            ),
        ]


def fixed(values: tuple[float, ...]) -> Axis:
    """An axis that does not grow."""
    return Axis(values, (values[0], values[-1]))


def search_curves(s: SearchSettings, picture: Drawn, rows: Rows) -> list[Curves]:
    """For each graph the least validation error over α′₄, over α′₃."""
    tried = rows[rows["role"] == "search"] if "role" in rows else rows[:0]
    if tried.empty:
        return []
    least = tried.groupby(["graph", "third", "fourth"])["validation_error"].mean().groupby(["graph", "third"]).min()
    lines = [
        Line(f"layer 4 sees {name}", list(mine.index.get_level_values("third")), mine.tolist())
        for name, mine in least.groupby(level="graph", sort=False)
    ]
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="α′₃",
            y_label="validation error / Var(G*)",
            x_scale="log",
            y_scale="log",
            levels=[Level(label, value) for label, value in common.bar(s).items()],
        )
    ]


def spec(s: SearchSettings, at: At) -> RunSpec:
    """The learner with the α and the graph of a place."""
    problem = s.target(at.seed)
    network = common.network_of(s, problem)
    if at.method == FOUND:
        graph = (*network.graph[:-1], GRAPHS[at.graph])
        network = replace(network, graph=graph, alphas=(1.0, at.third, at.fourth))
    if at.method == FACTOR:
        first, *rest = network.alphas
        network = replace(network, alphas=(first, *(alpha * at.factor for alpha in rest)))
    learner = bk.engine.TrainedNetwork(network, common.rule_of(s, s.steps, s.samples))
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (), s.validation_samples)


def row(s: SearchSettings, at: At, outcome: Outcome) -> dict[str, float]:
    """Errors over the variance of the target, and over that of its last layer."""
    return common.errors(s.target(at.seed), outcome)
