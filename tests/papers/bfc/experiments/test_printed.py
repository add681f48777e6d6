from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At
from beyondkernels.papers.bfc.experiments.common import variances_of
from beyondkernels.papers.bfc.experiments.printed import GAUSSIAN, MIXTURE, Printed, numbers_of, problem_at
from papers.judging import check_figures, finish, refuted

EXPERIMENT = Printed()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = tuple(range(18))  # so many of so many confirm four of five


def test_claims_and_figures() -> None:
    def outcome(at: At, _: Any) -> Outcome:
        loss = 5e-5 * variances_of(problem_at(SMOKE, at))[1]
        joined = {"layer2/joined": 1.0, "layer2/distilled": 9.0, "layer3/joined": 12.0, "layer3/distilled": 20.0}
        scalars = {"test_loss": loss, "steps": 40.0, "layer2/rank": 2.0, "layer3/rank": 1.0, **joined}
        steps = 1 + np.array([0.0, 1.0, 20.0])
        series = {f"rule/{name}": steps for name in ("step", "objective", "target_error")}
        return Outcome("finished", scalars, series)

    read = finish(EXPERIMENT, SMOKE, SEEDS, outcome)
    assert refuted(read) == []
    check_figures(read, ["stages-gaussian", "stages-mixture"])


@pytest.mark.parametrize("inputs", [GAUSSIAN, MIXTURE])
def test_what_is_printed(inputs: str) -> None:
    at = At(inputs=inputs, seed=1)
    (runs,) = EXPERIMENT.runs(SMOKE)
    spec: Any = runs.spec(SMOKE, at)
    rule, network = spec.learner.algorithm, spec.learner.network
    _, third = spec.problem.scales
    d, kappa = SMOKE.dim, SMOKE.kappa
    assert (rule.start, rule.noise_std, rule.settings.relative_cut) == ("zero", SMOKE.noise, False)
    assert rule.settings == numbers_of(SMOKE, spec.problem) and network.truncation == SMOKE.truncation
    assert rule.settings.rank_cut == pytest.approx([1 / (10 * kappa**2)] * 2)
    assert rule.settings.distill_at == pytest.approx([d ** (-1 / 54), third**2 * d ** (-1 / 162)])
    assert rule.settings.join_at[1] == pytest.approx(d ** (-1 / 27))
    assert network.second_moments == pytest.approx((1.0,) * d)
    assert type(spec.problem.inputs).__name__ == {GAUSSIAN: "GaussianInputs", MIXTURE: "MixtureOfGaussians"}[inputs]
    (outcome,) = perform([spec])
    row: Any = runs.read(SMOKE, at, outcome)
    assert row["left"] == pytest.approx(outcome.scalars["test_loss"] / variances_of(spec.problem)[1])
