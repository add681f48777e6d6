from __future__ import annotations

import json

import numpy as np
import pytest

from beyondkernels.core import Outcome, describe
from beyondkernels.kernels import KernelRidge, PolynomialKernel
from beyondkernels.problems import Monomial
from beyondkernels.runs import RunSpec, Store, perform
from beyondkernels.runs.translation import RENAMED, translated

KERNEL = "beyondkernels.kernels.learner:KernelRidge"
CLASSIFIER = "beyondkernels.kernels.classifiers:FixedFeatureClassifier"


def of(learner: str) -> dict:
    return {"fields": {"learner": {"class": learner}}}


def test_a_run_stored_by_the_old_code_is_read_with_the_new_names(tmp_path):
    spec = RunSpec(Monomial(6), KernelRidge(PolynomialKernel(2)), 20, 10, 0)
    (outcome,) = perform([spec])
    back = {new: old for old, new in RENAMED[KERNEL].items()}

    def old_names(values: dict) -> dict:
        return {back.get(name, name): value for name, value in values.items()}

    store = Store.open(tmp_path / "store")
    old = Outcome(outcome.status, old_names(outcome.scalars), outcome.series, old_names(outcome.arrays))
    assert {"test_error", "leave_one_out_error"} < set(old.scalars)
    store.write(spec.key, describe(spec), old, {"seconds": 1.0})
    read = store.read(spec.key).outcome
    assert read.scalars == outcome.scalars
    assert set(read.arrays) == set(outcome.arrays)
    assert all(np.array_equal(read.arrays[name], outcome.arrays[name]) for name in outcome.arrays)
    (path,) = (tmp_path / "store").rglob("result.json")
    assert "test_error" in json.loads(path.read_text())["scalars"]  # what is stored is left alone


def test_every_new_name_is_one_that_the_learner_gives():
    spec = RunSpec(Monomial(6), KernelRidge(PolynomialKernel(2), choose="validation"), 20, 10, 0)
    (outcome,) = perform([spec])
    assert set(RENAMED[KERNEL].values()) <= {*outcome.scalars, *outcome.arrays}


def test_a_name_with_a_second_meaning_is_not_translated_where_the_new_one_stands_beside_it():
    old = translated(of(CLASSIFIER), Outcome(scalars={"validation_accuracy": 0.75}))
    assert old.scalars == {"held_out_accuracy": 0.75}
    new = {"validation_accuracy": 0.5, "held_out_accuracy": 0.75}
    assert translated(of(CLASSIFIER), Outcome(scalars=dict(new))).scalars == new


@pytest.mark.parametrize("odd", [{}, [], None, {"fields": []}, {"fields": {"learner": 3}}, of("nobody:Knows")])
def test_other_runs_stay_as_they_are(odd):
    assert translated(odd, Outcome(scalars={"test_error": 1.0})).scalars == {"test_error": 1.0}
