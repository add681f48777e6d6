import json
import math

import pytest
import torch

from beyondkernels.core import Stream, build, canonical_json
from beyondkernels.papers.bfc.problems import (
    Agnostic,
    Classified,
    FirstToy,
    QuadraticTarget,
    UniformInputs,
    drawn_mixture,
    skip_graph,
)

TEACHER = QuadraticTarget(4, (2, 2, 1), skip_graph(4), (1.0, 0.3, 0.1), relative=True, inputs=UniformInputs())
TEACHERS = {
    "uniform": TEACHER,
    "mixture": QuadraticTarget(4, (2, 1), inputs=drawn_mixture(4)),
    "toy": FirstToy(inputs=UniformInputs()),
}
every = pytest.mark.parametrize("teacher", TEACHERS.values(), ids=TEACHERS.keys())
N = 20_000


@every
@pytest.mark.parametrize("perturbation", ["noise", "wave"])
def test_agnostic(teacher, perturbation):
    problem = Agnostic(teacher, 0.49, perturbation)
    sample = problem.sample(N, Stream(3))
    assert sample.x.shape == (N, teacher.in_dim)
    assert sample.y.shape == (N, 1)
    assert sample.y.dtype == torch.float64
    target = problem.target(sample.x)
    torch.testing.assert_close(target, teacher.target(sample.x))
    torch.testing.assert_close(sample.hidden["target"], target)
    rest = sample.y[:, 0] - target
    tolerance = 1e-12 * float(target.abs().max())
    assert float((rest.square() - 0.49).abs().max()) < max(1e-9, 10 * tolerance)
    signs = rest.sign()
    assert abs(float(signs.mean())) < 5 / math.sqrt(N) + (0.05 if perturbation == "wave" else 0)
    if perturbation == "noise":
        correlation = signs * (target - target.mean()) / target.std()
        assert abs(float(correlation.mean())) < 5 / math.sqrt(N)
    else:
        assert torch.equal(problem.wave(sample.x), signs)
        point = sample.x[0].tolist()
        s = math.copysign(1, math.sin(problem.frequency * sum(point) / math.sqrt(len(point)) + 1))
        assert float(rest[0]) == pytest.approx(0.7 * s)
    torch.testing.assert_close(problem.sample(100, Stream(3)).y, sample.y[:100])
    assert not torch.equal(problem.sample(N, Stream(4)).y, sample.y)
    assert build(json.loads(canonical_json(problem))) == problem


@every
def test_classified(teacher):
    problem = Classified(teacher)
    sample = problem.sample(N, Stream(3))
    assert sample.x.shape == (N, problem.in_dim) == (N, teacher.in_dim + 1)
    assert sample.y.shape == (N, 1)
    assert set(sample.y.flatten().tolist()) == {-1.0, 1.0}
    x0, x = sample.x[:, 0], sample.x[:, 1:]
    std, mean = teacher.target_std.value, teacher.target_mean.value
    for n in range(20):
        g = float(teacher.target(x[n : n + 1])) / std
        assert float(sample.y[n, 0]) == (1.0 if float(x0[n]) + g >= 0 else -1.0)
        assert float(sample.hidden["target"][n]) == pytest.approx(g)
    torch.testing.assert_close(problem.features(sample.x)[3], teacher.features(x)[3])
    torch.testing.assert_close(sum(problem.contributions(sample.x).values()), teacher.target(x) / std)
    assert [scale * std for scale in problem.scales] == pytest.approx(teacher.scales)
    assert abs(float(x0.mean()) + mean / std) < 5 / math.sqrt(N)
    assert float(x0.std()) == pytest.approx(1, abs=5 / math.sqrt(2 * N))
    assert abs(float((x0 * x[:, 0]).mean())) < 5 * float((x0 * x[:, 0]).std()) / math.sqrt(N)
    assert build(json.loads(canonical_json(problem))) == problem


def test_classified_teacher_has_variance_one():
    problem = Classified(TEACHER)
    g = problem.target(problem.sample(200_000, Stream(9)).x)
    centred = (g - g.mean()).square()
    assert abs(float(centred.mean()) - 1) < 5 * float(centred.std()) / math.sqrt(len(g))
    assert abs(float(g.mean()) - problem.target_mean) < 5 / math.sqrt(len(g))


def test_increments_by_counting():
    """Leave layers out and count the labels that change."""
    problem = Classified(TEACHER)
    points = problem.sample(100_000, Stream(21)).x
    y, parts = problem.labels(points), problem.contributions(points)
    found = problem.increments(40_000)
    assert list(found) == [2, 3, 4]
    for layer, estimate in found.items():
        kept = sum((part for other, part in parts.items() if other < layer), start=torch.zeros(len(points)).double())
        changed = ((points[:, 0] + kept >= 0) != (y > 0)).double()
        error = math.hypot(estimate.error, float(changed.std()) / math.sqrt(len(changed)))
        assert abs(float(changed.mean()) - estimate.value) < 5 * error
    assert found[2].value > found[3].value > found[4].value
