"""Lemma 5: a network of 3(k + 1) neurons that gives every label."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.features.paper import PAPER

LABELS = ("parity", "threshold", "interval", "random")
INPUTS = ("fair coins", "mixture", "unequal coins")
BOUNDS = {
    "neurons": ("neurons_room", "It has at most 3(k + 1) neurons"),
    "outputs": ("output_room", "|a*| ≤ 32k"),
    "least-bias": ("least_bias_room", "|b*| ≥ 1/(32k)"),
    "largest-bias": ("largest_bias_room", "|b*| ≤ 1/2"),
    "inside": ("inside_room", "|⟨w*, x⟩ + b*| ≤ 1 at every test point and count"),
}
"""By the claim's short name: the column that says how often the bound has room for what was found, and the bound."""


@dataclass(frozen=True)
class Lemma5Settings(bk.core.Checked):
    dim: lab.Count = lab.setting(500, "ours", "Table 1's; the lemma holds for all")
    patterns: lab.Count = lab.setting(100, "ours", "Table 1's")
    relevants: lab.Counts = lab.setting((1, 2, 3, 5, 10, 30), "ours", "5 and 30 are the k of Tables 1 and 2")
    mixture: float = lab.setting(0.3, "ours", "p_o of the mixture")
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "each with its own dictionary, relevant set and random labels")

    def __post_init__(self) -> None:
        most = self.relevants[-1]
        bk.core.require(most <= self.patterns, f"relevants must not exceed patterns ({self.patterns}), got {most}")

    @property
    def profiled(self) -> int:
        """The k of the figure."""
        return max((k for k in self.relevants if k <= 10), default=self.relevants[0])


class Lemma5(lab.Experiment):
    id = "features/lemma5"
    reference = PAPER.at("Lemma 5, with the proof of Lemma 8")
    quantities = {
        "relevant": lab.Quantity("k"),
        "exact": lab.Quantity("least share exact", ".4f", lab.SHARE),
        "neurons": lab.Quantity("neurons", ".0f", lab.NON_NEGATIVE),
        "largest_output": lab.Quantity("largest |a*|", ".0f", lab.NON_NEGATIVE),
        "least_bias": lab.Quantity("least |b*|", ".4f", lab.NON_NEGATIVE),
        "largest_bias": lab.Quantity("largest |b*|", ".3f", lab.NON_NEGATIVE),
        "largest_inside": lab.Quantity("largest |⟨w*, x⟩ + b*|", ".3f", lab.NON_NEGATIVE),
        **{column: lab.Quantity(words, within=lab.NON_NEGATIVE) for column, words in BOUNDS.values()},
    }
    seconds_per_run = {"smoke": 0.02, "laptop": 0.08, "paper": 0.25}
    settings_class = Lemma5Settings
    seed_sets = {"laptop": (0, 500, 1000)}
    scales = {
        "laptop": lab.scale(relevants=(1, 2, 5, 10, 30), test_samples=2000, seeds=3),
        "smoke": lab.scale(dim=20, patterns=12, relevants=(1, 3), test_samples=200, seeds=2),
    }

    def runs(self, s: Lemma5Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"relevant": s.relevants, "labels": LABELS, "inputs": INPUTS}, row)]

    def claims(self, s: Lemma5Settings) -> list[lab.Statement]:
        one = lab.AtLeast(1.0)
        made = [self.claim(s, "labels", lab.least("exact", per_seed=False), one, 1.0)]
        for name, (column, words) in BOUNDS.items():
            room = lab.least(column, per_seed=False)
            made.append(self.claim(s, name, room, one, "1 or more", "room", words=words))
        return made

    def table(self, s: Lemma5Settings) -> lab.Table:
        exact = lab.Shown("exact", show=lambda rows: rows["exact"].min())
        bias = lab.Shown("least_bias", show=lambda rows: rows["least_bias"].min())
        names = ("neurons", "largest_output", "largest_bias", "largest_inside")
        neurons, output, *others = (lab.Shown(name, show="largest") for name in names)
        return lab.Table(["relevant"], [exact, neurons, output, bias, *others])

    def figures(self, s: Lemma5Settings) -> list[lab.Picture]:
        return [lab.Drawn("profile", by=functools.partial(profiles, s.profiled))]


def profiles(k: int, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """g* over the count, for the labels with the most and with the fewest changes of sign."""
    found = lab.select(rows, {"relevant": k, "inputs": INPUTS[0], "status": "finished", "seed": 0})
    lines = [
        lab.Line(row["labels"], *row[OUTCOME].arrays["profile"])
        for row in found.to_dict("records")
        if row["labels"] in ("parity", "interval")
    ]
    axes: dict[str, Any] = {"x_label": "count of relevant patterns", "y_label": "g*(x)"}
    return [lab.Curves(**picture.words, lines=lines, **axes)] if lines else []


def labels_of(name: str, k: int, seed: int) -> bk.features.LabelSet:
    """The set P of a kind of labels; a random one is half of the counts."""
    if name == "random":
        order = bk.core.Stream(seed).child("labels", str(k)).permutation(k + 1)
        return bk.features.Counts(tuple(sorted(order[: (k + 1) // 2].tolist())))
    if name == "interval":
        return bk.features.Interval(k // 3, (2 * k) // 3)
    return bk.features.Parity() if name == "parity" else bk.features.Threshold()


def hidden_of(s: Lemma5Settings, name: str, k: int, seed: int) -> bk.features.HiddenPatterns:
    """The distribution of the patterns; unequal coins have probabilities of their own, drawn from [0.2, 0.8]."""
    if name == "unequal coins":
        p = (0.2 + 0.6 * bk.core.Stream(seed).child("coins", str(k)).uniform(k)).tolist()
        return bk.features.IndependentPatterns(tuple(round(each, 6) for each in p), 0.3)
    return bk.features.UniformPatterns() if name == "fair coins" else bk.features.StructuredMixture(s.mixture)


def spec(s: Lemma5Settings, at: lab.At) -> bk.store.RunSpec:
    k, seed = at.relevant, at.seed
    labels, hidden = labels_of(at.labels, k, seed), hidden_of(s, at.inputs, k, seed)
    problem = bk.features.DictionaryProblem(s.dim, s.patterns, k, labels, hidden, instance=seed)
    return bk.store.RunSpec(problem, bk.features.GoodNetwork(), 1, s.test_samples, at.seed)


def row(s: Lemma5Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    found, k = outcome.scalars, at.relevant
    return {
        **found,
        "neurons_room": 3 * (k + 1) / found["neurons"],
        "output_room": 32 * k / found["largest_output"],
        "least_bias_room": found["least_bias"] * 32 * k,
        "largest_bias_room": 0.5 / found["largest_bias"],
        "inside_room": 1 / found["largest_inside"],
    }
