"""Lemma 6: after one exact step a neuron holds the relevant patterns, after two hardly anything else."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between, not_empty, rising
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.features.experiments.cases import Odd, Odds, assumptions_of
from beyondkernels.papers.features.paper import PAPER

THRESHOLD, PARITY = "threshold", "parity"
SIZE = functools.partial(lab.Quantity, format=".1e", within=lab.NON_NEGATIVE)
AXES = {
    "relevant": lab.Quantity("k", log=True),
    "background": lab.Quantity("pₒ", log=True, heading="p_o"),  # pictures have no subscripts of their own
    "patterns": lab.Quantity("D", log=True),
}
ROOMS = {
    "relevant_room_1": "Lemma 15: after step one |Tⱼ − βγ/σ̃| ≤ ε_e/σ̃ for relevant patterns",
    "background_room_1": "Lemma 15: after step one |Tⱼ| ≤ σ_φ² · ε_e · σ̃ for background patterns",
    "output_room": "Lemma 19: |g⁽¹⁾(x)| < 1, here at every x",
    "relevant_room_2": "Lemma 20: after step two |Tⱼ − βγ/σ̃| is within its bound for relevant patterns",
    "background_room_2": "Lemma 20: after step two |Tⱼ| is at most σ_φ² · σ̃ times its ε_e for background patterns",
}
"""By the column with the bound over what was found: the bound in words."""
READABLE = 0.25  # a neuron's input is then two deviations from halfway to the next count
NOISE = "Deviation of a neuron's input due to background patterns, over the distance of two counts; the largest."
LAPTOP_SWEEPS = {"relevants": (3, 5, 7, 9), "backgrounds": (0.125, 0.25, 0.5), "dictionaries": (100, 200, 400, 800)}
SMOKE_SWEEPS = {"relevants": (3, 5), "backgrounds": (0.3, 0.5), "dictionaries": (10, 20)}


@dataclass(frozen=True)
class Lemma6Settings(bk.core.Checked):
    patterns: lab.Count = lab.setting(1000, "ours", "D, except where D is swept")
    relevant: Odd = lab.setting(5, "ours", "k, except where k is swept: Table 1's")
    background: Annotated[float, between(0, 0.5, "(]")] = lab.setting(0.5, "ours", "p_o, except where p_o is swept")
    relevants: Odds = lab.setting((3, 5, 7, 9, 11), "ours", "odd, so that the classes are balanced")
    backgrounds: Annotated[tuple[float, ...], between(0, 0.5, "(]"), rising, not_empty] = lab.setting(
        (0.025, 0.05, 0.1, 0.2, 0.5), "ours", "the lemma asks for Ω(k²/D)"
    )
    dictionaries: lab.Counts = lab.setting((100, 200, 500, 1000, 2000), "ours", "D where it is swept")
    pairs: lab.Count = lab.setting(50, "ours", "m; enters the rate of step one, and ε_e through a logarithm")
    seeds: lab.Seeds = lab.setting(5, "ours", "each draws its own neurons")

    def __post_init__(self) -> None:
        least = min(self.patterns, *self.dictionaries)
        most = max(self.relevant, *self.relevants)
        bk.core.require(most < least, f"relevants must be below patterns and dictionaries ({least}), got {most}")

    @property
    def sparsest(self) -> float:
        """The least p_o."""
        return self.backgrounds[0]


class Lemma6(lab.Experiment):
    id = "features/lemma6"
    reference = PAPER.at("Lemma 6; Lemmas 15, 18, 19 and 20")
    quantities = {
        **AXES,
        "signal_1": lab.Quantity("Tⱼσ̃/γ, relevant", ".3f", about="After step one, mean over neurons and patterns."),
        "relevant_1": SIZE("off βγ", about="The largest |Tⱼσ̃ − βγ| after step one."),
        "background_1": SIZE("background", about="The largest |Tⱼ|σ̃ after step one."),
        "background_bound_1": SIZE("Tⱼσ̃", log=True),
        "epsilon": SIZE("ε_e", format=".1f", about="Above one the lemma's bound is larger than the signal itself."),
        "ratio_1": SIZE("ratio 1", about="Largest background over mean relevant Tⱼ, after step one."),
        "ratio_2": SIZE("ratio 2", about="The same after step two."),
        "noise_1": SIZE("noise 1", format=".3f", log=True, about=NOISE),
        "noise_2": SIZE("noise 2", about="The same after step two."),
        "improvement": SIZE("ratio 1 over ratio 2"),
        "least_beta_1": lab.Quantity("least β, step 1", ".2f", lab.SHARE),
        "least_beta_2": lab.Quantity("least β, step 2", ".2f", lab.SHARE),
        **{column: SIZE(words) for column, words in ROOMS.items()},
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 1.0, "paper": 40.0}
    settings_class = Lemma6Settings
    seed_sets = {"laptop": (0, 500, 1000)}
    scales = {
        "laptop": lab.scale(patterns=200, **LAPTOP_SWEEPS, pairs=20, seeds=3),
        "smoke": lab.scale("laptop", patterns=20, relevant=3, **SMOKE_SWEEPS, pairs=3, seeds=2),
    }

    def runs(self, s: Lemma6Settings) -> list[lab.Runs]:
        """Threshold labels over k, p_o and D; parity, which satisfies (A2) at p_o = 1/2 alone, over k."""
        base = {"relevant": [s.relevant], "background": [s.background], "patterns": [s.patterns]}
        return [
            lab.Runs(spec, {"sweep": [name], "labels": [labels], **base, name: list(values)}, row)
            for name, labels, values in (
                ("relevant", THRESHOLD, s.relevants),
                ("background", THRESHOLD, s.backgrounds),
                ("patterns", THRESHOLD, s.dictionaries),
                ("relevant", PARITY, s.relevants),
            )
        ]

    def claims(self, s: Lemma6Settings) -> list[lab.Statement]:
        made = []
        for column, words in ROOMS.items():
            name, room = column.replace("_room", "").replace("_", "-"), lab.least(column, per_seed=False)
            item = "output" if name == "output" else "room"
            made.append(self.claim(s, name, room, lab.AtLeast(1.0), "at least a constant", item, words=words))
        for (column, axis), kind in itertools.product(AXES.items(), ("relevant", "background")):
            slope = lab.of(f"{kind}_share_1", column, sweep=column, labels=THRESHOLD).slope()
            symbol, falls = axis.column_heading, lab.AtMost(0.0)
            name = f"{kind}-over-{symbol.replace('_', '')}"
            made.append(self.claim(s, name, slope, falls, "at most 0", "over", symbol=symbol, patterns=kind))
        for step in (1, 2):
            slope = lab.of(f"least_beta_{step}", "relevant", sweep="relevant", labels=THRESHOLD).slope()
            made.append(self.claim(s, f"beta-{step}", slope, lab.AtLeast(0.0), "Ω(1)"))
        by_background: dict[str, Any] = {"sweep": "background", "labels": THRESHOLD}
        reads = lab.of("noise_1", **by_background, background=s.backgrounds[0])
        made.append(self.claim(s, "one-step", reads, lab.AtMost(READABLE)))
        slope = lab.of("noise_1", "background", **by_background).slope()
        made.append(self.claim(s, "one-step-crowded", slope, lab.Above(0.0)))
        ratio = lab.least("improvement", per_seed=False)
        return [*made, self.claim(s, "improves", ratio, lab.AtLeast(1.0), "decreases")]

    def table(self, s: Lemma6Settings) -> lab.Table:
        sizes = ["signal_1", "relevant_1", "background_1", "epsilon", "ratio_1", "ratio_2", "noise_1", "noise_2"]
        return lab.Table(["labels", *AXES], [*sizes, "least_beta_1", "least_beta_2"])

    def figures(self, s: Lemma6Settings) -> list[lab.Picture]:
        return [
            lab.Drawn("components", by=functools.partial(components, s)),
            *(
                lab.Over(
                    f"over-{column}",
                    f"What step one leaves of other patterns, over {axis.column_heading}",
                    "Largest over neurons and patterns, threshold labels. The bounds have all constants one.",
                    f"Errors of relevant and background patterns and their bounds over {axis.column_heading}",
                    x=column,
                    y="background_bound_1",
                    line={
                        "relevant": {"y": "relevant_1"},
                        "background": {"y": "background_1"},
                        "bound, relevant": {"y": "epsilon"},
                        "bound, background": {"y": "background_bound_1"},
                    },
                    where={"sweep": column, "labels": THRESHOLD},
                )
                for column, axis in AXES.items()
            ),
        ]

    def remarks(self, s: Lemma6Settings) -> list[str]:
        listed = []
        for labels in (THRESHOLD, PARITY):
            at = lab.At(labels=labels, relevant=s.relevant, background=s.background, patterns=s.patterns)
            found = assumptions_of(problem_of(at))
            listed.append(f"{labels} labels against the paper's assumptions: {found}.".capitalize())
        return listed


def problem_of(at: lab.At) -> bk.features.DictionaryProblem:
    """Fair coins labelled by a threshold, with a background of any density, or parity in the structured mixture.

    Tⱼ does not depend on the dimension and on the dictionary, so both are as small as they can be.
    """
    D, k, p_o = at.patterns, at.relevant, at.background
    if at.labels == PARITY:
        return bk.features.DictionaryParity(D, D, k, p_o)
    hidden = bk.features.IndependentPatterns(0.5, p_o)
    return bk.features.DictionaryProblem(D, D, k, bk.features.Threshold(), hidden)


def spec(s: Lemma6Settings, at: lab.At) -> bk.store.RunSpec:
    """Two exact steps; no sample is needed."""
    return bk.store.RunSpec(problem_of(at), bk.features.ExactSteps(s.pairs), 1, 1, at.seed)


def row(s: Lemma6Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    found = outcome.scalars
    rooms = {
        f"{kind}_room_{step}": 1 / found[f"{kind}_share_{step}"]
        for kind in ("relevant", "background")
        for step in (1, 2)
    }
    return {
        **found,
        **rooms,
        "output_room": 1 / found["largest_output"],
        **{f"noise_{step}": noise(problem_of(at), outcome.arrays[f"T{step}"]) for step in (1, 2)},
        "background_bound_1": at.background * (1 - at.background) * found["epsilon"],
        "improvement": found["ratio_1"] / found["ratio_2"],
    }


def noise(problem: bk.features.DictionaryProblem, T: Any) -> float:
    r"""The deviation of a neuron's input due to background patterns, over the distance of two counts, at its largest.

    .. math:: \max_i \sqrt{p_o(1 - p_o)\, \textstyle\sum_{j \notin A} T_{ij}^2} \Big/ \tfrac1k \sum_{j \in A} T_{ij}
    """
    A, p_o = list(problem.relevant_set), problem.moments.background
    assert p_o is not None
    rest = [j for j in range(problem.patterns) if j not in A]
    deviations = (p_o * (1 - p_o) * (T[:, rest] ** 2).sum(1)) ** 0.5
    return float((deviations / T[:, A].mean(1)).max())


def components(s: Lemma6Settings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Figure]:
    """Tⱼ of all neurons of the first seed, in units in which the lemma puts relevant patterns at β."""
    where = {"sweep": "relevant", "labels": THRESHOLD, "relevant": s.relevant, "seed": 0, "status": "finished"}
    found = lab.select(rows, where)
    if found.empty:
        return []
    at = lab.At(labels=THRESHOLD, relevant=s.relevant, background=s.background, patterns=s.patterns)
    relevant = list(problem_of(at).relevant_set)
    parts: list[Any] = []
    for step in (1, 2):
        T = found[OUTCOME].iloc[0].arrays[f"T{step}"]
        rest = [j for j in range(T.shape[1]) if j not in relevant]
        parts += [
            lab.Distribution(f"{kind}, step {step}", T[:, columns].flatten())
            for kind, columns in (("relevant", relevant), ("background", rest))
        ]
    axes: dict[str, Any] = {"x_label": "Tⱼσ̃/γ", "y_label": "share", "limits": (-0.1, 1.0), "mark_largest": False}
    return [lab.Histogram(**picture.words, distributions=parts, **axes)]
