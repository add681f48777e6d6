"""The settings and runs of features/theorem2: the best model in a ball, for fixed and learned features and kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, odd, positive, rising
from beyondkernels.store import RunSpec

FIXED = {"Random neurons": "FixedNeurons", "Fourier features": "FixedWaves", "NTK features": "FixedTangents"}
"""The fixed maps, by the class of each."""
LEARNED = "Two Step"  # the neurons of the paper's network after its two steps of feature learning
LARGE, SPARSE, CUBE, EVERY, BALL = "sample", "sample, small p_o", "all patterns", "every A", "kernel ball"
"""Where a problem is solved: over a sample where k ≤ D/16, also at a smaller p_o; over all patterns of a small
dictionary for drawn sets A; over those of a smaller one for every A; in the ball of a kernel, over the whole
distribution where k ≤ D/16."""
KERNELS = {"Gaussian kernel": "Gaussian", "Laplace kernel": "Laplace"}
"""The kernels of Corollary 3, which are shift-invariant, by the class of each."""
SHARE = 16  # D/k where a sample is drawn: the least that the theorem allows
SURE = 3  # a loss on fresh points counts as below a bound if it is by more than so many standard errors
Norms = Annotated[tuple[float, ...], between(0.1, 1e6), rising, not_empty]


@dataclass(frozen=True)
class Theorem2Settings(bk.core.Checked):
    relevants: Annotated[tuple[int, ...], at_least(5), at_most(17), odd, rising, not_empty] = lab.setting(
        (11, 13, 15), "theorem", "k; D is 16k, the least that the theorem allows; beyond 17, our bound rounds to p_o"
    )
    norms: Norms = lab.setting((1.0, 3.0, 10.0, 30.0, 100.0), "ours", "B")
    background: Annotated[float, between(0.01, 0.5)] = lab.setting(0.5, "paper", "p_o")
    sparse: Annotated[float, between(0.01, 0.5)] = lab.setting(0.25, "ours", "the smaller p_o, at the first k")
    tangents: Annotated[int, positive, at_most(20)] = lab.setting(
        2, "ours", "neurons of the NTK features; every map has N = D times this many features"
    )
    spread: Annotated[float, between(1e-3, 1e3)] = lab.setting(
        0.5, "ours", "of a fixed neuron's input; chosen on another instance (100) from 0.5 and 1"
    )
    samples: lab.Count = lab.setting(50_000, "ours")
    test_samples: lab.Count = lab.setting(50_000, "ours")
    cube: Annotated[int, between(6, 16)] = lab.setting(16, "ours", "D where all patterns are listed")
    cube_relevant: Annotated[int, at_least(3), odd] = lab.setting(11, "ours", "k there")
    cube_neurons: Annotated[int, positive, at_most(20)] = lab.setting(4, "ours", "there in place of the neurons above")
    cube_norms: Norms = lab.setting((0.3, 1.0, 3.0), "ours", "B there")
    every: Annotated[int, between(6, 16)] = lab.setting(12, "ours", "D where the problem is solved for every set A")
    every_relevant: Annotated[int, at_least(3), odd] = lab.setting(7, "ours", "k there; neurons and B as above")
    targets: Annotated[lab.Count, at_most(200)] = lab.setting(
        10, "ours", "sets A that are drawn where all patterns are listed, for each seed"
    )
    tolerance: Annotated[float, between(1e-6, 0.1)] = lab.setting(1e-3, "ours", "largest duality gap")
    seeds: lab.Seeds = lab.setting(5, "ours", "each with its own set A; the fixed maps are the same for all")

    def __post_init__(self) -> None:
        for name in ("cube", "every"):
            k, D = getattr(self, f"{name}_relevant"), getattr(self, name)
            bk.core.require(k <= D, f"{name}_relevant must not exceed {name} ({D}), got {k}")


def sizes_of(s: Theorem2Settings, at: lab.At) -> tuple[int, int, tuple[float, ...]]:
    """D, the number N of features, which is the same for every map, and every B."""
    if at.place not in (CUBE, EVERY):
        return SHARE * at.relevant, SHARE * at.relevant * s.tangents, s.norms
    D = s.cube if at.place == CUBE else s.every
    return D, D * s.cube_neurons, s.cube_norms


def background_of(s: Theorem2Settings, at: lab.At) -> float:
    """p_o."""
    return s.sparse if at.place == SPARSE else s.background


@functools.cache
def parity(patterns: int, relevant: int, background: float, instance: int) -> bk.features.DictionaryProblem:
    return bk.features.DictionaryParity(patterns, patterns, relevant, background=background, instance=instance)


@functools.cache
def two_steps(problem: bk.features.DictionaryProblem, pairs: int, samples: int) -> bk.engine.NetworkFeatures:
    """The network's neurons after two steps with Theorem 26's settings; no later step, with its batch, is taken."""
    network = bk.networks.TwoLayer(pairs)
    process = bk.features.theorem26(problem, network, steps=2, batch=min(1000, samples))
    return bk.engine.NetworkFeatures(network, bk.algorithms.FeatureLearning(process), after=2)


def fixed_map(s: Theorem2Settings, at: lab.At) -> bk.features.FixedMap:
    D, N, _ = sizes_of(s, at)
    return getattr(bk.features, FIXED[at.method])(N // D if at.method == "NTK features" else N, s.spread)


@functools.cache
def extreme_norms(features: bk.features.FixedMap, patterns: int, relevant: int) -> tuple[float, float]:
    """The smallest and the largest |c_A| of a fixed map over all sets A where all patterns are listed."""
    z = bk.features.every_pattern(parity(patterns, relevant, 0.5, 0))[0]
    norms = bk.features.parity_norms(features.values(z), relevant)
    return float(norms.min()), float(norms.max())


def kernel_of(method: str) -> bk.kernels.Kernel:
    """The kernel of that name, of width 1, which is the norm of inputs."""
    return getattr(bk.kernels, KERNELS[method])(1.0)


def spec(s: Theorem2Settings, at: lab.At) -> RunSpec:
    """The best model for every B: in drawn problems, with a set A of its own for every seed and target."""
    D, N, norms = sizes_of(s, at)
    exact, learned = at.place == CUBE, at.method == LEARNED
    instance = at.seed * s.targets + at.target if exact else at.seed
    problem = parity(D, at.relevant, background_of(s, at), instance)
    features: Any = two_steps(problem, N // 2, s.samples) if learned else fixed_map(s, at)
    learner = bk.features.BallClassifier(features, norms, exact, learned, s.tolerance)
    return RunSpec(problem, learner, 1 if exact else s.samples, s.test_samples, at.seed)


def whole_spec(s: Theorem2Settings, at: lab.At) -> RunSpec:
    """The best model for every B and every set A, or the best function of a kernel, which is the same for all A."""
    D, _, norms = sizes_of(s, at)
    problem = parity(D, at.relevant, s.background, 0)
    if at.place == BALL:
        return RunSpec(problem, bk.features.KernelBall(kernel_of(at.method), norms, s.tolerance), 1, 0, at.seed)
    return RunSpec(problem, bk.features.EveryTarget(fixed_map(s, at), norms, s.tolerance), 1, 0, at.seed)


def rows(s: Theorem2Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """A row for every B: losses, dual values, bounds, and the distances between them."""
    read = {EVERY: _over_sets, BALL: _in_kernel_ball}.get(at.place, _of_model)
    found = []
    for i, norm in enumerate(sizes_of(s, at)[-1]):
        row: dict[str, Any] = {"norm": norm, **_bounds(s, at, norm)}
        if outcome.status == "finished":
            row |= read(s, at, row, {name: values[i] for name, values in outcome.arrays.items()})
        found.append(row)
    return found


def _bounds(s: Theorem2Settings, at: lab.At, norm: float) -> dict[str, Any]:
    """Our bound, the paper's where its theorem applies, and the extreme p_o(1 − B|c_A|) where they are known."""
    D, N, _ = sizes_of(s, at)
    if at.place == BALL:
        ball = bk.features.KernelBallCertificate(D, at.relevant, s.background, norm, kernel=kernel_of(at.method))
        return {"bound": ball.bound, "floor": ball.exact}
    bounds = bk.features.FixedFeatureCertificate(D, at.relevant, background_of(s, at), N, norm)
    if at.place in (LARGE, SPARSE):
        return {"bound": bounds.bound, "paper_bound": bounds.paper}
    high, low = (s.background * (1 - norm * size) for size in extreme_norms(fixed_map(s, at), D, at.relevant))
    return {"bound": bounds.bound, "least_floor": low, "largest_floor": high}


def _of_model(s: Theorem2Settings, at: lab.At, row: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What was found, and how far numbers are from the bounds: at least 0 where a claim holds."""
    given = {name: float(value) for name, value in found.items()}
    loss, bound = given["test_loss"], row["bound"]
    rooms: dict[str, Any] = {**given, "worst_loss": loss, "gap_room": s.tolerance - (given["upper"] - given["lower"])}
    if at.method == LEARNED:
        return rooms | {"learned_room": bound - loss, "learned_paper_room": row["paper_bound"] - loss}
    D, N, _ = sizes_of(s, at)
    # scale-free, so that a bound close to p_o keeps its digits
    used = (1 - given["floor"] / background_of(s, at)) / (row["norm"] * math.sqrt(N / math.comb(D, at.relevant)))
    rooms |= {"floor_room": 1 - used, "fresh_room": loss + SURE * given["test_error"] - bound}
    if at.place in (LARGE, SPARSE):
        return rooms | {"paper_room": given["floor"] - row["paper_bound"]}
    rooms["worst_lower"] = max(given["lower"], row["largest_floor"])  # either holds for some A, so for the worst
    return rooms | {"lower_room": given["lower"] - bound, "mean_room": given["mean_floor"] - bound}


def _over_sets(s: Theorem2Settings, at: lab.At, row: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """The mean over all sets A, and between which values the largest loss lies."""
    lower, upper = found["lower"], found["upper"]
    return {
        "lower": float(lower.mean()),
        "worst_lower": float(lower.max()),
        "worst_upper": float(upper.max()),
        "gap_room": s.tolerance - float((upper - lower).max()),
        "every_room": float(lower.mean()) - row["bound"],
        "worst_room": float(lower.max()) - row["bound"],
    }


def _in_kernel_ball(s: Theorem2Settings, at: lab.At, row: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    lower, upper = float(found["lower"]), float(found["upper"])
    rooms = {"gap_room": s.tolerance - (upper - lower), "kernel_room": upper - row["bound"]}
    return {"lower": lower, "worst_lower": lower, "worst_upper": upper, **rooms}
