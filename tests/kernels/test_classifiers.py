"""The choice of the ridge, and the learners built on it."""

from dataclasses import dataclass

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Case, Sample, Stream
from beyondkernels.kernels.ridge_validation import RidgeTrial, _next_ridge, choose_ridge
from beyondkernels.kernels.solvers.hinge import solve_hinge
from fitting import Sized, case_of, quiet

F64 = torch.float64


@dataclass(frozen=True)
class Plane(Sized):
    """Labels by a noisy linear rule in the first two of ten dimensions; inputs lie in a plane of four."""

    noise: float = 1.0

    in_dim = 10

    def sample(self, n: int, stream: Stream) -> Sample:
        u = stream.child("u").normal(n, 4, dtype=F64)
        M = torch.linalg.qr(Stream(99).normal(self.in_dim, 4, dtype=F64))[0]
        score = u[:, 0] + u[:, 1] + self.noise * stream.child("noise").normal(n, dtype=F64) - 0.3
        return Sample((u @ M.T).to(torch.float32), torch.where(score > 0, 1.0, -1.0))


def case(n=300, seed=0, problem=None) -> Case:
    return case_of(problem or Plane(), n, 500, seed)


@dataclass(frozen=True)
class NetworkFeatures(bk.kernels.FeatureSource):
    """What a source for a network looks like."""

    tangent: bool

    def feature_map(self, case: Case) -> bk.kernels.FeatureMap:
        stream = case.stream.child("network")
        W, b, a = (stream.child(name).normal(*shape) for name, shape in (("W", (6, 10)), ("b", (6,)), ("a", (6,))))
        if self.tangent:
            return bk.kernels.tangent_feature_map(W, b, a, torch.sin, torch.cos, case.train.x)
        return bk.kernels.random_feature_map(W, b, torch.sin)


def identity_map(x: torch.Tensor) -> bk.kernels.DenseFeatures:
    return bk.kernels.DenseFeatures(x.to(F64))


def test_the_chosen_ridge_is_the_best_of_the_path_by_a_literal_count():
    here = case()
    x, y, stream = here.train.x, here.train.y, Stream(5)
    choice = choose_ridge(identity_map, x, y, (1.0, 0.1, 0.01), stream=stream, validation=0.25, limits=(1e-2, 1.0))
    order = stream.permutation(300)
    outside, inside = order[:75], order[75:]
    phi = x[inside].to(F64)
    centred = phi - phi.mean(0)
    spread = float((centred**2).sum() / len(phi))
    correct = []
    for ridge in (1.0, 0.1, 0.01):
        solution = solve_hinge(bk.kernels.DenseFeatures(phi), y[inside], ridge * spread, tolerance=1e-6)
        hits = sum(
            float(label) * (float(row.to(F64) @ solution.weights) + solution.intercept) > 0
            for row, label in zip(x[outside], y[outside], strict=True)
        )
        correct.append(hits / 75)
    assert [trial.validation_accuracy for trial in choice.path] == pytest.approx(correct, abs=1.01 / 75)
    assert choice.validation_accuracy == max(trial.validation_accuracy for trial in choice.path)
    ties = [trial.ridge for trial in choice.path if trial.validation_accuracy == choice.validation_accuracy]
    assert choice.ridge == max(ties)
    assert choice.iterations == choice.solution.iterations + sum(trial.solution.iterations for trial in choice.path)


def unequal(n=300):
    """Noisy labels of unequal frequency in 60 dimensions: strong ridges say the majority, weak ones learn the noise."""
    x = Stream(7).normal(n, 60, dtype=F64)
    score = 2 * x[:, 0] + 2 * x[:, 1] + Stream(8).normal(n, dtype=F64)
    return x, torch.where(score > 1.5, 1.0, -1.0)


def test_the_grid_grows_downwards_past_the_constant_until_the_best_is_inside():
    x, y = unequal()
    choice = choose_ridge(identity_map, x, y, (10.0, 1.0), stream=Stream(1), tolerance=1e-2)
    assert [trial.ridge for trial in choice.path] == pytest.approx([10.0, 1.0, 0.1, 0.01, 0.001, 0.0001])
    held_out = y[Stream(1).permutation(300)[:60]]
    constant = float((held_out < 0).double().mean())
    assert [trial.validation_accuracy for trial in choice.path[:2]] == [constant, constant]
    assert choice.ridge == pytest.approx(0.001)
    assert choice.validation_accuracy > constant
    assert not choice.on_edge


def test_what_only_equals_the_constant_ends_no_search():
    y = torch.tensor([1.0, -1.0])
    solution = solve_hinge(identity_map(y[:, None]), y, 1.0)
    trials = {ridge: RidgeTrial(ridge, right, solution) for ridge, right in ((1.0, 0.6), (0.1, 0.6), (0.01, 0.5))}
    assert _next_ridge(trials, constant=0.6, limits=(1e-4, 10.0)) == pytest.approx(0.001)
    assert _next_ridge(trials, constant=0.55, limits=(1e-4, 10.0)) == pytest.approx(10.0)
    assert _next_ridge(trials, constant=0.6, limits=(1e-2, 1.0)) is None
    inside = trials | {0.1: RidgeTrial(0.1, 0.7, solution)}
    assert _next_ridge(inside, constant=0.6, limits=(1e-4, 10.0)) is None


def test_limits_stop_the_grid_and_are_reported():
    x, y = unequal()
    choice = choose_ridge(identity_map, x, y, (0.1, 0.01), stream=Stream(1), limits=(1e-3, 0.1), tolerance=1e-2)
    assert [trial.ridge for trial in choice.path] == pytest.approx([0.1, 0.01, 0.001])
    assert choice.ridge == pytest.approx(0.001)
    assert choice.on_edge


def test_scale_and_offset_of_features_do_not_matter():
    here = case()
    x, y = here.train.x.to(F64), here.train.y
    plain = choose_ridge(identity_map, x, y, stream=Stream(0))
    hidden = choose_ridge(lambda x: bk.kernels.DenseFeatures(0.5 + 1e-7 * x), x, y, stream=Stream(0))
    assert plain.ridge == pytest.approx(hidden.ridge)
    f = x @ plain.weights + plain.intercept
    torch.testing.assert_close(f, (0.5 + 1e-7 * x) @ hidden.weights + hidden.intercept, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("source", [bk.kernels.InputFeatures(), NetworkFeatures(False), NetworkFeatures(True)])
def test_learner_reports_its_scalars(source):
    learner = bk.kernels.FixedFeatureClassifier(source, ridges=(1, 0.1, 0.01), tolerance=1e-3)
    outcome = learner.fit(case(), quiet)
    assert outcome.status == "finished"
    s = outcome.scalars
    assert 0.7 < s["test_accuracy"] < 0.95
    assert 0 <= s["duality_gap"] <= 1e-3
    assert s["converged"] == 1
    assert s["iterations"] >= 1
    assert outcome.arrays["path_held_out_accuracy"].max() == s["held_out_accuracy"]
    assert s["ridge"] in outcome.arrays["path_ridge"]
    assert set(bk.kernels.ConstantClassifier().fit(case(), quiet).scalars) == {"train_accuracy", "test_accuracy"}
    assert outcome.scalars == learner.fit(case(), quiet).scalars


def test_accuracies_are_counted_literally():
    here = case()
    outcome = bk.kernels.FixedFeatureClassifier(
        bk.kernels.InputFeatures(), ridges=(0.05,), smallest=0.05, largest=0.05
    ).fit(here, quiet)
    x, y = here.train.x.to(F64), here.train.y
    spread = float((x - x.mean(0)).square().sum() / len(x))
    solution = solve_hinge(bk.kernels.DenseFeatures(x), y, 0.05 * spread, tolerance=1e-6)
    for name, part in (("train_accuracy", here.train), ("test_accuracy", here.test)):
        hits = sum(
            float(label) * (float(row.to(F64) @ solution.weights) + solution.intercept) > 0
            for row, label in zip(part.x, part.y, strict=True)
        )
        assert outcome.scalars[name] == pytest.approx(hits / len(part), abs=2.01 / len(part))


def test_constant_classifier_says_the_majority():
    x = torch.zeros(5, 10)
    train, test = Sample(x, torch.tensor([-1.0, -1, -1, 1, 1])), Sample(x, torch.tensor([1.0, 1, 1, 1, -1]))
    outcome = bk.kernels.ConstantClassifier().fit(Case(Plane(), train, test, Stream(0)), quiet)
    assert outcome.scalars["train_accuracy"] == 0.6
    assert outcome.scalars["test_accuracy"] == 0.2
