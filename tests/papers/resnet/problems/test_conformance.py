"""What every problem of the ResNet paper must do."""

import math

import pytest
import torch

from beyondkernels.activations import Polynomial, Sine
from beyondkernels.core import Problem, Stream
from beyondkernels.data import Alike, Biased, CircleMap, Cube, CubeWithBackground, DrawnMap, Gaussian, Sphere
from beyondkernels.papers.resnet.problems import (
    CompositeParity,
    CompositeProblem,
    DrawnGeneralMap,
    HardInstance,
    LinearThenPolynomial,
    SmoothComposite,
)
from refusals import refused

N = 4000
SMOOTH = SmoothComposite(Sphere(6), CircleMap(6, 4, 2.0), DrawnMap(4, 4, 3, Polynomial((0.0, 1.0, 2.0)), 1), alpha=0.2)
PROBLEMS: dict[str, CompositeProblem] = {
    "parity": CompositeParity(),
    "parity with noise": CompositeParity(dim=11, outputs=5, alpha=0.5, beta=0.2, optimal_risk=0.7),
    "hard": HardInstance(dim=9, outputs=3, alpha=0.2),
    "hard with noise": HardInstance(dim=9, outputs=3, alpha=0.2, optimal_risk=0.4),
    "hard with background": HardInstance(dim=12, outputs=3, alpha=0.2, uniform=5, background=Alike(), instance=2),
    "polynomial": LinearThenPolynomial(dim=7, alpha=0.1, degree=3, correlation=0.4),
    "smooth": SMOOTH,
    "smooth in concept 2": SMOOTH.in_concept2(),
    "general": SmoothComposite(
        Gaussian(5),
        DrawnGeneralMap(5, 2, 3, Sine()),
        DrawnGeneralMap(2, 2, 2, Sine(2.0), 1),
        0.1,
        optimal_risk=0.3,
        concept_class=2,
    ),
}
every = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@every
def test_sample(problem):
    sample = problem.sample(N, Stream(5))
    k = problem.out_dim
    assert isinstance(problem, Problem)
    assert sample.x.shape == (N, problem.in_dim)
    assert sample.y.shape == sample.hidden["base"].shape == sample.hidden["composite"].shape == (N, k)
    assert sample.x.dtype == sample.y.dtype == sample.hidden["base"].dtype == torch.float32
    assert len(problem.sample(0, Stream(0))) == 0
    again, short = problem.sample(N, Stream(5)), problem.sample(100, Stream(5))
    assert torch.equal(again.x, sample.x)
    assert torch.equal(again.y, sample.y)
    assert torch.equal(short.x, sample.x[:100])
    torch.testing.assert_close(short.y, sample.y[:100], rtol=1e-5, atol=1e-5)
    for other in (Stream(6), Stream(5).child("other"), Stream(5).at(1)):
        assert not torch.equal(problem.sample(N, other).x, sample.x)


@every
def test_labels_are_the_target_and_noise(problem):
    """y = βF + αG(F) + ξ with E ½‖ξ‖² = OPT, and noise that knows nothing of x."""
    sample = problem.sample(N, Stream(5))
    h, g = sample.hidden["base"].double(), sample.hidden["composite"].double()
    noise = sample.y.double() - problem.beta * h - problem.alpha * g
    half = 0.5 * noise.square().sum(1)
    if problem.optimal_risk == 0:
        assert float(noise.abs().max()) < 1e-5 * max(1.0, float(sample.y.abs().max()))
        return
    assert abs(float(half.mean()) - problem.optimal_risk) < 5 * float(half.std()) / math.sqrt(N)
    assert float(half.std()) > 0.1 * problem.optimal_risk
    each = noise.square().mean(0)
    assert bool(
        ((each - 2 * problem.optimal_risk / problem.out_dim).abs() < 6 * noise.square().std(0) / math.sqrt(N)).all()
    )
    for signal in (h[:, 0], g[:, 0]):
        assert abs(float((signal * noise[:, 0]).mean())) < 5 * float((signal * noise[:, 0]).std()) / math.sqrt(N)


@every
def test_risk_of_target_base_and_zero(problem):
    """H has risk 2·OPT; F alone α²E‖G‖² more; zero has E‖y‖², here from a sample with its error."""
    best = problem.risk(problem.target, 500, dtype=torch.float64)
    assert best.value == pytest.approx(2 * problem.optimal_risk, abs=1e-20)
    sample = problem.sample(N, Stream(8))
    for found, values in (
        (
            problem.base_risk(N),
            problem.alpha**2 * sample.hidden["composite"].double().square().sum(1) + 2 * problem.optimal_risk,
        ),
        (problem.risk(lambda x: torch.zeros(len(x), problem.out_dim), N), sample.y.double().square().sum(1)),
    ):
        error = math.hypot(found.error, float(values.std()) / math.sqrt(N))
        assert abs(found.value - float(values.mean())) <= 5 * error + 1e-5 * found.value
        assert found.error == 0 or not found.exact


@every
def test_concept_is_the_same_target_up_to_scale(problem):
    """After the scaling of inputs and labels that each docstring states."""
    if problem.beta != 1:
        refused(r"beta must be 1 for a target of Concept 1, got 0\.2", problem.concept)
        return
    concept = problem.concept()
    x = problem.inputs.draw(200, Stream(1))
    parity = isinstance(problem, CompositeParity)
    factor = 1 / math.sqrt(problem.out_dim) if isinstance(problem, CompositeParity | HardInstance) else 1.0
    inside = 1 / math.sqrt(problem.in_dim) if parity else 1.0
    torch.testing.assert_close(concept.target(x * inside), factor * problem.target(x), rtol=1e-9, atol=1e-9)
    assert concept.optimal_risk == pytest.approx(problem.optimal_risk * factor**2)
    assert concept.alpha == problem.alpha


INPUTS = [
    Cube(5),
    Cube(5, side=2.0),
    Sphere(5),
    Gaussian(5),
    CubeWithBackground(6, 3, Biased(0.9)),
    CubeWithBackground(6, 3, Biased(1.0)),
    CubeWithBackground(6, 3),
    CubeWithBackground(6, 0, Alike()),
    CubeWithBackground(6, 6, Alike()),
]


@pytest.mark.parametrize("inputs", INPUTS, ids=str)
def test_inputs(inputs):
    """Second moments of draws are those of all points, or those the name says; lengths as stated."""
    n, d = 20_000, inputs.in_dim
    x = inputs.draw(n, Stream(0))
    assert x.shape == (n, d)
    assert x.dtype == torch.float64
    if inputs.length is not None:
        torch.testing.assert_close(x.norm(dim=1), torch.full((n,), inputs.length, dtype=torch.float64))
    points = inputs.points(100)
    if points is None:
        expected = torch.eye(d, dtype=torch.float64) / d
        if isinstance(inputs, CubeWithBackground):
            rest = slice(inputs.uniform, None)
            expected[rest, rest] = 1 / d if inputs.background == Alike() else 0.64 / d
            expected.diagonal().fill_(1 / d)
    else:
        assert len({tuple(p.tolist()) for p in points}) == len(points)
        expected = points.T @ points / len(points)
    products = torch.einsum("ni,nj->nij", x, x)
    error = products.std(0) / math.sqrt(n)
    assert bool(((products.mean(0) - expected).abs() <= 5 * error + 1e-12).all())


def test_listing():
    assert Cube(4).points(15) is None
    for inputs, count in (
        (Cube(4), 16),
        (CubeWithBackground(6, 3, Biased(1.0)), 8),
        (CubeWithBackground(6, 3), 64),
        (CubeWithBackground(6, 6, Alike()), 64),
    ):
        points = inputs.points(64)
        assert points is not None
        assert len(points) == count
        torch.testing.assert_close(points.norm(dim=1), torch.ones(count, dtype=torch.float64))
    assert CubeWithBackground(6, 3, Alike()).points(64) is None
    assert CubeWithBackground(6, 3, Biased(0.3)).points(64) is None


def test_risk_is_exact_where_inputs_can_be_listed_and_agrees_with_draws():
    problem = CompositeParity(dim=8, outputs=4, alpha=0.5, optimal_risk=0.2)

    def predict(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x[:, :4] + 2 * x[:, 4:])

    exact, drawn = problem.risk(predict), problem.risk(predict, 20_000, most=10)
    literal = 0.0
    for x in Cube(8, 1.0).points(256).tolist():  # pyright: ignore[reportOptionalMemberAccess]
        F = [x[2 * i] * x[2 * i + 1] for i in range(4)]
        for i in range(4):
            H = F[i] + 0.5 * (-1) ** (i + 1) * F[0] * F[1] * F[2] * F[3]
            literal += (math.tanh(x[i] + 2 * x[4 + i]) - H) ** 2 / 256
    assert exact.exact
    assert exact.value == pytest.approx(literal + 0.4, rel=1e-6)
    assert not drawn.exact
    assert abs(drawn.value - exact.value) < 5 * drawn.error
    assert 0 < drawn.error < 0.05
