"""Kernels tuned on their training points, against literal loops and scikit-learn on the raw points."""

from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import beyondkernels as bk
from beyondkernels.core import Case, Problem, Sample, Stream
from beyondkernels.kernels import Gaussian, KernelRidge, Laplace, PolynomialKernel, TunedKernel
from beyondkernels.kernels.solvers import support_vectors
from beyondkernels.kernels.solvers.logistic import logistic_machines
from beyondkernels.kernels.solvers.repeats import groups_of_copies
from beyondkernels.kernels.solvers.support_vectors import choose_penalty, folds_of
from refusals import refused

torch.set_num_threads(1)


def case(problem: Problem, n: int, test: int = 500, seed: int = 0) -> Case:
    stream = Stream(seed)
    return Case(problem, problem.sample(n, stream.child("train")), problem.sample(test, stream.child("test")), stream)


def data(x: torch.Tensor, y: torch.Tensor, train: int) -> Case:
    """A case of given points: the first are for training."""
    problem: Any = bk.bfc.QuadraticTarget(x.shape[1])
    return Case(problem, Sample(x[:train], y[:train]), Sample(x[train:], y[train:]), Stream(0))


def three_classes(n: int = 150) -> Case:
    """Noisy classes by the angle of a point, with inputs of very different sizes and one that is constant."""
    stream = Stream(7)
    x = stream.child("x").normal(n + 100, 3)
    angle = torch.atan2(x[:, 0] + 0.3 * stream.child("noise").normal(n + 100), x[:, 1])
    classes = torch.bucketize(angle, torch.tensor([-1.0, 1.0]))
    x = torch.cat([x * torch.tensor([1.0, 10.0, 0.1]), torch.ones(n + 100, 1)], 1)
    return data(x, torch.nn.functional.one_hot(classes, 3).float(), n)


def score(learner: TunedKernel | KernelRidge, here: Case) -> dict[str, float]:
    return dict(learner.fit(here, lambda _: None).scalars)


def test_hinge_loss_finds_the_linear_classifier_that_squared_loss_misses():
    """The best linear classifier of a parity of three patterns is right with probability 7/8, least squares is not."""
    problem = bk.features.DictionaryParity(dim=20, patterns=20, relevant=3)
    here = case(problem, 800, 2000)
    squared = score(TunedKernel((PolynomialKernel(1),), ("squared",)), here)
    both = score(TunedKernel((PolynomialKernel(1),)), here)
    assert squared["test_accuracy"] < 0.8 < 0.84 < both["test_accuracy"] < 0.9
    assert both["hinge"] == 1 and both["hinge_accuracy"] > both["squared_accuracy"] == squared["squared_accuracy"]


def test_a_standardised_machine_is_that_of_a_library_on_raw_points():
    here = three_classes()
    raw, fresh = here.train.x.numpy(), here.test.x.numpy()
    classes, right = here.train.y.argmax(1).numpy(), here.test.y.argmax(1).numpy()
    outcome = TunedKernel((Gaussian(1.0),), ("hinge",), standardised=True).fit(here, lambda _: None)
    assert outcome.predictor is not None
    library = make_pipeline(StandardScaler(), SVC(C=outcome.scalars["penalty"])).fit(raw, classes)
    assert outcome.predictor(here.test.x).argmax(1).tolist() == library.predict(fresh).tolist()
    assert outcome.scalars["test_accuracy"] == pytest.approx((library.predict(fresh) == right).mean())
    assert outcome.scalars["train_accuracy"] == pytest.approx((library.predict(raw) == classes).mean())


@pytest.mark.parametrize(("classes", "features"), [(2, 6), (3, 6), (3, 200)])
def test_logistic_loss_is_that_of_a_library_on_explicit_features(classes: int, features: int):
    """Fewer and more features than points, given to the library as they are and to ours as a Gram matrix."""
    rng = np.random.default_rng(100)
    x, fresh = rng.normal(size=(80, features)), rng.normal(size=(2000, features))
    y = (x[:, :classes] + rng.normal(size=(80, classes))).argmax(1)
    ours = logistic_machines(x @ x.T, y)
    for penalty in (1.0, 100.0):  # in this order, because each fit starts at the one before
        library: Any = LogisticRegression(C=penalty / np.square(x).sum(1).mean(), tol=1e-10, max_iter=10_000).fit(x, y)
        assert (ours(penalty)(fresh @ x.T) == library.predict(fresh)).mean() >= 0.999
        assert len(set(library.predict(fresh))) == classes


def test_logistic_loss_is_chosen_where_cross_validation_says_so():
    """Two classes overlap, and the logarithm of their odds is linear in the points."""
    stream = Stream(100)
    x = stream.child("x").normal(700, 6)
    y = (stream.child("y").uniform(700) < torch.sigmoid(2 * x.sum(1) - 2)).float() * 2 - 1
    here, kernel = data(x, y[:, None], 200), (PolynomialKernel(1),)
    found, alone = score(TunedKernel(kernel), here), score(TunedKernel(kernel, ("logistic",)), here)
    accuracies = {loss: found[f"{loss}_accuracy"] for loss in ("squared", "hinge", "logistic")}
    assert max(accuracies, key=lambda loss: accuracies[loss]) == "logistic" and found["logistic"] == 1
    assert found["hinge"] == 0 and found["test_accuracy"] == alone["test_accuracy"]


def test_cross_validation_is_a_loop_over_folds():
    """On raw points: a library's machine without a Gram matrix, and ridge regression by elimination."""
    here, kernel = three_classes(), Gaussian(8.0)
    x, y, classes = here.train.x.numpy(), here.train.y.double().numpy(), here.train.y.argmax(1).numpy()
    found, folds = score(TunedKernel((kernel,), ("squared", "hinge")), here), folds_of(here.train.y.argmax(1).numpy())
    ridge = KernelRidge(kernel, centred=True, score="accuracy").fit(here, lambda _: None).scalars["ridge"]
    machine = TunedKernel((kernel,), ("hinge",)).fit(here, lambda _: None)
    right = {float(penalty): 0 for penalty in machine.arrays["path_penalty"]}
    squared, width = 0, cast("Any", 1 / 8.0)
    for fold in range(5):
        inside, outside = folds != fold, folds == fold
        for penalty in right:
            predicted = SVC(C=penalty, gamma=width).fit(x[inside], classes[inside]).predict(x[outside])
            right[penalty] += int((predicted == classes[outside]).sum())
        gram, mean = kernel(torch.tensor(x[inside])).numpy() + ridge * np.eye(inside.sum()), y[inside].mean(0)
        out = (
            kernel(torch.tensor(x[outside]), torch.tensor(x[inside])).numpy() @ np.linalg.inv(gram) @ (y[inside] - mean)
        )
        squared += int(((out + mean).argmax(1) == classes[outside]).sum())
    assert machine.arrays["path_penalty_accuracy"] == pytest.approx([count / 150 for count in right.values()])
    assert machine.scalars["penalty"] == min(right, key=lambda penalty: (-right[penalty], penalty))
    assert found["hinge_accuracy"] == max(right.values()) / 150
    assert found["squared_accuracy"] == pytest.approx(squared / 150)
    assert found["hinge"] == (max(right.values()) > squared)


def test_the_grid_of_penalties_grows_until_the_best_is_inside(monkeypatch):
    """A kernel whose constant part is large needs a penalty that is as large."""
    stream = Stream(3)
    x = stream.child("x").normal(100, 2).double()
    classes = (x[:, 0] + 0.2 * stream.child("noise").normal(100).double() > 0).long().numpy()
    gram = (3e3 + x @ x.T).numpy()
    found = choose_penalty(gram, classes, folds_of(classes))
    assert found.penalty > 100 and not found.on_edge
    assert list(found.tried) == pytest.approx([10.0**power for power in range(-1, len(found.tried) - 1)])
    monkeypatch.setattr(support_vectors, "LIMITS", (0.1, 100.0))
    held = choose_penalty(gram, classes, folds_of(classes))
    assert held.penalty == 100 and held.on_edge


def test_folds_share_classes_and_keep_copies_together():
    x = torch.arange(40.0)[:, None].repeat(2, 1)
    classes = np.tile(np.repeat([0, 1], [30, 10]), 2)
    folds = folds_of(classes, groups_of_copies(x))
    assert folds[:40].tolist() == folds[40:].tolist()
    for fold in range(5):
        assert np.bincount(classes[:40][folds[:40] == fold]).tolist() == [6, 2]
    refused("training points must differ", folds_of, np.array([0, 1]), torch.tensor([0, 0]))


@pytest.mark.parametrize("losses", [("squared",), ("hinge",), ("logistic",)])
def test_points_that_all_come_three_times_give_the_same_predictor(losses: Any):
    here, kernel = three_classes(60), Gaussian(8.0)
    thrice = data(
        torch.cat([here.train.x.repeat(3, 1), here.test.x]), torch.cat([here.train.y.repeat(3, 1), here.test.y]), 180
    )
    once, more = (TunedKernel((kernel,), losses).fit(each, lambda _: None) for each in (here, thrice))
    assert once.predictor is not None and more.predictor is not None
    assert more.predictor(here.test.x) == pytest.approx(once.predictor(here.test.x), rel=1e-5, abs=1e-7)
    for name in ("penalty", f"{losses[0]}_accuracy"):
        assert more.scalars.get(name) == once.scalars.get(name)


@pytest.mark.parametrize("points", [1000, 40])
def test_the_bandwidth_is_the_best_on_training_points(points):
    """Numbers, by leave-one-out errors written out as a loop; on a part of the points if there are more."""
    x = Stream(1).normal(120, 2)
    here = data(x, torch.sin(3 * x[:, :1]), 60)
    kernels = tuple(Laplace(length) for length in (1000.0, 0.01, 3.0))
    rows = torch.arange(60) if points > 60 else Stream(0).child("search").permutation(60)[:points].sort().values
    few = data(torch.cat([here.train.x[rows], here.test.x]), torch.cat([here.train.y[rows], here.test.y]), len(rows))
    least = []
    for kernel in kernels:
        ridge = KernelRidge(kernel, centred=True).fit(few, lambda _: None).scalars["ridge"]
        y, gram = few.train.y[:, 0].double() - few.train.y.double().mean(), kernel(few.train.x)
        missed = 0.0
        for i in range(len(y)):
            rest = [j for j in range(len(y)) if j != i]
            alpha = torch.linalg.solve(gram[rest][:, rest] + ridge * torch.eye(len(rest)).double(), y[rest])
            missed += float(y[i] - gram[i, rest] @ alpha) ** 2
        least.append(missed)
    found = score(TunedKernel(kernels, search_points=points), here)
    assert found["kernel"] == int(np.argmin(least))
    alone = KernelRidge(kernels[int(found["kernel"])], centred=True).fit(here, lambda _: None).scalars
    assert found["test_loss"] == pytest.approx(alone["test_loss"])


def test_the_iterative_solver_has_the_searched_bandwidth_and_squared_loss():
    here = three_classes()
    exact = score(TunedKernel((Gaussian(0.01), Gaussian(8.0)), ("squared",)), here)
    found = score(TunedKernel((Gaussian(0.01), Gaussian(8.0)), solver="iterative"), here)
    assert found["kernel"] == exact["kernel"] == 1 and found["hinge"] == 0
    assert found["converged"] == 1 and found["test_accuracy"] == pytest.approx(exact["test_accuracy"], abs=0.05)
    refused(
        "losses must hold 'squared' with the iterative", TunedKernel, (Gaussian(1.0),), ("hinge",), solver="iterative"
    )


@pytest.mark.parametrize("y", [torch.ones(30), torch.tensor([-1.0] + [1.0] * 29)])
def test_labels_of_one_class_are_no_obstacle(y):
    x = Stream(2).normal(30, 2)
    assert score(TunedKernel((Gaussian(1.0), Laplace(1.0))), data(x, y, 20))["test_accuracy"] == 1


def test_memory_is_honoured():
    refused(
        "memory must be at least 16000 bytes", score, TunedKernel((Gaussian(1.0),), memory=15_999), three_classes(20)
    )
