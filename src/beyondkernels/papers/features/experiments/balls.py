"""The runs of features/theorem2: the best model in a ball, on fixed features, on learned ones and for kernels."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import beyondkernels as bk
from beyondkernels.lab import At
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.engine import NetworkFeatures
    from beyondkernels.kernels import Kernel
    from beyondkernels.papers.features.problems import DictionaryProblem
    from beyondkernels.papers.features.theory import FixedFeatureCertificate, FixedMap

FIXED = {"Random neurons": "FixedNeurons", "Fourier features": "FixedWaves", "NTK features": "FixedTangents"}
"""The fixed maps, by the class of each."""

LEARNED = "Two Step"
"""The neurons of the paper's network after its two steps of feature learning."""

LARGE, CUBE, EVERY, BALL = "sample", "all patterns", "every A", "kernel ball"
"""Where a problem is solved.

Over a sample where k ≤ D/16; over all patterns of a small dictionary for drawn sets A; over all patterns of a smaller
one for every A; in the ball of a kernel, over the whole distribution where k ≤ D/16.
"""

KERNELS = {"Gaussian kernel": "Gaussian", "Laplace kernel": "Laplace"}
"""The kernels of Corollary 3, which are shift-invariant, by the class of each."""

_KERNEL_WIDTH = 1.0
"""Of the kernels. Inputs have norm 1."""

SHARE = 16
"""D/k where a sample is drawn: the least that the theorem allows."""

SURE = 3
"""A loss on fresh points counts as below a bound if it is by more than so many standard errors."""

BATCH = 1000
"""Of the steps after the second, which are not taken here."""


def patterns_of(s: Any, at: At) -> int:
    """D."""
    return {CUBE: s.cube, EVERY: s.every}.get(at.place, SHARE * at.relevant)


def features_of(s: Any, at: At) -> int:
    """N, the same for every map."""
    return patterns_of(s, at) * (s.cube_neurons if at.place in (CUBE, EVERY) else s.tangents)


def norms_of(s: Any, at: At) -> tuple[float, ...]:
    """B."""
    return s.cube_norms if at.place in (CUBE, EVERY) else s.norms


def targets_of(s: Any, at: At) -> int:
    """C, the number of sets A."""
    return math.comb(patterns_of(s, at), at.relevant)


def problem_of(s: Any, at: At) -> DictionaryProblem:
    """Parity in the mixture, with a set A of its own for every seed and target."""
    D, instance = patterns_of(s, at), at.seed * s.targets + at.target if at.place == CUBE else at.seed
    return _parity(D, at.relevant, s.background, instance)


@functools.cache
def _parity(patterns: int, relevant: int, background: float, instance: int) -> DictionaryProblem:
    return bk.features.DictionaryParity(patterns, patterns, relevant, background=background, instance=instance)


@functools.cache
def two_steps(problem: DictionaryProblem, pairs: int, batch: int) -> NetworkFeatures:
    """The network's neurons after two steps with Theorem 26's settings."""
    network = bk.networks.TwoLayer(pairs)
    process = bk.features.theorem26(problem, network, steps=2, batch=batch)
    return bk.engine.NetworkFeatures(network, bk.algorithms.FeatureLearning(process), after=2)


def fixed_map(method: str, patterns: int, features: int, spread: float) -> FixedMap:
    """A fixed map with N features."""
    neurons = features // patterns if method == "NTK features" else features
    return getattr(bk.features, FIXED[method])(neurons, spread)


@functools.cache
def every_target(patterns: int, relevant: int, neurons: int, spread: float) -> dict[str, tuple[float, float]]:
    """For each fixed map the smallest and the largest |c_A| over all sets A where all patterns are listed."""
    z, found = bk.features.every_pattern(_parity(patterns, relevant, 0.5, 0))[0], {}
    for method in FIXED:
        values = fixed_map(method, patterns, patterns * neurons, spread).values(z)
        norms = bk.features.parity_norms(values, relevant)
        found[method] = float(norms.min()), float(norms.max())
    return found


def spec(s: Any, at: At) -> RunSpec:
    """The best model for every B."""
    problem, exact, learned = problem_of(s, at), at.place == CUBE, at.method == LEARNED
    N, norms = features_of(s, at), norms_of(s, at)
    features: Any = (
        two_steps(problem, N // 2, min(BATCH, s.samples))
        if learned
        else fixed_map(at.method, patterns_of(s, at), N, s.spread)
    )
    learner = bk.features.BallClassifier(features, norms, exact, learned, s.tolerance)
    return RunSpec(problem, learner, 1 if exact else s.samples, s.test_samples, at.seed)


def certificate(background: float, patterns: int, relevant: int, features: int, norm: float) -> FixedFeatureCertificate:
    """Both bounds."""
    return bk.features.FixedFeatureCertificate(patterns, relevant, background, features, norm)


def rows(s: Any, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for every B: losses, dual values, bounds, and the distances between them."""
    found = []
    for i, norm in enumerate(norms_of(s, at)):
        bounds = certificate(s.background, patterns_of(s, at), at.relevant, features_of(s, at), norm)
        row: dict[str, Any] = {"norm": norm, "bound": bounds.bound}
        if at.place != CUBE:  # there k exceeds D/16, and the paper's theorem does not apply
            row["paper_bound"] = bounds.paper
        else:
            row |= _floors(s, at, norm)
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
    rooms["worst_lower"] = max(row["lower"], row["largest_floor"])  # either holds for some A, so for the worst
    return rooms | {"lower_room": row["lower"] - bound, "mean_room": row["mean_floor"] - bound}


def _floors(s: Any, at: At, norm: float) -> dict[str, float]:
    """The least and the largest p_o(1 − B|c_A|) over all sets A."""
    sizes = every_target(patterns_of(s, at), at.relevant, s.cube_neurons, s.spread)[at.method]
    high, low = (s.background * (1 - norm * size) for size in sizes)
    return {"least_floor": low, "largest_floor": high}


def every_spec(s: Any, at: At) -> RunSpec:
    """The best model for every B and every set A."""
    features = fixed_map(at.method, patterns_of(s, at), features_of(s, at), s.spread)
    learner = bk.features.EveryTarget(features, norms_of(s, at), s.tolerance)
    return RunSpec(_parity(s.every, at.relevant, s.background, 0), learner, 1, 0, at.seed)


def every_rows(s: Any, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for every B: the mean over all sets A, and between which values the largest loss lies."""
    found = []
    for i, norm in enumerate(norms_of(s, at)):
        bound = certificate(s.background, patterns_of(s, at), at.relevant, features_of(s, at), norm).bound
        row: dict[str, Any] = {"norm": norm, "bound": bound, **_floors(s, at, norm)}
        if outcome.status == "finished":
            lower, upper = (outcome.arrays[name][i] for name in ("lower", "upper"))
            row |= {
                "lower": float(lower.mean()),
                "worst_lower": float(lower.max()),
                "worst_upper": float(upper.max()),
                "gap_room": s.tolerance - float((upper - lower).max()),
                "every_room": float(lower.mean()) - bound,
                "worst_room": float(lower.max()) - bound,
            }
        found.append(row)
    return found


def ball_kernel(method: str) -> Kernel:
    """The kernel of that name."""
    return getattr(bk.kernels, KERNELS[method])(_KERNEL_WIDTH)


def ball_spec(s: Any, at: At) -> RunSpec:
    """The best function of a kernel for every norm; all sets A have the same."""
    learner = bk.features.KernelBall(ball_kernel(at.method), norms_of(s, at), s.tolerance)
    return RunSpec(_parity(patterns_of(s, at), at.relevant, s.background, 0), learner, 1, 0, at.seed)


def ball_rows(s: Any, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for every norm: the least loss, the bound for all kernels and that of this one."""
    found = []
    for i, norm in enumerate(norms_of(s, at)):
        bounds = bk.features.KernelBallCertificate(
            patterns_of(s, at), at.relevant, s.background, norm, kernel=ball_kernel(at.method)
        )
        row: dict[str, Any] = {"norm": norm, "bound": bounds.bound, "floor": bounds.exact}
        if outcome.status == "finished":
            lower, upper = (float(outcome.arrays[name][i]) for name in ("lower", "upper"))
            row |= {"lower": lower, "worst_lower": lower, "worst_upper": upper}
            row |= {"gap_room": s.tolerance - (upper - lower), "kernel_room": upper - bounds.bound}
        found.append(row)
    return found
