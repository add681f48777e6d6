"""What every learner gets for free."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from beyondkernels.core import Case, Ended, InputError, Learner, Outcome, Progress, Sample, Stream, digest
from fitting import Sized, case_of
from refusals import refused


@dataclass(frozen=True)
class Line(Sized):
    slope: float = 1.0

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.normal(n, 1)
        return Sample(x, self.slope * x[:, 0])


@dataclass(frozen=True)
class Slope(Learner):
    factor: float = 1.0

    def fit(self, case: Case, progress: Progress) -> Outcome:
        progress(0.5)
        x, y = case.train.x[:, 0], case.train.y
        progress(1.0)
        return Outcome(scalars={"slope": self.factor * float((x @ y) / (x @ x))})


def case(slope: float) -> Case:
    return case_of(Line(slope), 8, 4)


def test_learning_together_is_learning_one_after_the_other():
    learners, cases, told = [Slope(1), Slope(2), Slope(3)], [case(1.0), case(5.0), case(-1.0)], []
    together = Slope.fit_together(learners, cases, told.append)
    assert [each.scalars["slope"] for each in together] == pytest.approx([1, 10, -3])
    assert told == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_defaults():
    assert Slope(2).ensemble_key() == Slope(2.0).ensemble_key() == digest(Slope(2))
    assert Slope(2).ensemble_key() != Slope(3).ensemble_key()
    assert Slope().members_at_once(10**6, 10) == Slope().members_at_once(10**6, 10, 3) == 1
    Slope().check(Line(), 1, 0)  # nothing stands in the way
    assert case(1.0).checkpoint is None
    outcome, other = Outcome(), Outcome()
    outcome.scalars["a"] = 1.0
    assert outcome.status == "finished"
    assert other.scalars == {}


SERIES = {
    "step": np.array([0.0, 5.0]),
    "test_loss": np.array([1.0, 0.5]),
    "norm/step": np.array([3.0]),
    "norm/W": np.array([[1.0, 2.0]]),
}


def test_a_series_has_the_axis_of_its_group():
    outcome = Outcome(series=SERIES)
    assert outcome.over("test_loss")[0] is SERIES["step"]
    assert outcome.over("norm/W")[0] is SERIES["norm/step"]
    assert (outcome.at("test_loss", 5), outcome.at("norm/W", 3).tolist()) == (0.5, [1.0, 2.0])
    assert type(outcome.at("test_loss", 0)) is float
    assert outcome.at("test_loss", 3, missing=None) is None
    assert outcome.at("nothing", 3, missing=0.0) == 0.0
    refused(r"^test_loss was looked at after steps 0, 5, not after 3$", outcome.at, "test_loss", 3)
    refused(r"^unknown series 'test_los', did you mean test_loss", outcome.at, "test_los", 5)


def test_fresh_samples_by_name():
    here = case(1.0)
    assert here.fresh == {"test": here.test}
    assert replace(here, validation=here.train).fresh == {"test": here.test, "validation": here.train}


def test_a_run_that_left_no_predictor_says_so():
    ended = Ended(Slope(), case(1.0), Outcome())
    assert ended.problem is ended.case.problem
    with pytest.raises(InputError, match=r"^Slope left no predictor behind; stored runs have none$"):
        _ = ended.predictor
