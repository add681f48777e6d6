"""The methods of Figure 2, computed again by other routes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from beyondkernels.experiments.resnet.fig2.experiment import Fig2a
from beyondkernels.experiments.resnet.fig2.methods import (
    KERNELS,
    Method,
    kernel_spec,
    network_of,
    problem_of,
    trained_methods,
    trained_spec,
)
from beyondkernels.experiments.resnet.held_out import points_of, search_errors

from beyondkernels.core import Outcome, Stream
from beyondkernels.runs.perform import perform

torch.set_num_threads(1)
A = Fig2a()


def test_validation_and_test_points_are_disjoint() -> None:
    """The errors of a run of the search, computed again from the network it trained."""
    settings = replace(A.settings("smoke"), epochs=3, decay_epoch=2)
    method, point, seed = trained_methods("all")[0], (0.01, 0.01), 1000
    spec = trained_spec(method, settings, 8, point, seed)
    learner: Any = spec.learner
    names = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")
    kept = replace(learner, snapshot_at=(learner.algorithm.steps,), snapshot_names=names)
    outcome = perform([replace(spec, learner=kept)])[0]
    at = f"snapshot/{learner.algorithm.steps}/"
    W, b1, V, b2, A_ = (torch.from_numpy(outcome.arrays[at + name]).double() for name in names)
    sample = spec.problem.sample(points_of(settings), Stream(seed).child("test"))
    out1 = torch.relu(sample.x.double() @ W.T + b1) @ A_.T
    out = out1 + torch.relu(out1 @ V.T + b2) @ A_.T
    errors = (out - sample.y.double()).square().sum(1)
    v = settings.validation_samples
    expected = errors[v:].mean().item(), errors[:v].mean().item()
    assert search_errors(outcome, settings) == pytest.approx(expected, rel=1e-4)
    assert abs(expected[0] - expected[1]) > 1e-2  # else the test could not tell them apart
    diverged = Outcome("diverged", {"steps": 1.0})
    assert search_errors(diverged, settings) == (math.inf, math.inf)


def test_a_kernel_by_sgd_tends_to_the_ridge_regression_of_its_features() -> None:
    """(NTK) against the tangent features themselves: what g(x; θ₀) leaves of y, regressed with all outputs together."""
    settings = replace(
        A.settings("smoke"), samples=30, batch=30, epochs=4000, decay_epoch=3000, momentum=0.9, validation_samples=50
    )
    for name in ("3resnet", "2layer"):
        spec = trained_spec(Method(name, "NTK"), settings, 8, (0.01, 0.1), 1000)
        found = perform([spec])[0].scalars
        network, stream, learner = network_of(name, 8), Stream(1000), cast("Any", spec.learner)
        sample = spec.problem.sample(30, stream.child("train"))
        test = spec.problem.sample(points_of(settings), stream.child("test"))
        _, drawn = learner.algorithm.initialise(learner.network, 8, 4, stream.child("learner").child("initial"))
        params = {key.removeprefix("at."): value.double() for key, value in drawn.items()}
        parts = []
        for points in (sample.x.double(), test.x.double()):
            slopes = torch.func.jacrev(lambda at, x=points, g=network: g.apply(at, {}, x)[0])(params)
            start = network.apply(params, {}, points)[0]
            parts.append((torch.cat([slope.flatten(2) for slope in slopes.values()], 2).flatten(0, 1), start))
        (features, start), (features_test, start_test) = parts
        # the loss is a mean over points, weight decay λ adds λ|Δ|²/2: so half of Nλ is the ridge
        ridge = 30 * 0.1 / 2
        gram = features @ features.T + ridge * torch.eye(len(features), dtype=torch.float64)
        alpha = torch.linalg.solve(gram, (sample.y.double() - start).flatten())
        out = start_test + (features_test @ (features.T @ alpha)).view(start_test.shape)
        expected = (out - test.y.double()).square().sum(1).mean().item()
        assert found["test_loss"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("method", KERNELS, ids=lambda method: method.name)
def test_infinite_width_does_not_depend_on_the_width_it_is_asked_at(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = A.settings("paper")
    x = problem_of(settings).sample(20, Stream(5)).x
    grams = []
    for width in (50, 1000):
        monkeypatch.setattr("beyondkernels.experiments.resnet.fig2.methods._ANY_WIDTH", width)
        kernel: Any = kernel_spec(method, settings, None, 0).learner
        gram = kernel.kernel(x)
        grams.append(gram / gram.trace())  # the best ridge goes with the scale
    assert torch.allclose(*grams, rtol=1e-10)
