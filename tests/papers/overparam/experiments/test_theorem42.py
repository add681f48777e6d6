import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At
from beyondkernels.papers.overparam.experiments.theorem42 import (
    FIRST,
    KERNELS,
    METHODS,
    ONE,
    SECOND,
    SUMS,
    THREE,
    VARIANTS,
    Theorem42,
    problem_of,
    row,
    spec,
)
from beyondkernels.papers.overparam.measurements import label_variance
from papers.judging import check_figures, finish, unshaken

EXPERIMENT = Theorem42()
SETTINGS = replace(EXPERIMENT.settings("smoke"), seeds=3)


def test_what_is_expected():
    def outcome(at: At, _: Any) -> Outcome:
        relative = 0.01 if at.method in (THREE, FIRST, SECOND) else 0.5
        error = relative * (1 + 0.01 * at.seed) * label_variance(problem_of(SETTINGS, at.target, at.seed))
        factor = SETTINGS.loss_factor if at.method in VARIANTS else 1.0
        return Outcome("finished", {"test_loss": factor * error, "train_loss": factor * 0.1})

    found = finish(EXPERIMENT, SETTINGS, (0, 1, 2), outcome)
    assert unshaken(EXPERIMENT, SETTINGS, found.rows) == []
    check_figures(found, ["one", "sums"])


def test_a_product_of_cosines_is_a_sum_of_cosines():
    """2 cos u cos v = cos(u + v) + cos(u − v), which the notes say of the first target."""
    problem = problem_of(SETTINGS, ONE, 1)
    w = problem.matrices()
    x = problem.sample(50, Stream(1)).x.double()
    waves = [torch.cos(SETTINGS.frequency * x @ (w["w1"][0] + sign * w["w2"][0])) for sign in (1, -1)]
    assert abs(float(w["v1"] * w["v2"])) == pytest.approx(1)
    expected = w["a"][0, 0] * w["v1"][0, 0] * w["v2"][0, 0] * sum(waves) / 2
    torch.testing.assert_close(problem.signal(x)[:, 0], expected, rtol=1e-9, atol=1e-9)


def test_the_product_of_sums_is_one_of_smooth_steps():
    """Eq. (19) term by term: p₂² products of two steps."""
    problem = problem_of(SETTINGS, SUMS, 1)
    w, terms = problem.matrices(), SETTINGS.inner_terms
    x = problem.sample(50, Stream(1)).x.double()
    total = torch.zeros(50, dtype=torch.float64)
    for i in range(terms):
        for j in range(terms):
            steps = [torch.erf(SETTINGS.steepness * x @ each) for each in (w["w1"][i], w["w2"][j])]
            total += w["v1"][0, i] * w["v2"][0, j] * steps[0] * steps[1]
    assert terms > 1
    torch.testing.assert_close(problem.signal(x)[:, 0], w["a"][0, 0] * total, rtol=1e-9, atol=1e-9)


def test_all_methods_see_the_same_points():
    specs = {method: spec(SETTINGS, At(target=ONE, method=method, samples=60, seed=1)) for method in METHODS}
    assert len({each.problem for each in specs.values()}) == 1
    for method, each in specs.items():
        each.learner.check(each.problem, 60, 100)
        assert isinstance(each.learner, bk.kernels.KernelRidge) == (method in KERNELS)


def test_the_variants_of_algorithm_2():
    """They differ in the objective, η and ε_a alone, and the factor of the loss does not enter the rows."""
    alike = replace(SETTINGS, signed_rate=SETTINGS.sgd_rate, signed_output_std=SETTINGS.sgd_output_std)
    specs = [spec(alike, At(target=ONE, method=method, samples=60, seed=1)) for method in VARIANTS]
    first, second = (each.learner for each in specs)
    own: Any = spec(SETTINGS, At(target=ONE, method=SECOND, samples=60, seed=1)).learner
    assert (own.algorithm.learning_rate, own.network.output_std) == (SETTINGS.signed_rate, SETTINGS.signed_output_std)
    assert isinstance(first, bk.engine.TrainedNetwork)
    assert isinstance(first.algorithm, bk.overparam.ThreeLayerSGD)
    assert replace(first, algorithm=replace(first.algorithm, variant="L2")) == second != first
    at = At(target=ONE, method=FIRST, samples=60, seed=1)
    sample, none = specs[0].problem.sample(60, Stream(1)), torch.zeros(60, 1)
    loss = first.algorithm.loss.report(none, sample.y)["loss"]
    said = row(SETTINGS, at, Outcome("finished", {"test_loss": loss, "train_loss": loss}))
    assert said["train_loss"] == pytest.approx(float(sample.y.square().mean()))
    assert said["relative"] == pytest.approx(said["train_loss"] / label_variance(specs[0].problem))
    assert row(SETTINGS, at, Outcome("diverged", {})) == {"relative": None, "train_loss": None}


def test_variance():
    """That of cos u cos v with independent, uniform u and v is 1/4, and c = 12 is not far from it."""
    assert label_variance(problem_of(EXPERIMENT.settings("laptop"), ONE, 0)) == pytest.approx(0.25, rel=0.2)
    assert math.isfinite(label_variance(problem_of(SETTINGS, SUMS, 0)))
