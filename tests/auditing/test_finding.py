"""The sentences of an audit, read in every case that can come: each must be true of the rows it is said of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import pandas as pd
import pytest

from beyondkernels.auditing.claims import best_fixed, claims, error_of
from beyondkernels.auditing.finding import corrected, diverged, how_much, when, where
from beyondkernels.auditing.ladder import ABOUT, KINDS, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome
from beyondkernels.frame.rows import OUTCOME
from beyondkernels.networks import Block

SETTINGS = AuditSettings()
LOST = math.nan


def subject(**changes: Any) -> Subject:
    blocks = tuple(Block(name, (f"{name}.weight",), name) for name in "abc")
    nothing = cast(Any, None)
    known = {"classes": True, "spread": 1.0, "train_spread": 1.0, "distance": 1.0, "has_features": True}
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


def test_a_kernel_that_is_better_than_the_model_shows_its_own_score():
    sentence = said(linear=[70, 71], trained_tangent_kernel=[98, 99], model=[90, 91])
    assert "20.0 are features" in sentence
    assert "(98.5 %)" in sentence


def test_a_gain_that_the_trained_kernel_does_not_have_is_not_called_features():
    sentence = said(linear=[70, 71], trained_tangent_kernel=[60, 61], model=[90, 91])
    assert "none can be put down to features" in sentence
    assert "no better than fixed features (60.5 %)" in sentence
    assert "are features" not in sentence


def test_without_the_trained_kernel_nothing_is_said_of_it():
    assert said(linear=[70, 71], model=[90, 91]).startswith(
        "There are 20.0 points between the best learner with fixed features (linear, 70.5 %) and the model (90.5 %)."
    )


def test_a_tiny_gain_that_is_clear_is_a_gain():
    sentence = said(linear=[90, 91], model=[90.5, 91.5])
    assert sentence.startswith("Learning features gains less than 1 point: the model (91.0 %) is 0.5 points ahead of")
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


def test_features_that_the_model_does_not_make_the_best_of():
    unused = "Yet training has made better features: a kernel that is frozen at the end of training is 3.0 points ahead"
    assert unused in said(tangent_kernel=[92, 93], trained_tangent_kernel=[95, 96], model=[90, 91])
    assert "Yet" not in said(tangent_kernel=[92, 93], trained_tangent_kernel=[92.5, 93.5], model=[90, 91])
    assert "Yet" not in said(tangent_kernel=[92, 93], trained_tangent_kernel=[90, 101], model=[90, 91])


def test_one_seed_says_so():
    for model in (60.0, 90.0):
        assert "With one seed it cannot be said" in said(linear=[70.0], trained_tangent_kernel=[89.0], model=[model])


def test_an_interval_has_no_negative_zero():
    assert "−0.0" not in said(linear=[90, 90, 90.02], model=[90, 90.01, 90])


def test_a_model_that_finds_the_largest_class_alone_has_learnt_nothing():
    """Learners with fixed features below the constant do not make a gain of what the constant has, too."""
    scores = {"constant": [95, 95, 95], "linear": [90, 90, 91], "tangent_kernel": [91, 90, 92]}
    rows = {**scores, "trained_tangent_kernel": [95, 95, 95], "model": [95, 95, 95]}
    assert said(**rows).startswith(
        "No gain from learning features shows: the model (95.0 %) is 0.0 points ahead of the best learner with fixed "
        "features (constant, 95.0 %)."
    )
    assert (best_fixed() - error_of(MODEL)).groups(ladder(**rows))[None] == [0, 0, 0]


def test_seeds_are_paired_where_one_diverged():
    """The model lost its worst seed; compared are the seeds that it has."""
    sentence = said(linear=[50, 70, 72], trained_tangent_kernel=[LOST, 90, 92], model=[LOST, 90, 92])
    assert sentence.startswith("Of the 20.0 points between the best learner with fixed features (linear, 71.0 %)")
    assert "20.0 to 20.0" in sentence


def test_a_learner_that_diverged_with_some_seeds_is_not_the_best_one():
    rows = {"linear": [70, 71], "last_layer": [LOST, 99], "model": [90, 91]}
    assert "(linear, 70.5 %)" in said(**rows)
    assert (best_fixed() - error_of(MODEL)).groups(ladder(**rows))[None] == [20, 20]


def test_a_learner_that_diverged_together_with_the_model_counts():
    rows = {"linear": [70, 71, 72], "linearised_network": [LOST, 80, 81], "model": [LOST, 90, 91]}
    assert "(linearised network, 80.5 %)" in said(**rows)


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
        (
            (None, 5),
            "With 1 of 2 seeds there is no step from which on KERNEL NEAR.",
        ),
    ],
)
def test_when(monkeypatch: pytest.MonkeyPatch, steps: tuple[float | None, ...], sentence: str):
    monkeypatch.setattr(Subject, "steps", 100)
    kernel = "a tangent kernel that is frozen there and fitted to 50 points"
    near = "stays at most 1 point below the trained model"
    assert when(subject(), SETTINGS, course(*steps)) == sentence.replace("KERNEL", kernel).replace("NEAR", near)


def test_when_of_numbers_speaks_of_the_loss(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Subject, "steps", 100)
    sentence = when(subject(classes=False), SETTINGS, course(7))
    assert sentence.endswith("keeps its loss at most 5 % above the trained model's.")


def blocks(**costs: list[float]) -> Any:
    rows = [
        row(100 - c, seed, part="frozen", block=name) for name, many in costs.items() for seed, c in enumerate(many)
    ]
    return pd.concat([ladder(model=[100.0] * 3), pd.DataFrame(rows)], ignore_index=True)


def test_where():
    assert where(subject(), SETTINGS, blocks(a=[9, 10, 11], b=[0, 0, 0.5], c=[3, 3, 4])) == (
        "Block a has to learn most: freezing it at its start costs 10.0 points; freezing b costs less than 1 point."
    )
    assert where(subject(), SETTINGS, blocks(a=[0, 10, 11], b=[3, 3, 3], c=[3, 3, 4])) == (
        "Block a has to learn most: freezing it at its start costs 7.0 points (not beyond seeds: 95 % interval −8.1 to "
        "22.1)."
    )
    assert where(subject(), SETTINGS, blocks(a=[0, 0, 0], b=[-5, 0, 1], c=[0, 0, 0])) == (
        "No single block has to learn: freezing any one at its start costs less than 1 point."
    )
    assert "freezing any one of a or c at its start" in where(subject(), SETTINGS, blocks(a=[0, 0, 0], c=[0, 0, 0]))
    assert "to learn: freezing a at its start costs less" in where(subject(), SETTINGS, blocks(a=[0, 0, 0]))


def test_where_pairs_seeds():
    """The seed with which the model diverged says nothing of a block."""
    rows = blocks(a=[9, 10, 11], b=[0, 0, 0], c=[0, 0, 0])
    rows.loc[(rows["part"] == "ladder") & (rows["seed"] == 0), "score"] = LOST
    assert "costs 10.5 points" in where(subject(), SETTINGS, rows)


def correction(fixed: list[float], released: list[float]) -> Any:
    ways = {"fixed": fixed, "released": released}
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
    assert "(not beyond seeds: 95 % interval −9.1 to 17.1)" in open_
    none = corrected(subject(), SETTINGS, correction([80, 81, 82], [80, 81, 82]))
    assert none == "Lower blocks that were trained first need no correction: it gains less than 1 point."
