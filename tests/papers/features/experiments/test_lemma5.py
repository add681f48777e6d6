from typing import Any

import numpy as np

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.features.experiments.lemma5 import INPUTS, LABELS, Lemma5, labels_of, row
from beyondkernels.store import RunSpec
from papers.judging import check_figures, finish, refuse, refuted

EXPERIMENT = Lemma5()
SETTINGS = EXPERIMENT.settings("smoke")
AT_THE_BOUNDS = {"exact": 1.0, "neurons": 12.0, "largest_output": 96.0, "least_bias": 1 / 96, "largest_bias": 0.5}


def reading() -> Reading:
    """Numbers at the bounds of the lemma."""

    def outcome(at: At, _: RunSpec) -> Outcome:
        k = at.relevant
        scalars = AT_THE_BOUNDS | {"largest_inside": 1.0, "train_accuracy": 1.0, "test_accuracy": 1.0}
        scalars |= {"neurons": 3 * (k + 1.0), "largest_output": 32.0 * k, "least_bias": 1 / (32 * k)}
        return Outcome("finished", scalars, arrays={"profile": np.array([[0.0, 1.0], [-1.0, 1.0]])})

    return finish(EXPERIMENT, SETTINGS, (0, 1), outcome)


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    assert [line["relevant"] for line in read.table[1]] == ["1", "3"]
    check_figures(read, ["profile"])


def test_all_kinds_of_labels_and_inputs() -> None:
    (runs,) = EXPERIMENT.runs(SETTINGS)
    specs: Any = {
        (labels, inputs): runs.spec(SETTINGS, At(relevant=3, labels=labels, inputs=inputs, seed=1))
        for labels in LABELS
        for inputs in INPUTS
    }
    assert len({str(each.problem) for each in specs.values()}) == len(LABELS) * len(INPUTS)
    assert {each.problem.instance for each in specs.values()} == {1}
    means = specs["parity", "unequal coins"].problem.moments
    assert len({round(float(means.means[j]), 6) for j in means.relevant}) == 3
    for k in (1, 2, 30):
        for seed in range(3):
            assert len(labels_of("random", k, seed).counts(k)) == (k + 1) // 2


def test_rooms() -> None:
    scalars = AT_THE_BOUNDS | {"largest_inside": 0.5, "largest_output": 48.0, "least_bias": 1 / 48, "largest_bias": 0.1}
    found = row(SETTINGS, At(relevant=3, seed=0), Outcome("finished", scalars))
    rooms = {name: round(value, 9) for name, value in found.items() if name.endswith("_room")}
    assert rooms == {
        "neurons_room": 1.0,
        "output_room": 2.0,
        "least_bias_room": 2.0,
        "largest_bias_room": 5.0,
        "inside_room": 2.0,
    }


def test_bad_settings() -> None:
    refuse(SETTINGS, {"relevants": (3, 13)}, r"relevants must not exceed patterns \(12\), got 13")
