"""The two-step kernel method, against literal refits and on targets it must and must not learn."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from beyondkernels.core import Case, InputError, Sample, Stream, build, describe, digest
from beyondkernels.kernels import Gaussian, KernelRidge, PolynomialKernel, TwoStepRidge
from beyondkernels.papers.resnet.problems import CompositeParity, LinearThenPolynomial
from fitting import Sized, case_of, quiet
from refusals import refused

WEIGHTS, RIDGES = (0.0, 0.1, 2.0), (1.0, 0.1, 0.01)
SMALL = TwoStepRidge(Gaussian(2.0), PolynomialKernel(2), WEIGHTS, RIDGES, folds=5)
PARITY = CompositeParity(dim=12, outputs=4, alpha=0.3)


@dataclass(frozen=True)
class Noise(Sized):
    """Labels that have nothing to do with the inputs."""

    in_dim = 3

    def sample(self, n: int, stream: Stream) -> Sample:
        signs = stream.child("x").bernoulli(0.5, n, 3).float() * 2 - 1
        return Sample(signs, stream.child("y").normal(n))


def case(problem, n, seed=0, test=50) -> Case:
    return case_of(problem, n, test, seed)


def solve(gram, y, ridge):
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), y)


def left_out(gram, y, ridge, groups):
    """Predictions of each group by a fit to all others."""
    f = np.zeros_like(y)
    for group in groups:
        rest = np.setdiff1d(np.arange(len(y)), group)
        f[group] = gram[np.ix_(group, rest)] @ solve(gram[np.ix_(rest, rest)], y[rest], ridge)
    return f


def error(difference):
    return (difference**2).sum(1).mean()


def literal(learner, x, y, x_test, y_test, folds):
    """Both steps by elimination and refits; per weight and ridge: test errors, leave-one-out errors, train errors."""
    gram, block = learner.first(x).numpy(), learner.first(x_test, x).numpy()
    scale, alone = np.trace(gram) / len(x), [[i] for i in range(len(x))]
    loo = [error(left_out(gram, y, scale * ridge, alone) - y) for ridge in learner.ridges]
    ridge = scale * learner.ridges[int(np.argmin(loo))]
    base, base_test = left_out(gram, y, ridge, folds), block @ solve(gram, y, ridge)
    u, v = torch.tensor(base), torch.tensor(base_test)
    second, second_block = learner.second(u).numpy(), learner.second(v, u).numpy()
    found = {"test": [], "loo": [], "train": [], "ridge": []}
    for c in learner.weights:
        factor = c * np.trace(gram) / np.trace(second)
        both, both_block = gram + factor * second, block + factor * second_block
        for relative in learner.ridges:
            this = relative * np.trace(both) / len(x)
            alpha = solve(both, y, this)
            found["test"].append(error(both_block @ alpha - y_test))
            found["loo"].append(error(left_out(both, y, this, alone) - y))
            found["train"].append(error(both @ alpha - y))
            found["ridge"].append(this)
    return {name: np.array(values) for name, values in found.items()}, ridge, base, base_test


def groups(stream, name, n, folds):
    if folds == 0:
        return [[i] for i in range(n)]
    return np.array_split(stream.child(name).permutation(n).numpy(), folds)


@pytest.mark.parametrize(("choose", "folds"), [("validation", 5), ("leave_one_out", 5), ("validation", 0)])
def test_both_steps_are_the_literal_ones(choose, folds):
    here, learner = case(LinearThenPolynomial(4, 0.5, 2, 0.7, beta=2.0), 40), replace(SMALL, choose=choose, folds=folds)
    outcome = learner.fit(here, quiet)
    s, path = outcome.scalars, outcome.arrays
    x, y, x_test, y_test = here.train.x, here.train.y.double().numpy(), here.test.x, here.test.y.double().numpy()
    expected, ridge, base, base_test = literal(learner, x, y, x_test, y_test, groups(here.stream, "folds", 40, folds))
    if choose == "validation":
        order = here.stream.child("validation").permutation(40)
        inside, outside = order[8:].sort().values, order[:8].sort().values
        parts = groups(here.stream, "validation folds", 32, folds)
        errors = literal(learner, x[inside], y[inside], x[outside], y[outside], parts)[0]["test"]
    else:
        errors = expected["loo"]
    at = int(np.argmin(errors))
    np.testing.assert_allclose(path["path_choice_loss"], errors, rtol=1e-8)
    np.testing.assert_allclose(path["path_test_loss"], expected["test"], rtol=1e-8)
    np.testing.assert_allclose(path["path_train_loss"], expected["train"], rtol=1e-8)
    np.testing.assert_allclose(path["path_ridge"], expected["ridge"], rtol=1e-10)
    np.testing.assert_allclose(path["path_weight"], np.repeat(WEIGHTS, 3))
    signal, signal_test = (2.0 * part.hidden["base"].double().numpy() for part in (here.train, here.test))
    assert s == pytest.approx(
        {
            "train_loss": expected["train"][at],
            "test_loss": expected["test"][at],
            "test_loss_best": expected["test"].min(),
            "choice_loss": errors[at],
            "leave_one_out_loss": expected["loo"][at],
            "first_loss": error(base_test - y_test),
            "left_out_loss": error(base - y),
            "base_loss": error(base_test - signal_test),
            "left_out_base_loss": error(base - signal),
            "weight": WEIGHTS[at // 3],
            "ridge": expected["ridge"][at],
            "first_ridge": ridge,
            "weight_on_edge": float(at // 3 != 1),
            "ridge_on_edge": float(at % 3 != 1),
        },
        rel=1e-8,
    )
    assert s["test_loss_best"] < s["test_loss"] or at == int(np.argmin(expected["test"]))


def test_weight_zero_is_the_first_kernel_alone():
    here = case(LinearThenPolynomial(4, 0.5, 2, 0.7), 60)
    two = replace(SMALL, weights=(0.0,), choose="leave_one_out").fit(here, quiet)
    ridges = tuple(ridge * SMALL.first.diagonal(here.train.x).mean().item() for ridge in RIDGES)
    one = KernelRidge(SMALL.first, ridges, smallest=1.0, largest=1.0).fit(here, quiet)
    assert two.scalars["test_loss"] == pytest.approx(one.scalars["test_loss"], rel=1e-9)
    assert two.scalars["first_loss"] == pytest.approx(one.scalars["test_loss"], rel=1e-9)


def test_it_learns_the_composite_part_where_one_kernel_does_not():
    here = case(PARITY, 400, test=1000)
    floor, first = PARITY.base_only_risk, PolynomialKernel(2, scale=1 / 12)
    two = TwoStepRidge(first, PolynomialKernel(4), weights=(0.01, 1.0)).fit(here, quiet).scalars
    assert two["test_loss"] < floor / 100
    # eight signs multiplied are beyond any kernel at this size, also one that has polynomials of that degree
    for kernel in (first, PolynomialKernel(8, scale=1 / 12)):
        assert KernelRidge(kernel).fit(here, quiet).arrays["path_test_loss"].min() > floor
    assert two["first_loss"] > floor > two["base_loss"] > 0


def test_leave_one_out_predictions_betray_the_label_and_folds_hide_it():
    """On pure noise nothing can be better than the labels' variance, unless the second step has seen labels."""
    here = case(Noise(), 200, test=500)
    plain = PolynomialKernel(1)
    learner = TwoStepRidge(plain, plain, (1.0,), (1e-8,), choose="leave_one_out")
    betrayed, hidden = (replace(learner, folds=folds).fit(here, quiet).scalars for folds in (0, 2))
    variance = here.train.y.var().item()
    assert betrayed["leave_one_out_loss"] < 0.01 * variance  # a function of x and of F'(x_i) gives y_i back
    assert betrayed["test_loss"] > 0.9
    assert hidden["leave_one_out_loss"] > 0.95 * variance


def test_same_run_same_numbers_and_identity():
    here = case(PARITY, 60)
    one, two = (SMALL.fit(here, quiet) for _ in range(2))
    assert one.scalars == two.scalars
    again = build(describe(SMALL))
    assert again == SMALL
    assert digest(replace(SMALL, memory=2**40)) == digest(SMALL)
    assert digest(replace(SMALL, weights=WEIGHTS[::-1], ridges=RIDGES[::-1])) == digest(SMALL)
    assert digest(replace(SMALL, folds=4)) != digest(SMALL)


def test_a_problem_without_a_base_has_no_base_error():
    scalars = SMALL.fit(case(Noise(), 40), quiet).scalars
    assert "base_loss" not in scalars
    assert scalars["left_out_loss"] > 0


def test_samples_that_do_not_fit():
    here = case(PARITY, 40)
    refused("folds must not exceed the 40 training points, got 41", lambda: replace(SMALL, folds=41).fit(here, quiet))
    refused(r"one for each of 35 folds, got 0\.2 of 40", lambda: replace(SMALL, folds=35).fit(here, quiet))
    with pytest.raises(
        InputError, match=r"memory must be at least \d+ bytes .* 40 points, got 50000; \d+ points"
    ) as said:
        replace(SMALL, memory=50_000).fit(here, quiet)
    needed, fits = _numbers(said.value)
    replace(SMALL, memory=needed).fit(here, quiet)
    replace(SMALL, memory=50_000).fit(case(PARITY, fits), quiet)
    with pytest.raises(InputError):
        replace(SMALL, memory=50_000).fit(case(PARITY, fits + 1), quiet)


def _numbers(sentence: InputError) -> tuple[int, int]:
    words = str(sentence).replace(";", "").split()
    return int(words[words.index("least") + 1]), int(words[-4])
