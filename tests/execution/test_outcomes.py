from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.execution import perform
from beyondkernels.kernels import KernelRidge, Laplace
from beyondkernels.papers.features import DictionaryParity
from beyondkernels.store import RunSpec
from refusals import refused


def test_outcome_is_what_the_streams_say(toys):
    spec = RunSpec(toys.Line(dim=2, slope=3.0), toys.Mean(numbers=4), 6, 5, 11)
    (outcome,) = perform([spec], lambda _: None)
    train = Stream(11, ("train",)).generator().standard_normal((6, 2))
    test = Stream(11, ("test",)).generator().standard_normal((5, 2))
    mean = sum(3.0 * (a + b) for a, b in train) / 6
    error = sum((3.0 * (a + b) - mean) ** 2 for a, b in test) / 5
    assert outcome.scalars["mean"] == pytest.approx(mean, rel=1e-12)
    assert outcome.scalars["error"] == pytest.approx(error, rel=1e-12)
    np.testing.assert_array_equal(outcome.arrays["noise"], Stream(11, ("learner",)).generator().standard_normal(4))


def test_company_changes_nothing_and_shares_samples(toys, tmp_path):
    drawn = tmp_path / "drawn"  # in a file, because what a class encloses is part of its identity

    @dataclass(frozen=True)
    class Counted(toys.Line):
        def sample(self, n: int, stream: Any):
            with drawn.open("a") as file:
                print(n, stream.seed, stream.name, file=file)
            return super().sample(n, stream)

    def spec(slope: float, label: str, seed: int) -> RunSpec:
        return RunSpec(Counted(slope=slope), toys.Mean(label=label), 6, 5, seed)

    specs = [spec(1.0, "a", 0), spec(1.0, "b", 0), spec(2.0, "a", 0), spec(1.0, "a", 1)]
    together = perform(specs)
    assert len(drawn.read_text().splitlines()) == 6  # three pairs of samples for four runs
    for one, outcome in zip(specs, together, strict=True):
        (alone,) = perform([one])
        assert repr(alone.scalars) == repr(outcome.scalars)  # repr: nan equals nothing, not even itself
        np.testing.assert_array_equal(alone.arrays["noise"], outcome.arrays["noise"])
    assert together[0].scalars["mean"] != together[3].scalars["mean"]


def test_measurements_are_merged(toys):
    spec = RunSpec(toys.Line(), toys.Mean(), 6, 5, 0, (toys.Doubled("error"), toys.Doubled("twice_error")))
    (outcome,) = perform([spec])
    assert outcome.scalars["twice_twice_error"] == 4 * outcome.scalars["error"]
    np.testing.assert_array_equal(outcome.arrays["row_error"], [2 * outcome.scalars["error"]] * 3)


def test_measurement_must_not_overwrite(toys):
    spec = RunSpec(toys.Line(), toys.Mean(), 6, 5, 0, (toys.Doubled(), toys.Doubled()))
    refused("Doubled gives twice_error, which the run has already", perform, [spec])


def test_diverged_run_is_a_result_and_not_measured(toys):
    (outcome,) = perform([RunSpec(toys.Line(), toys.Diverging(), 6, 5, 0, (toys.Doubled("nothing"),))])
    assert outcome.status == "diverged"
    assert outcome.scalars == {"loss": float("-inf")}


def test_bad_company_and_bad_outcomes_are_refused(toys):
    assert perform([]) == []
    with pytest.raises(InputError, match="need learners of one class, got Diverging, Mean"):
        perform([RunSpec(toys.Line(), learner, 6, 5, 0) for learner in (toys.Mean(), toys.Diverging())])

    @dataclass(frozen=True)
    class Short(toys.Mean):
        @classmethod
        def fit_together(cls, learners, cases, progress):  # noqa: ARG003
            return []

    refused("Short gave 0 outcomes for 1 runs", perform, [RunSpec(toys.Line(), Short(), 6, 5, 0)])


def test_threads_change_no_bit():
    """With three threads the kernel ridge's sums have another order; a run is performed with one wherever it is."""
    spec = RunSpec(DictionaryParity(40, 20, 5), KernelRidge(Laplace(3.0)), 200, 100, 100)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            (outcome,) = perform([spec])
            assert torch.get_num_threads() == threads
            found.append({name: float(value).hex() for name, value in outcome.scalars.items()})
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
