"""Lemma 5: a network of 3(k + 1) neurons that gives every label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.lab import (
    At,
    AtLeast,
    Count,
    Counts,
    Curves,
    Drawn,
    Experiment,
    Line,
    Picture,
    Rows,
    Runs,
    Scale,
    Seeds,
    Shown,
    Statement,
    Table,
    claim,
    least,
    scale,
    select,
    setting,
)
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.features.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.features.problems import HiddenPatterns, LabelSet

LABELS = ("parity", "threshold", "interval", "random")
INPUTS = ("fair coins", "mixture", "unequal coins")
BOUND = AtLeast(1.0)
BOUNDS = {
    "neurons": ("neurons_room", "It has at most 3(k + 1) neurons"),
    "outputs": ("output_room", "|a*| ≤ 32k"),
    "least-bias": ("least_bias_room", "|b*| ≥ 1/(32k)"),
    "largest-bias": ("largest_bias_room", "|b*| ≤ 1/2"),
    "inside": ("inside_room", "|⟨w*, x⟩ + b*| ≤ 1 at every test point and count"),
}
"""By the claim's short name: the column that says how often the bound has room for what was found, and the bound."""


@dataclass(frozen=True)
class Lemma5Settings(Checked):
    """The numbers of the experiment."""

    dim: Count = setting(500, "ours", "Table 1's; the lemma holds for all")
    patterns: Count = setting(100, "ours", "Table 1's")
    relevants: Counts = setting((1, 2, 3, 5, 10, 30), "ours", "5 and 30 are the k of Tables 1 and 2")
    mixture: float = setting(0.3, "ours", "p_o of the mixture")
    test_samples: Count = setting(10_000, "ours")
    seeds: Seeds = setting(5, "ours", "each with its own dictionary, relevant set and random labels")

    def __post_init__(self) -> None:
        most = self.relevants[-1]
        require(most <= self.patterns, f"relevants must not exceed patterns ({self.patterns}), got {most}")


class Lemma5(Experiment):
    """The explicit network on several label sets and distributions of patterns."""

    id: ClassVar[str] = "features/lemma5"
    reference = PAPER.at("Lemma 5, with the proof of Lemma 8")
    text_file: ClassVar[str] = "lemma5.md"
    symbols: ClassVar[Mapping[str, str]] = {"relevant": "k"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.02, "laptop": 0.08, "paper": 0.25}
    settings_class: ClassVar[type] = Lemma5Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(relevants=(1, 2, 5, 10, 30), test_samples=2000, seeds=3),
        "smoke": scale(dim=20, patterns=12, relevants=(1, 3), test_samples=200, seeds=2),
    }

    def runs(self, s: Lemma5Settings) -> list[Runs]:
        """Every k with every kind of labels and inputs."""
        return [Runs(spec, {"relevant": s.relevants, "labels": LABELS, "inputs": INPUTS}, row)]

    def claims(self, s: Lemma5Settings) -> list[Statement]:
        """Every label is right, and every bound of the lemma holds."""
        return [
            claim(
                "labels",
                "g*(x) = y up to 10⁻⁹ at every test point and every count from 0 to k: the least share of them over "
                "all runs",
                least("exact", per_seed=False),
                BOUND,
                paper=1.0,
            ),
            *(
                claim(
                    name,
                    f"{words}: the least room over all runs",
                    least(column, per_seed=False),
                    BOUND,
                    paper="1 or more",
                )
                for name, (column, words) in BOUNDS.items()
            ),
        ]

    def table(self, s: Lemma5Settings) -> Table:
        """A line for each k: over all labels, distributions and seeds."""
        return Table(
            {"relevant": "k"},
            [
                Shown("exact", "Least share exact", ".4f", show=lambda rows: rows["exact"].min()),
                Shown("neurons", "Neurons", ".0f", show="largest"),
                Shown("largest_output", "Largest |a*|", ".0f", show="largest"),
                Shown("least_bias", "Least |b*|", ".4f", show=lambda rows: rows["least_bias"].min()),
                Shown("largest_bias", "Largest |b*|", ".3f", show="largest"),
                Shown("largest_inside", "Largest |⟨w*, x⟩ + b*|", ".3f", show="largest"),
            ],
        )

    def figures(self, s: Lemma5Settings) -> list[Picture]:
        """g* over the count."""
        k = max((relevant for relevant in s.relevants if relevant <= 10), default=min(s.relevants))
        return [
            Drawn(
                "profile",
                f"g* over the count of relevant patterns, k = {k}",
                "Between whole numbers the count is spread evenly over the relevant patterns. First seed, patterns "
                "that are fair coins; at a whole count the label is −1 or +1.",
                "The network's output over the count of relevant patterns, for parity and for interval labels",
                lambda picture, rows: profiles(picture, rows, k),
            ),
        ]


def profiles(picture: Drawn, rows: Rows, k: int) -> list[Curves]:
    """g* over the count, for the labels with the most and with the fewest changes of sign."""
    found = select(rows, {"relevant": k, "inputs": INPUTS[0], "status": "finished", "seed": 0})
    lines = [
        Line(row["labels"], *row[OUTCOME].arrays["profile"])
        for row in found.to_dict("records")
        if row["labels"] in ("parity", "interval")
    ]
    if not lines:
        return []
    return [Curves(**picture.words, lines=lines, x_label="count of relevant patterns", y_label="g*(x)")]


def labels_of(name: str, k: int, seed: int) -> LabelSet:
    """The set P of a kind of labels; a random one is half of the counts."""
    if name == "random":
        order = bk.core.Stream(seed).child("labels", str(k)).permutation(k + 1)
        return bk.features.Counts(tuple(sorted(order[: (k + 1) // 2].tolist())))
    return {
        "parity": bk.features.Parity(),
        "threshold": bk.features.Threshold(),
        "interval": bk.features.Interval(k // 3, (2 * k) // 3),
    }[name]


def hidden_of(s: Lemma5Settings, name: str, k: int, seed: int) -> HiddenPatterns:
    """The distribution of the patterns; unequal coins have probabilities of their own, drawn from [0.2, 0.8]."""
    if name == "unequal coins":
        p = (0.2 + 0.6 * bk.core.Stream(seed).child("coins", str(k)).uniform(k)).tolist()
        return bk.features.IndependentPatterns(tuple(round(each, 6) for each in p), 0.3)
    return bk.features.UniformPatterns() if name == "fair coins" else bk.features.StructuredMixture(s.mixture)


def spec(s: Lemma5Settings, at: At) -> RunSpec:
    """The network of Lemma 5 for one problem."""
    k, seed = at.relevant, at.seed
    labels, hidden = labels_of(at.labels, k, seed), hidden_of(s, at.inputs, k, seed)
    problem = bk.features.DictionaryProblem(s.dim, s.patterns, k, labels, hidden, instance=seed)
    return RunSpec(problem, bk.features.GoodNetwork(), 1, s.test_samples, at.seed)


def row(s: Lemma5Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """What the run found, and the room of each bound."""
    found, k = outcome.scalars, at.relevant
    return {
        **found,
        "neurons_room": 3 * (k + 1) / found["neurons"],
        "output_room": 32 * k / found["largest_output"],
        "least_bias_room": found["least_bias"] * 32 * k,
        "largest_bias_room": 0.5 / found["largest_bias"],
        "inside_room": 1 / found["largest_inside"],
    }
