"""Kernel regressions in rounds, against Gram matrices and refits written out, and on targets of two layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from beyondkernels.core import Case, Problem, Sample, Stream, digest
from beyondkernels.kernels import SequentialKernels
from fitting import case_of, quiet
from refusals import refused

SMALL = SequentialKernels(2, features=(1, 2), ridges=(1.0, 1e-2, 1e-4))


@dataclass(frozen=True)
class TwoLayers(Problem):
    """S₂ = W(x² − 1), y = |S₂|² + α (S₂₁² + x₃)², inputs uniform with unit variance."""

    alpha: float = 0.1
    dim: int = 3
    outputs: int = 1

    @property
    def in_dim(self) -> int:
        return self.dim

    @property
    def out_dim(self) -> int:
        return self.outputs

    def features(self, x: torch.Tensor) -> torch.Tensor:
        W = torch.tensor([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0]], dtype=torch.float64)
        return (x[:, :3].square() - 1) @ W.T

    def sample(self, n: int, stream: Stream) -> Sample:
        x = (stream.child("x").uniform(n, self.dim, dtype=torch.float64) * 2 - 1) * 3**0.5
        S = self.features(x)
        y = S.square().sum(1) + self.alpha * (S[:, 0].square() + x[:, 2]).square()
        return Sample(x, y[:, None].expand(n, self.outputs))


def case(problem, n, test=200) -> Case:
    return case_of(problem, n, test)


def literal_round(z, y, ridge, *others):
    """Kernel ridge regression by its Gram matrix: predictions, and the quadratic form in standardised inputs."""
    mean, spread = z.mean(0), z.std(0)
    u, D = (z - mean) / spread, z.shape[1]
    kernel = lambda one: (1 + one @ u.T / D) ** 2  # noqa: E731
    gram = kernel(u)
    coefficients = np.linalg.solve(gram + ridge * np.trace(gram) / len(z) * np.eye(len(z)), y)[:, 0]
    form = np.einsum("n,ni,nj->ij", coefficients, u, u) / D**2
    linear = 2 * coefficients @ u / D
    found = [kernel((one - mean) / spread) @ coefficients for one in others]

    def features(one, count):
        values, vectors = np.linalg.eigh(form)
        top = np.argsort(-np.abs(values))[:count]
        parts = [
            np.sqrt(abs(values[i])) * ((one - mean) / spread @ vectors[:, i] + linear @ vectors[:, i] / (2 * values[i]))
            for i in top
        ]
        return np.stack(parts, 1)

    return found, features


def handed_on(features, z, count):
    S = features(z, count)
    products = [S[:, i] * S[:, j] for i in range(count) for j in range(i, count)]
    return np.concatenate([z, np.stack(products, 1)], 1)


def ground(x):
    return np.concatenate([x.numpy(), x.numpy() ** 2], 1)


def mean_square(predictions, y):
    return float(((predictions - y[:, 0]) ** 2).mean())


def test_both_rounds_are_the_literal_ones():
    here = case(TwoLayers(), 60)
    found = SMALL.fit(here, quiet)
    x, y = here.train.x, here.train.y.numpy()
    order = here.stream.child("validation").permutation(60)
    outside, inside = order[:12], order[12:]

    def chosen(options):
        """The least error at held-out points over numbers of features and ridges, and all of these errors."""
        errors = {}
        for given, (z, held) in options.items():
            for ridge in SMALL.ridges:
                (predictions,), _ = literal_round(z, y[inside], ridge, held)
                errors[given, ridge] = mean_square(predictions, y[outside])
        return min(errors, key=lambda key: errors[key]), errors

    first, errors1 = chosen({0: (ground(x[inside]), ground(x[outside]))})
    _, features = literal_round(ground(x[inside]), y[inside], first[1])
    options = {p: tuple(handed_on(features, ground(x[part]), p) for part in (inside, outside)) for p in (1, 2)}
    second, errors2 = chosen(options)
    np.testing.assert_allclose(found.arrays["path_choice_loss1"], [*errors1.values()], rtol=1e-7)
    np.testing.assert_allclose(found.arrays["path_choice_loss2"], [*errors2.values()], rtol=1e-7)

    z, test, y_test = ground(x), ground(here.test.x), here.test.y.numpy()
    (predictions1,), features = literal_round(z, y, first[1], test)
    z2, test2 = (handed_on(features, one, second[0]) for one in (z, test))
    (predictions2, fitted), _ = literal_round(z2, y, second[1], test2, z2)
    assert found.scalars == pytest.approx(
        {
            "train_loss": mean_square(fitted, y),
            "test_loss": mean_square(predictions2, y_test),
            "choice_loss": errors2[second],
            "round1_loss": mean_square(predictions1, y_test),
            "round1_ridge": first[1],
            "round1_features": second[0],
            "round2_loss": mean_square(predictions2, y_test),
            "round2_ridge": second[1],
        },
        rel=1e-6,
    )
    assert found.predictor is not None
    np.testing.assert_allclose(found.predictor(here.test.x)[:, 0], predictions2, rtol=1e-6, atol=1e-9)
    hidden = found.predictor.hidden(here.test.x)  # pyright: ignore[reportFunctionMemberAccess]
    assert hidden.keys() == {2}
    np.testing.assert_allclose(hidden[2].abs().numpy(), np.abs(features(test, second[0])), rtol=1e-5, atol=1e-7)


def test_identity_and_repetition():
    here = case(TwoLayers(), 60)
    assert SMALL.fit(here, quiet).scalars == SMALL.fit(here, quiet).scalars
    assert digest(replace(SMALL, ridges=SMALL.ridges[::-1], memory=2**40)) == digest(SMALL)
    assert digest(replace(SMALL, rounds=3)) != digest(SMALL)


def test_a_constant_input_is_no_harm():
    here = case(TwoLayers(dim=4), 60)
    still = replace(here.train, x=torch.cat([here.train.x[:, :3], torch.ones(60, 1, dtype=torch.float64)], 1))
    assert SMALL.fit(replace(here, train=still), quiet).scalars["train_loss"] < 1


def test_samples_that_do_not_fit():
    refused(r"^y must have one output for its quadratic form, got 2$", SMALL.fit, case(TwoLayers(outputs=2), 60), quiet)
    refused(r"^validation must leave points on both sides, got 0\.2 of 2$", SMALL.check, TwoLayers(), 2, 1)
    refused(r"\d+ bytes for the monomials of 9 inputs at 60 poi", replace(SMALL, memory=1000).check, TwoLayers(), 60, 1)
