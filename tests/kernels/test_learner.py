"""Kernel ridge regression as a learner, against literal fits."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Case, Sample, Stream, digest
from beyondkernels.kernels import Gaussian, KernelRidge, PolynomialKernel
from fitting import Sized, case_of, quiet
from refusals import refused, told

F64 = torch.float64


@dataclass(frozen=True)
class Waves(Sized):
    """Sines of the input with noise, or their signs."""

    outputs: int = 2
    noise: float = 0.3
    signs: bool = False

    in_dim = 3

    @property
    def out_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.outputs

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.child("x").normal(n, 3)
        y = torch.sin(2 * x[:, : self.outputs]) + self.noise * stream.child("noise").normal(n, self.outputs)
        return Sample(x, torch.where(y[:, 0] > 0, 1.0, -1.0) if self.signs else y)


def case(n=60, problem=None, seed=0) -> Case:
    return case_of(problem or Waves(), n, 70, seed)


def literal(kernel, here, ridge):
    """Predictions at train and test points by elimination, and leave-one-out residuals by leaving one out."""
    x, y = here.train.x, here.train.y.reshape(len(here.train), -1).to(F64).numpy()
    gram, block = kernel(x).numpy(), kernel(here.test.x, x).numpy()
    alpha = np.linalg.solve(gram + ridge * np.eye(len(x)), y)
    residuals = np.zeros_like(y)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        part = np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(len(x) - 1), y[rest])
        residuals[i] = y[i] - gram[i, rest] @ part
    return gram @ alpha, block @ alpha, residuals


def test_errors_are_summed_over_outputs_and_averaged_over_points():
    here, kernel, ridges = case(), Gaussian(2.0), (3.0, 0.3, 0.03)
    outcome = KernelRidge(kernel, ridges).fit(here, quiet)
    s = outcome.scalars
    every = [(literal(kernel, here, ridge)[2] ** 2).sum(1).mean() for ridge in ridges]
    np.testing.assert_allclose(outcome.arrays["path_ridge"], ridges)
    np.testing.assert_allclose(outcome.arrays["path_choice_loss"], every, rtol=1e-9)
    assert int(np.argmin(every)) == 1
    assert s["ridge"] == 0.3
    assert s["ridge_on_edge"] == 0
    train, test, _ = literal(kernel, here, s["ridge"])
    assert s["leave_one_out_loss"] == pytest.approx(min(every))
    assert s["train_loss"] == pytest.approx(np.mean(((train - here.train.y.numpy()) ** 2).sum(1)))
    assert s["test_loss"] == pytest.approx(np.mean(((test - here.test.y.numpy()) ** 2).sum(1)))
    assert s["condition"] == pytest.approx(np.linalg.cond(kernel(here.train.x).numpy() + 0.3 * np.eye(60)), rel=1e-6)
    assert "test_accuracy" not in s
    assert s["test_loss"] < 0.7 * here.test.y.square().sum(1).mean().item()


def test_validation_chooses_on_held_out_points_and_fits_all():
    here, kernel, ridges = case(), Gaussian(2.0), (30.0, 3.0, 0.3, 0.03, 3e-3)
    outcome = KernelRidge(kernel, ridges, choose="validation", validation=0.25).fit(here, quiet)
    s = outcome.scalars
    order = here.stream.child("validation").permutation(60)
    outside, inside = order[:15], order[15:]
    x, y = here.train.x, here.train.y.to(F64).numpy()
    errors = []
    for ridge in ridges:
        alpha = np.linalg.solve(kernel(x[inside]).numpy() + ridge * np.eye(45), y[inside])
        errors.append(((kernel(x[outside], x[inside]).numpy() @ alpha - y[outside]) ** 2).sum(1).mean())
    np.testing.assert_allclose(outcome.arrays["path_choice_loss"], errors, rtol=1e-9)
    assert s["ridge"] == ridges[int(np.argmin(errors))]
    assert s["held_out_loss"] == pytest.approx(min(errors))
    _, test, left_out = literal(kernel, here, s["ridge"])
    assert s["test_loss"] == pytest.approx(np.mean(((test - here.test.y.numpy()) ** 2).sum(1)))
    assert s["leave_one_out_loss"] == pytest.approx((left_out**2).sum(1).mean())


@pytest.mark.parametrize("choose", ["leave_one_out", "validation"])
def test_signs_have_accuracies(choose):
    here, kernel = case(problem=Waves(1, signs=True)), Gaussian(2.0)
    s = KernelRidge(kernel, choose=choose).fit(here, quiet).scalars
    train, test, _ = literal(kernel, here, s["ridge"])
    assert s["train_accuracy"] == np.mean(train[:, 0] * here.train.y.numpy() > 0)
    assert s["test_accuracy"] == np.mean(test[:, 0] * here.test.y.numpy() > 0)
    assert 0.7 < s["test_accuracy"] < s["train_accuracy"]


def test_the_grid_grows_towards_the_best():
    here, kernel = case(), Gaussian(2.0)
    inside = KernelRidge(kernel, (10.0, 1.0, 0.1, 0.01)).fit(here, quiet)
    down = KernelRidge(kernel, (100.0, 10.0)).fit(here, quiet)
    up = KernelRidge(kernel, (1e-3, 1e-2)).fit(here, quiet)
    for outcome in (inside, down, up):
        assert outcome.scalars["ridge"] == pytest.approx(inside.scalars["ridge"])
        assert outcome.scalars["ridge_on_edge"] == 0
        assert outcome.scalars["test_loss"] == pytest.approx(inside.scalars["test_loss"], rel=1e-6)
    np.testing.assert_allclose(down.arrays["path_ridge"], [100, 10, 1, 0.1, 0.01][: len(down.arrays["path_ridge"])])
    uneven = KernelRidge(kernel, (1000.0, 900.0, 90.0)).fit(here, quiet)  # each edge has a step of its own
    np.testing.assert_allclose(uneven.arrays["path_ridge"][:5], [1000, 900, 90, 9, 0.9])
    assert KernelRidge(kernel, (1.0, 0.0), smallest=1e-3).fit(here, quiet).scalars["ridge"] > 0


@pytest.mark.parametrize("choose", ["leave_one_out", "validation"])
def test_a_single_ridge_is_taken_as_it_is(choose):
    here, kernel = case(), Gaussian(2.0)
    outcome = KernelRidge(kernel, (1000.0,), choose).fit(here, quiet)
    assert outcome.arrays["path_ridge"].tolist() == [1000.0]
    assert outcome.scalars["ridge"] == 1000.0
    assert outcome.scalars["ridge_on_edge"] == 0
    _, test, _ = literal(kernel, here, 1000.0)
    assert outcome.scalars["test_loss"] == pytest.approx(np.mean(((test - here.test.y.numpy()) ** 2).sum(1)))


@pytest.mark.parametrize("signs", [False, True])
def test_the_iterative_solver_agrees_with_the_exact_one(signs):
    problem = Waves(1, signs=True) if signs else Waves()
    here, kernel, ridges = case(n=250, problem=problem), 2 * Gaussian(2.0), (0.03, 30.0, 0.3)
    exact = KernelRidge(kernel, ridges, "validation", smallest=10, largest=10)
    rough = replace(exact, solver="iterative")
    exact, rough, near = (learner.fit(here, quiet) for learner in (exact, rough, replace(rough, tolerance=1e-10)))
    e, s = exact.scalars, near.scalars
    assert s["converged"] == 1
    assert s["iterations"] > rough.scalars["iterations"] > 0
    assert s["ridge"] == e["ridge"] == 0.3
    assert s["ridge_on_edge"] == e["ridge_on_edge"] == 0
    shared = ["train_loss", "test_loss", "held_out_loss"] + signs * ["train_accuracy", "test_accuracy"]
    for name in shared:
        assert s[name] == pytest.approx(e[name], rel=1e-7)
    assert set(e) - set(s) == {"leave_one_out_loss", "condition", "degrees_of_freedom"}
    for name in ("path_ridge", "path_choice_loss", "path_train_loss"):
        np.testing.assert_allclose(near.arrays[name], exact.arrays[name], rtol=1e-7)
    assert near.arrays["path_converged"].tolist() == [1, 1, 1]
    assert near.arrays["path_iterations"].min() > 0
    # what the rough one states holds: the root mean square of its distance from the exact fit
    train, _, _ = literal(kernel, here, 0.3)
    y = here.train.y.reshape(250, -1).to(F64).numpy()
    off = abs(math.sqrt(rough.scalars["train_loss"]) - math.sqrt(np.mean(((train - y) ** 2).sum(1))))
    assert 0 < off <= rough.scalars["training_error_bound"] < 2e-3
    assert s["training_error_bound"] < 1e-8


def test_the_iterative_grid_grows_where_it_is_asked_to():
    """Both ways, as far as asked and not beyond the limits, and it finds what the exact solver finds."""
    here, kernel = case(n=80), 3 * Gaussian(2.0)
    start = KernelRidge(kernel, (1e3, 1e2), "validation", solver="iterative", growth=9, tolerance=1e-8)
    down = start.fit(here, quiet)
    ridges, errors = down.arrays["path_ridge"], down.arrays["path_choice_loss"]
    np.testing.assert_allclose(ridges, 1e3 / 10.0 ** np.arange(len(ridges)))
    assert down.scalars["ridge_on_edge"] == 0 and down.scalars["ridge"] == ridges[-2] == ridges[errors.argmin()]
    exact = KernelRidge(kernel, tuple(ridges), "validation", smallest=10, largest=10).fit(here, quiet)
    assert down.scalars["ridge"] == exact.scalars["ridge"]
    assert down.scalars["test_loss"] == pytest.approx(exact.scalars["test_loss"], rel=1e-5)
    up = replace(start, ridges=(1e-4, 1e-5)).fit(here, quiet)
    assert up.scalars["ridge_on_edge"] == 0 and up.scalars["ridge"] == pytest.approx(up.arrays["path_ridge"][1])
    assert len(replace(start, growth=1).fit(here, quiet).arrays["path_ridge"]) == 3
    assert len(replace(start, smallest=3.0).fit(here, quiet).arrays["path_ridge"]) == 3  # down to 3 · 3
    never = replace(start, tolerance=1e-15, max_iterations=1).fit(here, quiet)
    converged = never.arrays["path_converged"]
    assert 2 <= len(converged) < len(ridges) and converged[:-1].all() and not converged[-1]  # none after one that fails


def test_memory_decides_whether_there_is_an_answer_and_is_no_part_of_the_identity():
    here, kernel = case(n=100), Gaussian(2.0)
    choices: dict[Literal["leave_one_out", "validation"], int] = {"leave_one_out": 5, "validation": 6}
    for choose, matrices in choices.items():
        needed = 8 * matrices * 100**2
        sentence = rf"memory must be at least {needed} bytes .* 100 points, got {needed - 1}; .*solver='iterative'\)"
        refused(sentence, KernelRidge(kernel, choose=choose, memory=needed - 1).fit, here, quiet)
        enough = KernelRidge(kernel, choose=choose, memory=needed)
        assert enough.fit(here, quiet).scalars == KernelRidge(kernel, choose=choose).fit(here, quiet).scalars
        assert digest(enough) == digest(KernelRidge(kernel, choose=choose))
    iterative = KernelRidge(kernel, choose="validation", solver="iterative", memory=10**4)
    least = told("memory must be at least", iterative.fit, here, quiet)
    assert digest(iterative) == digest(replace(iterative, memory=least))
    assert digest(iterative) != digest(replace(iterative, solver="exact"))


def test_the_iterative_solver_keeps_the_matrix_where_it_fits(monkeypatch):
    """With little memory every iteration computes it anew. The numbers are the same up to rounding."""
    here, kernel, computed = case(n=300), Gaussian(2.0), []
    block = Gaussian.block
    monkeypatch.setattr(Gaussian, "block", lambda self, a, b: computed.append(len(a) * len(b)) or block(self, a, b))
    iterative = KernelRidge(kernel, choose="validation", solver="iterative")
    least = told("memory must be at least", replace(iterative, memory=10**4).fit, here, quiet)
    computed.clear()
    anew = replace(iterative, memory=least + 3 * 8 * 300**2 - 1).fit(here, quiet)
    often = sum(computed)
    computed.clear()
    kept = replace(iterative, memory=least + 3 * 8 * 300**2).fit(here, quiet)
    assert sum(computed) < often / 5
    assert kept.scalars == pytest.approx(anew.scalars, rel=1e-9, abs=1e-12)
    for name, array in anew.arrays.items():
        np.testing.assert_allclose(kept.arrays[name], array, rtol=1e-9)
    x = here.test.x
    assert kept.predictor is not None and anew.predictor is not None
    torch.testing.assert_close(kept.predictor(x), anew.predictor(x), rtol=1e-9, atol=1e-12)


def test_limits_end_the_growth_and_are_reported():
    clean = case(problem=Waves(1, noise=0.0), n=40)  # without noise the smallest ridge is best
    outcome = KernelRidge(Gaussian(10.0), (1.0, 0.1), smallest=1e-3).fit(clean, quiet)
    np.testing.assert_allclose(outcome.arrays["path_ridge"], [1, 0.1, 0.01, 1e-3])
    assert outcome.scalars["ridge_on_edge"] == 1
    noise = case(problem=Waves(1, noise=30.0), n=40)
    outcome = KernelRidge(Gaussian(1.0), (1.0, 0.1), largest=10).fit(noise, quiet)
    np.testing.assert_allclose(outcome.arrays["path_ridge"], [10, 1, 0.1])
    assert outcome.scalars["ridge_on_edge"] == 1


def test_the_grid_does_not_grow_below_rounding():
    linear = Waves(1, noise=0.0)
    here = case(problem=linear)
    y = here.train.x[:, :1].to(F64)
    here = Case(linear, Sample(here.train.x, y), Sample(here.test.x, here.test.x[:, :1].to(F64)), here.stream)
    outcome = KernelRidge(PolynomialKernel(1, 0.0), (1.0, 0.1), smallest=1e-30).fit(here, quiet)
    top = outcome.arrays["eigenvalues"][-1]
    assert outcome.arrays["path_ridge"][-1] >= 60 * 2.0**-52 * top * (1 - 1e-9)
    assert outcome.scalars["test_loss"] < 1e-10


def test_bad_samples_are_named():
    here = case(n=2)
    refused(r"points on both sides, got 0\.2 of 2", KernelRidge(Gaussian(1.0), choose="validation").fit, here, quiet)
    wide = Case(here.problem, here.train, Sample(here.test.x, torch.ones(70, 3)), here.stream)
    refused("test labels must have 2 outputs like y, got 3", lambda: KernelRidge(Gaussian(1.0)).fit(wide, quiet))


@pytest.mark.parametrize("choose", ["leave_one_out", "validation"])
def test_the_path_at_the_test_points_belongs_to_fits_to_all_points(choose):
    here, kernel = case(), Gaussian(bandwidth=3.0)
    outcome = KernelRidge(kernel, (1.0, 0.1, 0.01), choose).fit(here, quiet)
    for ridge, error in zip(outcome.arrays["path_ridge"], outcome.arrays["path_test_loss"], strict=True):
        f = literal(kernel, here, ridge)[1]
        assert error == pytest.approx(((f - here.test.y.numpy()) ** 2).sum(1).mean(), rel=1e-9)


@pytest.mark.parametrize("solver", ["exact", "iterative"])
def test_centred_labels_are_those_of_a_free_shift(solver):
    """The same as subtracting the mean by hand; without it a kernel that falls off cannot reach labels far from 0."""
    x = Stream(0).child("x").normal(60, 2)
    y = 100 + x[:, :1]
    kernel: dict[str, Any] = {"choose": "validation", "solver": solver}
    data = ((x[:40], y[:40]), (x[40:], y[40:]))
    plain, centred = (
        bk.fit(KernelRidge(Gaussian(1.0), centred=way, **kernel), data, progress=False) for way in (False, True)
    )
    mean = y[:40].mean()
    by_hand = bk.fit(
        KernelRidge(Gaussian(1.0), **kernel), ((x[:40], y[:40] - mean), (x[40:], y[40:] - mean)), progress=False
    )
    assert centred.test_loss == pytest.approx(by_hand.test_loss, rel=1e-3)
    assert centred.test_loss < 0.1 * plain.test_loss
    assert centred.predict(x[40:]) == pytest.approx(by_hand.predict(x[40:]) + float(mean), rel=1e-4)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_ridge_of_classes_is_that_of_the_best_accuracy_on_points_left_out(outputs):
    """Against a loop that leaves each point out and fits the others, whose ridge the squared error would not choose."""
    kernel, ridges, n = Gaussian(0.5), tuple(10.0**power for power in range(2, -6, -1)), 60
    stream = Stream(100 + outputs)
    x, noise = stream.child("x").normal(n + 40, 3), stream.child("noise").normal(n + 40, 3)
    scores = torch.sin(2 * x) + 0.8 * noise
    y = (
        torch.where(scores[:, :1] > 0.4, 1.0, -1.0)
        if outputs == 1
        else (scores == scores.amax(1, keepdim=True)).float()
    )
    here = replace(case(problem=Waves(outputs)), train=Sample(x[:n], y[:n]), test=Sample(x[n:], y[n:]))
    gram, labels = kernel(here.train.x).numpy(), here.train.y.to(F64).numpy()
    centred, right, errors = labels - labels.mean(0), [], []
    for ridge in ridges:
        out = np.zeros_like(labels)
        for i in range(n):
            rest = np.arange(n) != i
            alpha = np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(n - 1), centred[rest])
            out[i] = gram[i, rest] @ alpha + labels.mean(0)
        hit = out[:, 0] * labels[:, 0] > 0 if outputs == 1 else out.argmax(1) == labels.argmax(1)
        right.append(hit.mean())
        errors.append(((out - labels) ** 2).sum(1).mean())
    best = max(range(len(ridges)), key=lambda i: (right[i], -errors[i]))
    found = KernelRidge(kernel, ridges, centred=True, score="accuracy").fit(here, quiet)
    np.testing.assert_allclose(found.arrays["path_choice_accuracy"], right)
    assert found.scalars["ridge"] == ridges[best]
    assert right[best] > right[int(np.argmin(errors))]  # the squared error chooses a worse one
    assert digest(KernelRidge(kernel, score="squared_error")) == digest(KernelRidge(kernel))


def test_held_out_points_choose_by_accuracy_as_well():
    """Exact and iterative, of the same held-out points: the ridge is the most accurate one that was tried."""
    here, ridges = case(200, Waves(1, signs=True)), (100.0, 10.0, 1.0, 0.1, 0.01)
    paths = []
    for solver in ("exact", "iterative"):
        learner = KernelRidge(Gaussian(2.0), ridges, "validation", solver=solver, centred=True, score="accuracy")
        found = learner.fit(here, quiet)
        right, errors = found.arrays["path_choice_accuracy"], found.arrays["path_choice_loss"]
        best = max(range(len(right)), key=lambda i: (right[i], -errors[i]))
        assert found.scalars["ridge"] == found.arrays["path_ridge"][best]
        paths.append(dict(zip(found.arrays["path_ridge"], right, strict=True)))
    assert [paths[0][ridge] for ridge in ridges] == pytest.approx([paths[1][ridge] for ridge in ridges], abs=0.03)
