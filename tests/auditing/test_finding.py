"""The sentences of an audit, read in every case that can come: each must be true of the rows it is said of."""

import math
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from beyondkernels.auditing.claims import best_fixed, claims, error_of, interval_of, quantities
from beyondkernels.auditing.finding import corrected, diverged, how_much, uncounted, when, where
from beyondkernels.auditing.ladder import ABOUT, KINDS, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.leads import lead
from beyondkernels.auditing.scores import Scores
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome
from beyondkernels.lab import Quantities
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.networks import Block

SETTINGS = AuditSettings()
LOST = math.nan


def subject(**changes: Any) -> Subject:
    blocks = tuple(Block(name, (f"{name}.weight",), name) for name in "abc")
    nothing = cast(Any, None)
    known = {"classes": True, "distance": 1.0, "has_features": True}
    known |= {"network": nothing, "blocks": blocks, "rule": nothing, "problem": nothing, "samples": 9, "test": 9}
    return Subject(**cast(Any, known | changes))


def row(score: float, seed: int, **coordinates: Any) -> dict[str, Any]:
    status = "finished" if math.isfinite(score) else "diverged"
    return {"seed": seed, "score": score, "error": 100 - score, "status": status, **coordinates}


def ladder(**scores: Sequence[float]) -> Any:
    """Rows of rungs, by their names with underscores."""
    rows = []
    for name, many in scores.items():
        rung = name.replace("_", " ")
        kind = KINDS[ABOUT[rung][0]]
        rows += [row(score, seed, part="ladder", rung=rung, kind=kind) for seed, score in enumerate(many)]
    return pd.DataFrame(rows)


def said(**scores: Sequence[float]) -> str:
    return how_much(subject(), SETTINGS, ladder(**scores))


def test_a_clear_gain_that_the_trained_kernel_has():
    assert said(linear=[70, 71, 72], trained_tangent_kernel=[90, 91, 92], model=[90, 91, 92.3]) == (
        "Of the 20.1 points between the best learner with fixed features (linear, 71.0 %) and the model (91.1 %), at "
        "least 20.0 are features: a kernel that is frozen at the end of training has them (91.0 %). The difference "
        "stands beyond seeds (95 % interval 19.7 to 20.5 points)."
    )


def test_a_gain_that_the_trained_kernel_does_not_have_is_not_called_features():
    sentence = said(linear=[70, 71], trained_tangent_kernel=[60, 61], model=[90, 91])
    assert "none can be put down to features" in sentence
    assert "no better than fixed features (60.5 %)" in sentence
    assert "are features" not in sentence


def test_a_tiny_gain_that_is_clear_is_a_gain():
    sentence = said(linear=[90, 91], model=[90.5, 91.51])
    assert sentence.startswith("Learning features gains less than 1 point: the model (91.0 %) is 0.5 points ahead of")
    wide = said(linear=[90, 91, 92], model=[90.7, 92.0, 92.9])
    assert wide.startswith("Learning features gains less than 1 point on average: the model (91.9 %) is 0.9 points")
    assert "stands beyond seeds" in sentence


def test_a_large_gain_that_does_not_stand_beyond_seeds_is_open():
    sentence = said(linear=[80, 80], trained_tangent_kernel=[95, 95], model=[81, 95])
    assert sentence.startswith("It cannot be said whether learning features gains anything: the model (88.0 %) is 8.0")
    assert "does not stand beyond seeds" in sentence


def test_no_gain_and_a_loss():
    assert said(linear=[90, 91], model=[90.2, 90.9]).startswith("No gain from learning features shows")
    behind = said(linear=[90, 91, 92], model=[80, 81, 82.3])
    assert behind.startswith("No gain from learning features shows: the model (81.1 %) is 9.9 points behind")
    assert "The difference stands beyond seeds (95 % interval −10.3 to −9.5 points)." in behind


def test_one_seed_says_so():
    for model in (60.0, 90.0):
        assert "With one seed it cannot be said" in said(linear=[70.0], trained_tangent_kernel=[89.0], model=[model])


def test_a_model_that_finds_the_largest_class_alone_has_learnt_nothing():
    """Learners with fixed features below the constant do not make a gain of what the constant has, too."""
    scores = {"constant": [95, 95, 95], "linear": [90, 90, 91], "tangent_kernel": [91, 90, 92]}
    rows = {**scores, "trained_tangent_kernel": [95, 95, 95], "model": [95, 95, 95]}
    assert said(**rows).startswith(
        "Nothing shows that these labels can be learnt: neither the model nor fixed features are clearly better than "
        "the largest class, and the model (95.0 %) is 0.0 points ahead of the best learner with fixed features"
    )
    assert (best_fixed() - error_of(MODEL)).groups(ladder(**rows))[None] == [0, 0, 0]


def test_seeds_are_paired_where_one_diverged():
    """The model lost its worst seed; compared are the seeds that it has."""
    sentence = said(linear=[50, 70, 72], trained_tangent_kernel=[LOST, 90, 92], model=[LOST, 90, 92])
    assert sentence.startswith("Of the 20.0 points between the best learner with fixed features (linear, 71.0 %)")
    assert sentence.endswith(
        "All seeds give the same number, so it cannot be said whether the difference stands beyond seeds."
    )


def test_a_learner_that_diverged_with_some_seeds_is_not_the_best_one():
    rows = {"linear": [70, 71], "last_layer": [LOST, 99], "model": [90, 91]}
    assert "(linear, 70.5 %)" in said(**rows)
    assert (best_fixed() - error_of(MODEL)).groups(ladder(**rows))[None] == [20, 20]


def test_a_diverged_model():
    rows = ladder(linear=[70, 71, 72], model=[LOST, 90, 92])
    assert diverged(subject(), SETTINGS, rows).startswith("The model diverged with 1 of 3 seeds")
    every = ladder(linear=[70, 71], model=[LOST, LOST])
    assert diverged(subject(), SETTINGS, every).startswith("The model diverged with every seed")
    assert how_much(subject(), SETTINGS, every) == ""


def test_without_fixed_features_there_is_no_comparison():
    assert said(model=[90, 91]) == said(early_features=[80, 81], model=[90, 91]) == ""
    assert [each.id for each in claims(subject(rule=None), AuditSettings(parts=("ladder",)), [MODEL])] == []
    ids = [each.id for each in claims(subject(), AuditSettings(parts=("ladder",)), [TRAINED_KERNEL, MODEL])]
    assert ids == ["carried"]


def course(*steps: float | None) -> Any:
    """Rows of the model, with the step at which its kernel has emerged, by seed."""
    rows = ladder(model=[90.0] * len(steps))
    found = [{"kernel_points": 50.0} | ({} if step is None else {"tangent/emergence_step": step}) for step in steps]
    return rows.assign(**{OUTCOME: [Outcome(scalars=scalars) for scalars in found]})


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ((0, 0), "From the start on, KERNEL NEAR."),
        ((5, 5), "From step 5 of 100 on, KERNEL NEAR."),
        ((5, 20), "From a step between 5 and 20 of 100 on, which depends on the seed, KERNEL NEAR."),
        ((None, None), "There is no step from which on KERNEL NEAR."),
        ((None, 5), "With 1 of 2 seeds there is no step from which on KERNEL NEAR."),
    ],
)
def test_when(monkeypatch: pytest.MonkeyPatch, steps: tuple[float | None, ...], sentence: str):
    monkeypatch.setattr(Subject, "steps", 100)
    kernel = "a tangent kernel that is frozen there and fitted to 50 points"
    near = "stays at most 1 point below the trained model"
    assert when(subject(), SETTINGS, course(*steps)) == sentence.replace("KERNEL", kernel).replace("NEAR", near)


def blocks(**costs: list[float]) -> Any:
    rows = [
        row(100 - c, seed, part="frozen", block=name) for name, many in costs.items() for seed, c in enumerate(many)
    ]
    return pd.concat([ladder(model=[100.0] * 3), pd.DataFrame(rows)], ignore_index=True)


def test_where():
    assert where(subject(), SETTINGS, blocks(a=[9, 10, 11], b=[0, 0, 0.5], c=[3, 3, 4])) == (
        "Block a has to learn most: freezing it at its start costs 10.0 points; freezing b costs less than 1 point on "
        "average."
    )
    assert where(subject(), SETTINGS, blocks(a=[0, 10, 11], b=[3, 3, 3], c=[3, 3, 4])) == (
        "Freezing block a at its start costs 7.0 points (not beyond seeds: 95 % interval −19.7 to 32.8), not clearly "
        "more than freezing b (3.0) or c (3.3)."
    )
    assert where(subject(), SETTINGS, blocks(a=[0, 0.01, 0], b=[0, 0.01, 0], c=[0, 0, 0.01])) == (
        "No block is seen to have to learn: freezing any one at its start costs less than 1 point on average."
    )
    few = where(subject(), SETTINGS, blocks(a=[0, 0.01, 0], c=[0, 0, 0.01]))
    assert "freezing a or c at its start" in few


def correction(fixed: list[float], released: list[float], longer: Sequence[float] = ()) -> Any:
    ways = {"fixed": fixed, "released": released, "longer": longer}
    rows = [
        row(s, i, part="correction", block="a", below=way) for way, many in ways.items() for i, s in enumerate(many)
    ]
    return pd.DataFrame(rows)


def test_correction():
    clear = corrected(subject(), SETTINGS, correction([80, 81, 82], [90, 91, 92.3]))
    assert clear.startswith("Backward feature correction matters: if the blocks up to a")
    assert clear.endswith("gains 10.1 points over keeping them fixed.")
    open_ = corrected(subject(), SETTINGS, correction([80, 91, 82], [90, 91, 84]))
    assert open_.startswith("Backward feature correction does not show clearly")
    assert "(not beyond seeds: 95 % interval −9.1 to 17.0)" in open_
    none = corrected(subject(), SETTINGS, correction([80, 81, 82], [80, 81.1, 82]))
    assert none == (
        "No backward feature correction shows: if the blocks up to a are trained first, training them on with the "
        "blocks above gains 0.0 points on average."
    )
    worse = corrected(subject(), SETTINGS, correction([80, 81, 82], [70, 71.2, 72]))
    assert "with the blocks above loses 9.9 points on average" in worse


def test_what_lower_blocks_gain_by_further_steps_alone_is_no_correction():
    """Released blocks have twice the steps: what they reach with as many steps on their own counts against them."""
    more_steps = corrected(subject(), SETTINGS, correction([74, 74, 75], [84, 84, 85], [87, 88, 87]))
    assert more_steps.startswith("No backward feature correction shows")
    assert "with the blocks above loses 3.0 points on average" in more_steps
    both = corrected(subject(), SETTINGS, correction([74, 74, 75], [84, 84, 85.3], [78, 78, 79]))
    assert both.endswith("with the blocks above gains 6.1 points over training them on without these.")
    worse = corrected(subject(), SETTINGS, correction([80, 80, 81], [84, 84, 85.3], [78, 78, 79]))
    assert worse.endswith("gains 4.1 points over keeping them fixed.")


def test_a_trained_kernel_that_is_not_clearly_ahead_attributes_nothing():
    sentence = said(linear=[90, 90, 90], trained_tangent_kernel=[97, 88, 88], model=[97, 98, 99])
    assert "it cannot be said how many are features" in sentence
    assert "is 1.0 points ahead of fixed features (not beyond seeds: 95 % interval −11.9 to 13.8)" in sentence


def test_numbers_that_are_rounded_do_not_contradict_the_words():
    equal = said(linear=[70, 71, 72], trained_tangent_kernel=[71.46, 72.47, 73.46], model=[71.51, 72.5, 73.51])
    assert "Of the 1.5 points" in equal and "at least" not in equal
    assert "is 0.98 points ahead" in said(linear=[90, 91, 92], model=[90.97, 91.98, 92.98])
    for far in (-1e24, -1e200):
        assert len(said(linear=[70, 71], model=[far, 2 * far])) < 400


def on_points(n: int, wrong: dict[str, range]) -> Any:
    """Rows of rungs with three seeds, which miss the same test points out of n."""
    rows = []
    for name, missed in wrong.items():
        errors = np.isin(np.arange(n), np.array(missed, int)).astype(float)
        run = Outcome(arrays={"test_errors": errors})
        at = {"part": "ladder", "rung": name, "kind": KINDS[ABOUT[name][0]], OUTCOME: run}
        rows += [row(100 * (1 - errors.mean()), seed, **at) for seed in range(3)]
    return pd.DataFrame(rows)


def test_test_points_count_beside_seeds(monkeypatch: pytest.MonkeyPatch):
    """Three seeds that agree on the same 60 points say little about other points."""
    monkeypatch.setattr(Subject, "shares_test", True)
    few = on_points(60, {"linear": range(10), TRAINED_KERNEL: range(8, 13), MODEL: range(8, 13)})
    sentence = how_much(subject(test=60), SETTINGS, few)
    assert sentence.startswith("It cannot be said whether learning features gains anything")
    d = np.array([100.0] * 8 + [-100.0] * 3 + [0.0] * 49 + [100, -100])
    half = 1.959964 * d.std(ddof=1) / math.sqrt(62)
    mean = 500 / 60 / 100  # between −1 and 1, where the interval is taken on the scale of artanh
    low, high = (100 * math.tanh(math.atanh(mean) + sign * half / 100 / (1 - mean**2)) for sign in (-1, 1))
    assert f"interval {low:.1f} to {high:.1f} points" in sentence.replace("−", "-")
    assert "does not stand beyond seeds and test points" in sentence
    many = on_points(6000, {"linear": range(1000), TRAINED_KERNEL: range(800, 1300), MODEL: range(800, 1300)})
    assert "stands beyond seeds and test points" in how_much(subject(test=6000), SETTINGS, many)
    (first, *_) = claims(subject(test=60), AuditSettings(parts=("ladder",)), ["linear", MODEL])
    claim = first.claim(few, True, Quantities(quantities(subject(test=60))))
    assert (claim.holds, claim.interval) == (None, "95 % t interval over 3 seeds and test points")
    assert first.claim(on_points(60, {"linear": range(10), MODEL: range(1)}), True, Quantities()).holds is True


def test_the_largest_of_several_gains_has_a_wider_interval():
    """With three blocks the largest gain is large by chance more often than with one."""
    first, second = Scores({0: 12.0, 1: 13.0, 2: 15.0}), Scores({0: 10.0, 1: 10.0, 2: 10.0})
    one, three = lead(subject(), first, second), lead(subject(), first, second, among=3)
    assert one is not None and three is not None and one.low is not None and three.low is not None
    s = math.sqrt(7 / 3)  # the standard deviation of 2, 3 and 5
    # about 10/3 in units of the half range, where the interval's own scale bends little
    assert one.low == pytest.approx(10 / 3 - t.ppf(0.975, 2) * s / math.sqrt(3), abs=0.01)
    assert three.low == pytest.approx(10 / 3 - t.ppf(1 - 0.05 / 6, 2) * s / math.sqrt(3), abs=0.1)


def test_numbers_that_are_equal_up_to_rounding_have_no_interval():
    """Three times 0.1 is not 0.3 in binary, and 90.85 three times has no spread."""
    same = lead(subject(), Scores(dict.fromkeys(range(3), 90.85)), Scores(dict.fromkeys(range(3), 83.3)))
    assert same is not None and (same.low, same.high) == (None, None)
    assert interval_of(subject(), pd.DataFrame({"seed": range(3), "score": [90.85] * 3})) is None
    assert interval_of(subject(), pd.DataFrame({"seed": range(3), "score": [90.85, 90.85, 90.8]})) is not None


def test_small_means_that_may_be_large_say_so():
    """Costs of 35, −35 and 0 points do not show that a block is free."""
    sentence = where(subject(), SETTINGS, blocks(a=[35, -35, 0], b=[0, 0.01, 0], c=[0, 0, 0.01]))
    assert re.search(r"on average \(seeds do not rule out \d\d\.\d points for a\)", sentence)
    assert "(with one seed)" in where(subject(), SETTINGS, blocks(a=[0.1], b=[0.2], c=[0.0]))


def test_a_learner_that_does_not_count_is_named():
    rows = ladder(linear=[70, 71], last_layer=[LOST, 99], model=[90, 91])
    assert "last layer does not count: it diverged" in uncounted(subject(), SETTINGS, rows)
    assert uncounted(subject(), SETTINGS, ladder(linear=[70, 71], model=[90, 91])) == ""
    assert uncounted(subject(), SETTINGS, ladder(linear=[LOST, 71], model=[LOST, 91])) == ""


def test_features_that_the_model_does_not_make_the_best_of():
    unused = "Yet training has made better features"
    assert unused in said(tangent_kernel=[92, 93], trained_tangent_kernel=[95, 96.1], model=[90, 91])
    assert "Yet" not in said(tangent_kernel=[92, 93], trained_tangent_kernel=[92.5, 93.5], model=[90, 91])


@pytest.mark.parametrize(("kernel", "holds"), [(89.1, True), (88.5, False)])
def test_the_kernel_of_the_trained_model_may_be_worse_by_the_tolerance_and_no_more(kernel: float, holds: bool):
    (carried,) = claims(subject(), AuditSettings(parts=("ladder",)), [TRAINED_KERNEL, MODEL])
    rows = ladder(trained_tangent_kernel=[kernel] * 2, model=[90.0] * 2)
    assert carried.claim(rows, True, Quantities(quantities(subject()))).holds is holds
