import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, changed
from beyondkernels.papers.features.experiments.balls import (
    BALL,
    CUBE,
    EVERY,
    FIXED,
    LARGE,
    LEARNED,
    SPARSE,
    extreme_norms,
    fixed_map,
    rows,
)
from beyondkernels.papers.features.experiments.theorem2 import Theorem2
from beyondkernels.store import RunSpec
from papers.judging import cases, check_figures, failing, finish, refuse, refuted

EXPERIMENT = Theorem2()
SETTINGS = changed(EXPERIMENT.settings("smoke"), {"relevants": (5, 7), "norms": (0.1, 1.0)})


def ours(D: int, k: int, B: float, background: float = 0.5) -> float:
    return background * (1 - B * math.sqrt(D / math.comb(D, k)))  # N = D at this scale


def outcome(at: At, **made: float) -> Outcome:
    """Every number as far from the bounds as it is made."""
    if at.place == EVERY:
        bounds = np.array([ours(6, 3, B) for B in (0.3, 1.0, 3.0)])[:, None]
        mean, worst = made.get("every", 0.01), made.get("worst", 0.05)
        lower = bounds + np.array([[worst, 2 * mean - worst]])
        return Outcome("finished", {}, arrays={"lower": lower, "upper": lower + made.get("gap", 0.005)})
    if at.place == BALL:
        bounds = np.array([0.5 * (1 - B / math.sqrt(math.comb(16 * at.relevant, at.relevant))) for B in (0.1, 1.0)])
        upper = bounds + made.get("kernel", 1e-9)
        return Outcome("finished", {}, arrays={"lower": upper - 0.005, "upper": upper})
    cube = at.place == CUBE
    D = 8 if cube else 16 * at.relevant
    norms = (0.3, 1.0, 3.0) if cube else (0.1, 1.0)
    bounds = np.array([ours(D, at.relevant, B, 0.25 if at.place == SPARSE else 0.5) for B in norms])
    if at.method == LEARNED:
        loss = np.full(len(norms), 0.6)
        loss[-1] = made.get("learned", 0.1) + 1e-4 * at.seed
        found = {"test_loss": loss, "lower": loss, "upper": loss + made.get("gap", 0.005)}
        return Outcome("finished", {}, arrays=found | {"test_error": 0 * loss, "used": loss})
    found = {
        "lower": bounds + made.get("lower", 0.01),
        "upper": bounds + made.get("lower", 0.01) + 0.005,
        "floor": bounds + made.get("floor", 1e-9),
        "test_loss": bounds + made.get("fresh", -0.02),
        "test_error": np.full(len(norms), 0.01),
        "used": np.array(norms),
    }
    if cube:
        found["mean_floor"] = bounds + made.get("mean", 0.01)
    return Outcome("finished", {}, arrays=found)


def reading(**made: float) -> Reading:
    def one(at: At, spec: RunSpec) -> Outcome:
        everywhere = at.get("seed") == 1 or at.place in (EVERY, BALL)
        return outcome(at, **{name: value for name, value in made.items() if everywhere or name == "learned"})

    return finish(EXPERIMENT, SETTINGS, (0, 1), one)


@cases(
    ({}, []),
    ({"lower": -0.001}, ["exact"]),
    ({"mean": -0.001}, ["mean"]),
    ({"every": -0.001, "worst": 0.01}, ["every"]),
    ({"every": -0.01, "worst": -0.001}, ["worst", "every"]),
    ({"kernel": -1e-9}, ["kernel"]),
    ({"gap": 0.011}, ["gap"]),
    ({"floor": -1e-6}, ["floor"]),
    ({"floor": -0.03}, ["paper", "floor"]),
    ({"fresh": -0.031}, ["fresh"]),
    ({"learned": 0.45}, ["below-paper"]),
    ({"learned": 0.51}, ["below-ours", "below-paper"]),
)
def test_claims_can_fail(made: dict[str, float], wanted: list[str]) -> None:
    assert refuted(reading(**made)) == wanted


def test_the_papers_bound_must_say_something() -> None:
    wide = changed(SETTINGS, {"norms": (1.0, 10.0)})  # √(2·112)·10/2^7 = 1.17
    assert "below-paper" in failing(finish(EXPERIMENT, wide, (0, 1), lambda at, _: outcome(at)))


@pytest.mark.parametrize("background", [0.5, 0.01])
def test_the_floor_has_digits_at_the_largest_k_and_the_smallest_norm(background: float) -> None:
    s = changed(SETTINGS, {"relevants": (17,), "background": background})
    at = At(place=LARGE, relevant=17, method="Random neurons", target=0, seed=0)
    size = 0.1 * math.sqrt(272 / math.comb(272, 17))
    for used in (0.5, 0.98, 1.02):
        arrays = outcome(at).arrays | {"floor": np.full(2, background * (1 - used * size))}
        row = rows(s, at, Outcome("finished", {}, arrays=arrays))[0]
        assert row["floor_room"] == pytest.approx(1 - used, abs=0.01)


def test_rows_have_the_extremes_over_all_sets() -> None:
    z = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
    sets = list(itertools.combinations(range(8), 3))
    for method in FIXED:
        at = At(place=CUBE, relevant=3, method=method, target=0, seed=0)
        features = fixed_map(SETTINGS, at)
        assert features.size(8) == 8
        values = features.values(torch.from_numpy(z)).numpy()
        norms = [np.linalg.norm((z[:, A].prod(1)[:, None] * values).mean(0)) for A in sets]
        assert extreme_norms(features, 8, 3) == pytest.approx((min(norms), max(norms)), rel=1e-9)
        row = rows(SETTINGS, at, outcome(at))[1]  # B = 1
        assert row["least_floor"] == pytest.approx(0.5 * (1 - max(norms)), rel=1e-9)
        assert row["largest_floor"] == pytest.approx(0.5 * (1 - min(norms)), rel=1e-9)
        assert row["worst_lower"] == pytest.approx(max(row["lower"], 0.5 * (1 - min(norms))), rel=1e-9)


def test_rows_have_both_bounds() -> None:
    found = reading().rows
    one = found[(found["relevant"] == 7) & (found["norm"] == 1.0) & (found["method"] == LEARNED)].iloc[0]
    assert one["bound"] == pytest.approx(ours(112, 7, 1.0))
    assert one["paper_bound"] == pytest.approx(0.5 * (1 - math.sqrt(224) / 2**7))
    sparse = found[(found["place"] == SPARSE) & (found["norm"] == 1.0)].iloc[0]
    assert sparse["paper_bound"] == pytest.approx(0.25 * (1 - math.sqrt(160) / 2**5))
    listed = found[found["place"] == CUBE]
    assert listed["paper_bound"].isna().all()  # the paper's theorem does not apply
    assert len(listed) == 3 * 2 * 2 * 3  # maps, targets, seeds, norms
    assert len(found[found["place"] == LARGE]) == 4 * 2 * 2 * 2  # maps, k, seeds, norms


def test_rows_of_every_set_and_of_kernels() -> None:
    found = reading(gap=0.003).rows
    every = found[(found["place"] == EVERY) & (found["norm"] == 1.0)]
    assert len(every) == 3  # one seed: nothing is drawn
    one = every.iloc[0]
    bound = ours(6, 3, 1.0)
    assert (one["lower"], one["bound"]) == pytest.approx((bound + 0.01, bound))
    assert (one["worst_lower"], one["worst_upper"]) == pytest.approx((bound + 0.05, bound + 0.053))
    at = At(place=EVERY, relevant=3, method=one["method"])
    low, high = extreme_norms(fixed_map(SETTINGS, at), 6, 3)
    assert (one["least_floor"], one["largest_floor"]) == pytest.approx((0.5 * (1 - high), 0.5 * (1 - low)))
    kernels = found[(found["place"] == BALL) & (found["norm"] == 1.0) & (found["relevant"] == 5)]
    assert len(kernels) == 2
    for _, row in kernels.iterrows():
        assert row["bound"] == pytest.approx(0.5 * (1 - 1 / math.sqrt(math.comb(80, 5))), abs=1e-12)
        assert row["bound"] < row["floor"] < 0.5


def test_all_maps_have_the_same_number_of_features_and_every_target_is_another_set() -> None:
    seen: dict[Any, set[Any]] = {}

    def look(at: At, spec: RunSpec) -> Outcome:
        learner: Any = spec.learner
        if at.place == BALL:
            return outcome(at)
        D = spec.problem.patterns  # pyright: ignore[reportAttributeAccessIssue]
        size = learner.features.size(D) if at.method in FIXED else 2 * learner.features.network.pairs
        assert size == D
        if at.place == EVERY:
            return outcome(at)
        assert learner.exact == (at.place == CUBE)
        assert learner.rescaled == (at.method == LEARNED)
        assert spec.problem.hidden.background == (0.25 if at.place == SPARSE else 0.5)  # type: ignore[attr-defined]
        seen.setdefault((at.place, at.relevant, at.method), set()).add(spec.problem)
        return outcome(at)

    finish(EXPERIMENT, SETTINGS, (0, 1), look)
    assert {len(problems) for (place, *_), problems in seen.items() if place == CUBE} == {4}
    assert {len(problems) for (place, *_), problems in seen.items() if place != CUBE} == {2}


def test_figures() -> None:
    check_figures(reading(), ["large-5", "large-7", "listed-3", "every-3", "kernels-5", "kernels-7"])


def test_bad_settings() -> None:
    refuse(SETTINGS, {"relevants": (4,)}, "relevants")
    refuse(SETTINGS, {"relevants": (19,)}, "relevants must be at most 17")
    refuse(SETTINGS, {"norms": (0.05,)}, "norms must lie in")
    refuse(SETTINGS, {"cube_relevant": 9}, "cube_relevant must not exceed cube")
    refuse(SETTINGS, {"cube": 17}, "cube")
    refuse(SETTINGS, {"every_relevant": 7}, "every_relevant must not exceed every")
    refuse(SETTINGS, {"norms": ()}, "norms")
    refuse(SETTINGS, {"background": 0.6}, "background")
