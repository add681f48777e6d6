from __future__ import annotations

import json

import numpy as np
import pytest

import resnet_cases as cases
from beyondkernels.core import Outcome, describe
from beyondkernels.kernels import KernelRidge, PolynomialKernel
from beyondkernels.measure import Coupling, Regret
from beyondkernels.problems import Monomial
from beyondkernels.runs import RunSpec, Store, perform
from beyondkernels.runs.translation import RENAMED, translated
from measuring import measured

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


MEASURED = {
    "alignment": "beyondkernels.measure.alignment:Alignment",
    "directions": "beyondkernels.measure.directions:Directions",
    "coupling": "beyondkernels.measure.coupling:Coupling",
    "regret": "beyondkernels.measure.regret:Regret",
}


def measured_by(*names: str, learner: str = "nobody:Knows") -> dict:
    return {"fields": {"learner": {"class": learner}, "measurements": [{"class": MEASURED[name]} for name in names]}}


def test_steps_in_names_become_a_time_axis():
    old = Outcome(
        scalars={"cosine/0": 0.1, "cosine/10": 0.3, "cosine/2": 0.2, "cosine_either/0": 0.4, "test_loss": 1.0}
        | {"cosine_either/2": 0.5, "cosine_either/10": 0.6},
        series={"step": np.array([5.0]), "test_loss": np.array([2.0])},
        arrays={f"cosines/{t}": np.array([t, -t]) for t in (0, 2, 10)}
        | {f"directions/{t}": np.full((4, 2), t) for t in (0, 2, 10)}
        | {"snapshot/0/hidden.weight": np.ones(3)},
    )
    new = translated(measured_by("alignment", "directions"), old)
    assert new.scalars == {"test_loss": 1.0}
    assert new.arrays.keys() == {"snapshot/0/hidden.weight"}
    assert new.series.keys() == {
        *("step", "test_loss", "alignment/step", "alignment/cosine", "alignment/cosine_either", "alignment/cosines"),
        *("directions/step", "directions/points"),
    }
    assert new.series["alignment/step"].tolist() == new.series["directions/step"].tolist() == [0, 2, 10]
    assert new.series["alignment/cosine"].tolist() == [0.1, 0.2, 0.3]
    assert new.at("alignment/cosine_either", 10) == 0.6
    assert new.at("alignment/cosines", 2).tolist() == [2, -2]
    assert new.at("directions/points", 10).shape == (4, 2)
    assert "cosine/0" in old.scalars  # what was read is left alone


def old_way(groups: dict[str, str], outcome: Outcome) -> Outcome:
    """The outcome as the first version of the measurements wrote it: ``<term>/<step>``."""
    scalars, arrays = dict(outcome.scalars), dict(outcome.arrays)
    for full_name in outcome.series:
        group, _, name = full_name.partition("/")
        if group in groups and name != "step":
            for step, value in zip(*outcome.over(full_name), strict=True):
                each = name.removesuffix("_each")
                (arrays if np.ndim(value) else scalars)[groups[group].format(name=each, step=int(step))] = value
    series = {name: values for name, values in outcome.series.items() if name.partition("/")[0] not in groups}
    return Outcome(outcome.status, scalars, series, arrays)


def same(one: Outcome, other: Outcome) -> bool:
    return one.scalars == other.scalars and all(
        getattr(one, kind).keys() == getattr(other, kind).keys()
        and all(np.array_equal(value, getattr(other, kind)[name]) for name, value in getattr(one, kind).items())
        for kind in ("series", "arrays")
    )


def test_the_coupling_s_many_terms_there_and_back():
    found = Outcome(arrays=cases.outcome((0, 0.0), (3, 0.1), (10, 0.4)).arrays)
    for measurement in (Coupling(points=9), Regret(points=9, witness_points=6)):
        more = measured(measurement, found, cases.TwoSignals())
        found = Outcome(
            scalars=found.scalars | dict(more.scalars), series=found.series | dict(more.series), arrays=found.arrays
        )
    old = old_way({"coupling": "{name}/{step}", "regret": "{name}/{step}"}, found)
    assert {"first_flips/10", "regret/10", "first_gates_ratio/3"} <= old.scalars.keys()
    assert {"first_flips/10", "second_flips/0"} <= old.arrays.keys()
    assert old.series == {}
    for order in (("coupling", "regret"), ("regret", "coupling")):
        assert same(translated(measured_by(*order), old), found)
    assert same(translated(measured_by("coupling", "regret"), found), found)  # what is new stays


def test_norms_there_and_back():
    steps = np.array([0.0, 8.0])
    new = Outcome(series={"norm/step": steps, "norm/W.weight": np.array([1.0, 2.0]), "norm/b": np.array([0.0, 3.0])})
    old = old_way({"norm": "norm/{step}/{name}"}, new)
    assert old.scalars.keys() == {f"norm/{step}/{name}" for step in (0, 8) for name in ("W.weight", "b")}
    assert same(translated(measured_by(learner="beyondkernels.measure.norms:NormedNetwork"), old), new)
