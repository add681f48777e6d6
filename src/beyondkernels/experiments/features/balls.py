"""The runs of features/theorem2: the best model in a ball of weights, on fixed and on learned features."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import beyondkernels as bk
from beyondkernels.frame import At
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.engine import NetworkFeatures
    from beyondkernels.problems import DictionaryProblem
    from beyondkernels.theory.features import FixedFeatureCertificate, FixedMap

FIXED = {"Random neurons": "FixedNeurons", "Fourier features": "FixedWaves", "NTK features": "FixedTangents"}
"""The fixed maps, by the class of each."""

LEARNED = "Two Step"
"""The neurons of the paper's network after its two steps of feature learning."""

LARGE, CUBE = "sample", "all patterns"
"""Over what a problem is solved: a sample where k ≤ D/16, or all patterns of a small dictionary."""

SHARE = 16
"""D/k where a sample is drawn: the least that the theorem allows."""

SURE = 3
"""A loss on fresh points counts as below a bound if it is by more than so many standard errors."""

BATCH = 1000
"""Of the steps after the second, which are not taken here."""


def patterns_of(s: Any, at: At) -> int:
    """D."""
    return s.cube if at.place == CUBE else SHARE * at.relevant


def features_of(s: Any, at: At) -> int:
    """N, the same for every map."""
    return patterns_of(s, at) * (s.cube_neurons if at.place == CUBE else s.tangents)


def targets_of(s: Any, at: At) -> int:
    """C, the number of sets A."""
    return math.comb(patterns_of(s, at), at.relevant)


def problem_of(s: Any, at: At) -> DictionaryProblem:
    """Parity in the mixture, with a set A of its own for every seed and target."""
    D, instance = patterns_of(s, at), at.seed * s.targets + at.target if at.place == CUBE else at.seed
    return _parity(D, at.relevant, s.background, instance)


@functools.cache
def _parity(patterns: int, relevant: int, background: float, instance: int) -> DictionaryProblem:
    return bk.problems.DictionaryParity(patterns, patterns, relevant, background=background, instance=instance)


@functools.cache
def two_steps(problem: DictionaryProblem, pairs: int, batch: int) -> NetworkFeatures:
    """The network's neurons after two steps with Theorem 26's settings."""
    network = bk.networks.TwoLayer(pairs)
    process = bk.theory.theorem26(problem, network, steps=2, batch=batch)
    return bk.engine.NetworkFeatures(network, bk.algorithms.FeatureLearning(process), after=2)


def fixed_map(method: str, patterns: int, features: int, spread: float) -> FixedMap:
    """A fixed map with N features."""
    neurons = features // patterns if method == "NTK features" else features
    return getattr(bk.theory.features, FIXED[method])(neurons, spread)


@functools.cache
def every_target(patterns: int, relevant: int, neurons: int, spread: float) -> dict[str, tuple[float, float]]:
    """For each fixed map the smallest and the largest |c_A| over all sets A where all patterns are listed."""
    z, found = bk.theory.features.every_pattern(_parity(patterns, relevant, 0.5, 0))[0], {}
    for method in FIXED:
        values = fixed_map(method, patterns, patterns * neurons, spread).values(z)
        norms = bk.theory.features.parity_norms(values, relevant)
        found[method] = float(norms.min()), float(norms.max())
    return found


def spec(s: Any, at: At) -> RunSpec:
    """The best model for every B."""
    problem, exact, learned = problem_of(s, at), at.place == CUBE, at.method == LEARNED
    N, norms = features_of(s, at), s.cube_norms if exact else s.norms
    features: Any = (
        two_steps(problem, N // 2, min(BATCH, s.samples))
        if learned
        else fixed_map(at.method, patterns_of(s, at), N, s.spread)
    )
    learner = bk.theory.features.BallClassifier(features, norms, exact, learned, s.tolerance)
    return RunSpec(problem, learner, 1 if exact else s.samples, s.test_samples, at.seed)


def certificate(background: float, patterns: int, relevant: int, features: int, norm: float) -> FixedFeatureCertificate:
    """Both bounds."""
    return bk.theory.features.FixedFeatureCertificate(patterns, relevant, background, features, norm)


def rows(s: Any, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for every B: losses, dual values, bounds, and the distances between them."""
    found = []
    for i, norm in enumerate(s.cube_norms if at.place == CUBE else s.norms):
        bounds = certificate(s.background, patterns_of(s, at), at.relevant, features_of(s, at), norm)
        row: dict[str, Any] = {"norm": norm, "bound": bounds.bound}
        if at.place != CUBE:  # there k exceeds D/16, and the paper's theorem does not apply
            row["paper_bound"] = bounds.paper
        else:
            low, high = every_target(s.cube, at.relevant, s.cube_neurons, s.spread)[at.method]
            row["least_floor"], row["largest_floor"] = (s.background * (1 - norm * size) for size in (high, low))
        if outcome.status == "finished":
            row |= {name: float(values[i]) for name, values in outcome.arrays.items()}
            row |= _distances(s, at, row)
        found.append(row)
    return found


def _distances(s: Any, at: At, row: dict[str, Any]) -> dict[str, float]:
    """How far numbers are from the bounds: at least 0 where a claim holds."""
    loss, bound = row["test_loss"], row["bound"]
    rooms = {"worst_loss": loss, "gap_room": s.tolerance - (row["upper"] - row["lower"])}
    if at.method == LEARNED:
        return rooms | {"learned_room": bound - loss, "learned_paper_room": row["paper_bound"] - loss}
    # scale-free, so that a bound close to p_o keeps its digits
    used = (1 - row["floor"] / s.background) / (row["norm"] * math.sqrt(features_of(s, at) / targets_of(s, at)))
    rooms |= {"floor_room": 1 - used, "fresh_room": loss + SURE * row["test_error"] - bound}
    if at.place != CUBE:
        return rooms
    return rooms | {"lower_room": row["lower"] - bound, "mean_room": row["mean_floor"] - bound}
