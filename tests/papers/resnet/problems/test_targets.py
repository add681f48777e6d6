"""The paper's own targets by enumeration: composite parity, the hard instance, §2.1's example, the monomial."""

import itertools
import math

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.data import Alike, Biased, FunctionBackground
from refusals import refused


def best_polynomial_risk(points: torch.Tensor, values: torch.Tensor, degree: int) -> float:
    """Least squares on all monomials of distinct coordinates, point by point."""
    d = points.shape[1]
    sets = [S for size in range(degree + 1) for S in itertools.combinations(range(d), size)]
    columns = torch.stack([points[:, list(S)].prod(1) for S in sets], 1)
    fitted = columns @ torch.linalg.lstsq(columns, values, driver="gelsd").solution
    return float((values - fitted).square().sum(1).mean())


def all_signs(d: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=d)), dtype=torch.float64)


def literal_parity(x: list[float], k: int, alpha: float, beta: float) -> list[float]:
    """§8.1 with the paper's indices from one."""
    F = {i: x[2 * i - 2] * x[2 * i - 1] for i in range(1, k + 1)}
    return [beta * F[i] + alpha * (-1) ** i * F[1] * F[2] * F[3] * F[4] for i in range(1, k + 1)]


@pytest.mark.parametrize(("d", "k", "alpha", "beta"), [(8, 4, 0.3, 1.0), (10, 4, 0.5, 0.2), (10, 5, 0.3, 0.0)])
def test_parity_by_enumeration(d, k, alpha, beta):
    problem = bk.resnet.CompositeParity(d, k, alpha, beta)
    points = all_signs(d)
    H = torch.tensor([literal_parity(x, k, alpha, beta) for x in points.tolist()], dtype=torch.float64)
    torch.testing.assert_close(problem.target(points), H)
    F = problem.base_signal(points)
    assert float((H - beta * F).square().sum(1).mean()) == pytest.approx(problem.base_only_risk)
    assert problem.base_risk().value == pytest.approx(k * alpha**2)
    assert problem.base_risk().exact
    for degree in (0, 1, 2):
        assert best_polynomial_risk(points, H, degree) == pytest.approx(problem.polynomial_risk(degree))
    assert problem.polynomial_risk(0) == pytest.approx(k * (alpha**2 + beta**2))
    assert problem.polynomial_risk(7) == pytest.approx(k * alpha**2)
    assert problem.polynomial_risk(8) == 0


def test_parity_spectrum_by_enumeration():
    problem = bk.resnet.CompositeParity(9, 4, 0.3, 0.7)
    points = all_signs(9)
    H = problem.target(points)
    for size in range(10):
        for S in itertools.combinations(range(9), size):
            c = (H * points[:, list(S)].prod(1, keepdim=True)).mean(0)
            expected = problem.spectrum.get(S, torch.zeros(4, dtype=torch.float64))
            torch.testing.assert_close(c, expected, rtol=0, atol=1e-12)


def test_parity_of_the_paper():
    problem = bk.resnet.CompositeParity()
    assert (problem.in_dim, problem.out_dim) == (30, 15)
    assert problem.base_only_risk == pytest.approx(1.35)
    sample = problem.sample(1000, Stream(0))
    H = torch.tensor([literal_parity(x, 15, 0.3, 1.0) for x in sample.x.tolist()])
    torch.testing.assert_close(sample.y, H)
    assert problem.signs[:3].tolist() == [-1, 1, -1]
    assert problem.base_risk().value == pytest.approx(1.35)
    only_base = bk.resnet.CompositeParity(alpha=0.0).spectrum
    assert bk.resnet.distance(problem.spectrum, only_base) == pytest.approx(1.35)
    noisy = bk.resnet.CompositeParity(optimal_risk=0.5)
    assert noisy.base_only_risk == pytest.approx(2.35)
    assert noisy.polynomial_risk(8) == pytest.approx(1.0)


@pytest.mark.parametrize("q", [1, 2, 3, 4, 5, 6])
def test_product_as_powers(q):
    """The identity at every corner and at random points, term by term as in App. D.4."""
    z = torch.cat([all_signs(q), Stream(q).normal(5, q, dtype=torch.float64)])
    signs, c = bk.resnet.product_as_powers(q)
    for row in z.tolist():
        total = 0.0
        for s in itertools.product((0, 1), repeat=q):
            total += (-1) ** sum(s) * sum((-1) ** s[i] * row[i] for i in range(q)) ** q
        assert total / (math.factorial(q) * 2**q) == pytest.approx(math.prod(row), abs=1e-12)
        found = float(c @ (signs @ torch.tensor(row, dtype=torch.float64)) ** q)
        assert found == pytest.approx(math.prod(row), abs=1e-12)


def test_product_map():
    """Some of the coordinates, other coefficients for each output, Concept 1's norms."""
    z = Stream(0).normal(10, 5, dtype=torch.float64)
    found = bk.resnet.product_map(5, (3, 0, 4), (2.0, -0.5))
    expected = torch.stack([2 * z[:, 3] * z[:, 0] * z[:, 4], -0.5 * z[:, 3] * z[:, 0] * z[:, 4]], 1)
    torch.testing.assert_close(found(z), expected)
    assert found.terms == 8
    torch.testing.assert_close(found.directions.norm(dim=2), torch.full((2, 8), math.sqrt(0.5), dtype=torch.float64))
    assert set(found.coefficients.flatten().tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("k", [2, 3, 4])
def test_corollary_7_1(k):
    """G of App. D.4 typed from the paper is the G of ``concept``, and k^{k/2}/√k times the product."""
    concept = bk.resnet.HardInstance(dim=9, outputs=k, alpha=0.2).concept()
    assert (concept.base_terms, concept.composite_terms) == (1, 2**k)
    for z in Stream(k).normal(5, k, dtype=torch.float64).tolist():
        total = 0.0
        for s in itertools.product((0, 1), repeat=k):
            total += (-1) ** sum(s) * sum((-1) ** s[i] * z[i] / math.sqrt(k) for i in range(k)) ** k
        G = k**k / (math.sqrt(k) * math.factorial(k) * 2**k) * total
        assert k ** (k / 2) / math.sqrt(k) * math.prod(z) == pytest.approx(G, abs=1e-12)
        found = concept.composite(torch.tensor([z], dtype=torch.float64))[0]
        assert found.tolist() == pytest.approx([G] * k, abs=1e-12)


def _crooked(n: int, width: int, stream: Stream) -> torch.Tensor:
    first = stream.bernoulli(0.8, n, 1).double() * 2 - 1
    return first * (torch.arange(width) % 2 * 2.0 - 1)


@pytest.mark.parametrize(
    "background",
    [Biased(), Biased(0.9), Alike(), FunctionBackground(_crooked)],
    ids=["uniform", "biased", "alike", "own"],
)
def test_hard_instance(background):
    """(7.1) coordinate by coordinate; F alone has risk kα² whatever the background; no linear predictor does better."""
    d, d1, k, alpha, n = 10, 6, 3, 0.4, 20_000
    problem = bk.resnet.HardInstance(d, k, alpha, d1, background, indices=(4, 0, 2))
    sample = problem.sample(n, Stream(1))
    assert float((sample.x.abs() - 1 / math.sqrt(d)).abs().max()) < 1e-7
    for x, y in zip(sample.x[:50].tolist(), sample.y[:50].tolist(), strict=True):
        F = [math.sqrt(d) * x[i] for i in (4, 0, 2)]
        assert y == pytest.approx([F[r] + alpha * F[0] * F[1] * F[2] for r in range(k)], abs=1e-5)
    assert problem.base_risk(n).value == pytest.approx(k * alpha**2) == pytest.approx(problem.base_only_risk)
    signs = sample.x.sign().double()
    assert float(signs[:, :d1].mean(0).abs().max()) < 5 / math.sqrt(n)
    best = best_polynomial_risk(signs, sample.y.double(), 1)  # all points have the same residual but for O(d/n)
    assert problem.polynomial_risk(1) * (1 - 20 * d / n) <= best <= problem.polynomial_risk(1)
    assert problem.polynomial_risk(0) == pytest.approx(k * (1 + alpha**2))
    assert problem.polynomial_risk(3) == 0


@pytest.mark.parametrize(("p", "rho"), [(1, 0.3), (2, 0.0), (3, -0.5), (4, 0.6)])
def test_linear_then_polynomial(p, rho):
    """F by inner products; E‖G(F)‖² from draws with its error."""
    problem = bk.resnet.LinearThenPolynomial(12, 0.5, p, 0.7, rho, instance=3)
    w = problem.directions
    torch.testing.assert_close(w @ w.T, 12 * torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64))
    x = problem.inputs.draw(400_000, Stream(0))
    h = [sum(w[r, j] * x[:, j] for j in range(12)) for r in range(2)]
    g = 0.7 * (h[0] ** p - h[1] ** p)
    expected = torch.stack([h[0] + 0.5 * g, h[1] + 0.5 * g], 1)
    torch.testing.assert_close(problem.target(x), expected)
    each = 0.25 * 2 * g.square()
    assert abs(float(each.mean()) - problem.base_only_risk) < 5 * float(each.std()) / math.sqrt(len(x))


def test_monomial():
    problem = bk.resnet.Monomial(dim=40, instance=3)
    sample = problem.sample(500, Stream(0))
    for x, y in zip(sample.x.double().tolist(), sample.y.tolist(), strict=True):
        assert 40**3 * math.prod(x[i] for i in problem.relevant) == pytest.approx(y, abs=1e-4)
    assert set(sample.y.tolist()) == {-1.0, 1.0}
    assert sample.y.shape == (500,)
    assert problem.risk(lambda x: torch.zeros(len(x))).value == 1.0
    small = bk.resnet.Monomial(dim=7, degree=3, indices=(6, 1, 2))
    points = small.inputs.points(128)
    assert points is not None
    y = small.target(points)
    for degree in (0, 1, 2, 3):
        assert best_polynomial_risk(points.sign(), y, degree) == pytest.approx(small.polynomial_risk(degree), abs=1e-12)
    exact = small.risk(lambda x: x[:, :1])
    assert exact.exact
    assert exact.value == pytest.approx(1 + 1 / 7)


def test_all_points_are_there_once():
    sample = bk.resnet.AllPoints().sample(64, None)
    rows = {tuple(row) for row in sample.x.sign().int().tolist()}
    assert rows == set(itertools.product((1, -1), repeat=6))
    assert sample.x.norm(dim=1).tolist() == pytest.approx([1.0] * 64)
    assert sample.y.tolist() == [math.prod(row) for row in sample.x.sign().int().tolist()]
    refused(r"^n must be 64, the number of all points, got 63$", lambda: bk.resnet.AllPoints().sample(63, None))


def test_padding():
    """A network on six inputs, padded and widened, does the same; its norm over √d stays, up to uneven copies."""
    m = 10
    W = Stream(0).normal(m, 6, dtype=torch.float64)
    a = torch.tensor([1.0, -1.0] * (m // 2), dtype=torch.float64) / math.sqrt(m)
    problem = bk.resnet.Monomial(dim=15, instance=1)
    x = problem.inputs.draw(30, Stream(1))
    small = x[:, list(problem.relevant)] * math.sqrt(15 / 6)
    torch.testing.assert_close(small.norm(dim=1), torch.ones(30, dtype=torch.float64))
    expected = torch.relu(small @ W.T) @ a
    padded = problem.padded(W)
    torch.testing.assert_close(torch.relu(x @ padded.T) @ a, expected)
    assert float(padded.norm()) / math.sqrt(15) == pytest.approx(float(W.norm()) / math.sqrt(6))
    for width in (10, 20, 24, 50):
        wide, readout = bk.resnet.widened(padded, a, width)
        assert wide.shape == (width, 15)
        torch.testing.assert_close(torch.relu(x @ wide.T) @ readout, expected)
        torch.testing.assert_close(readout.abs(), torch.full((width,), 1 / math.sqrt(width), dtype=torch.float64))
        assert int((readout > 0).sum()) == width // 2
        if width % m == 0:
            assert float(wide.norm()) == pytest.approx(float(padded.norm()))
    refused(r"weights must have shape \(m, 6\)", problem.padded, W[:, :5])
    refused("width must be even and at least 10, got 11", bk.resnet.widened, W, a, 11)
    refused("readout must be ±1/√m, half of each sign", bk.resnet.widened, W, a.abs(), 20)
