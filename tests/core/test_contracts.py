"""What every learner gets for free."""

from dataclasses import dataclass

import pytest
import torch

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Sample, Stream, digest


@dataclass(frozen=True)
class Line(Problem):
    slope: float = 1.0

    @property
    def in_dim(self) -> int:
        return 1

    @property
    def out_dim(self) -> int:
        return 1

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
    problem = Line(slope)
    return Case(problem, problem.sample(8, Stream(0)), problem.sample(4, Stream(1)), Stream(2))


def test_learning_together_is_learning_one_after_the_other():
    learners, cases, told = [Slope(1), Slope(2), Slope(3)], [case(1.0), case(5.0), case(-1.0)], []
    together = Slope.fit_together(learners, cases, told.append)
    assert [each.scalars["slope"] for each in together] == pytest.approx([1, 10, -3])
    assert told == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_learners_and_cases_must_pair_up():
    with pytest.raises(ValueError, match="zip"):
        Slope.fit_together([Slope(), Slope()], [case(1.0)], lambda _: None)


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


def test_sample_has_a_length():
    assert len(Sample(torch.zeros(5, 2), torch.zeros(5))) == 5
