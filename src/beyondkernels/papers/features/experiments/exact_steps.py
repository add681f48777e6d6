"""Two exact gradient steps on problems that satisfy the assumptions of Lemma 6: settings, runs, rows and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between, not_empty, odd, positive, rising
from beyondkernels.lab import At, Count, Counts, Distribution, Drawn, Figure, Histogram, Rows, Seeds, select, setting
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.features.problems import DictionaryProblem

THRESHOLD, PARITY = "threshold", "parity"

OneHalfAtMost = Annotated[tuple[float, ...], between(0, 0.5, "(]"), rising, not_empty]


@dataclass(frozen=True)
class Lemma6Settings(Checked):
    """The numbers of the experiment."""

    patterns: Count = setting(1000, "ours", "D, except where D is swept")
    relevant: Annotated[int, positive, odd] = setting(5, "ours", "k, except where k is swept: Table 1's")
    background: Annotated[float, between(0, 0.5, "(]")] = setting(0.5, "ours", "p_o, except where p_o is swept")
    relevants: Annotated[tuple[int, ...], positive, odd, rising, not_empty] = setting(
        (3, 5, 7, 9, 11), "ours", "odd, so that the classes are balanced"
    )
    backgrounds: OneHalfAtMost = setting((0.025, 0.05, 0.1, 0.2, 0.5), "ours", "the lemma asks for Ω(k²/D)")
    dictionaries: Counts = setting((100, 200, 500, 1000, 2000), "ours", "D where it is swept")
    pairs: Count = setting(50, "ours", "m; enters the rate of step one, and ε_e through a logarithm")
    seeds: Seeds = setting(5, "ours", "each draws its own neurons")

    def __post_init__(self) -> None:
        least = min(self.patterns, *self.dictionaries)
        most = max(self.relevant, *self.relevants)
        require(most < least, f"relevants must be below patterns and dictionaries ({least}), got {most}")


def problem_of(at: At) -> DictionaryProblem:
    """Fair coins labelled by a threshold, with a background of any density, or parity in the structured mixture.

    Tⱼ does not depend on the dimension and on the dictionary, so both are as small as they can be.
    """
    D, k, p_o = at.patterns, at.relevant, at.background
    if at.labels == PARITY:
        return bk.features.DictionaryParity(D, D, k, p_o)
    hidden = bk.features.IndependentPatterns(0.5, p_o)
    return bk.features.DictionaryProblem(D, D, k, bk.features.Threshold(), hidden)


def spec(s: Lemma6Settings, at: At) -> RunSpec:
    """Two exact steps; no sample is needed."""
    return RunSpec(problem_of(at), bk.features.ExactSteps(s.pairs), 1, 1, at.seed)


def row(s: Lemma6Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """What the run found, and the bounds over it."""
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
        "background_bound_1": at.background * (1 - at.background) * found["epsilon"],
        "improvement": found["ratio_1"] / found["ratio_2"],
    }


def components(picture: Drawn, rows: Rows, s: Lemma6Settings) -> list[Figure]:
    """Tⱼ of all neurons of the first seed, in units in which the lemma puts relevant patterns at β."""
    where = {"sweep": "relevant", "labels": THRESHOLD, "relevant": s.relevant, "seed": 0, "status": "finished"}
    found = select(rows, where)
    if found.empty:
        return []
    at = At(labels=THRESHOLD, relevant=s.relevant, background=s.background, patterns=s.patterns)
    relevant = list(problem_of(at).relevant_set)
    parts: list[Any] = []
    for step in (1, 2):
        T = found[OUTCOME].iloc[0].arrays[f"T{step}"]
        rest = [j for j in range(T.shape[1]) if j not in relevant]
        parts += [
            Distribution(f"{kind}, step {step}", T[:, columns].flatten())
            for kind, columns in (("relevant", relevant), ("background", rest))
        ]
    return [
        Histogram(
            **picture.words,
            distributions=parts,
            x_label="Tⱼσ̃/γ",
            y_label="share",
            limits=(-0.1, 1.0),
            mark_largest=False,
        )
    ]
