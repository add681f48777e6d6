import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import (
    GaussianInputs,
    GivenInputs,
    MixtureOfGaussians,
    QuadraticInputs,
    SphereInputs,
    UniformInputs,
    drawn_mixture,
)
from beyondkernels.papers.bfc.problems.coordinates import expansion
from beyondkernels.papers.bfc.problems.matrices import conditioned, nested
from refusals import refused

D, N = 4, 40_000


def shifted_cubes(n: int, dim: int, stream: Stream) -> torch.Tensor:
    return stream.normal(n, dim, dtype=torch.float64) ** 3 / 4 + 0.5


ROOT = nested(conditioned(D, D, 2.0, Stream(3)))
INPUTS: dict[str, QuadraticInputs] = {
    "standard": GaussianInputs(),
    "wide": GaussianInputs(2.5),
    "correlated": GaussianInputs(ROOT),
    "mixture": drawn_mixture(D, parts=3, spread=3.0),
    "unequal mixture": MixtureOfGaussians(drawn_mixture(D, instance=1).roots, (0.9, 0.1)),
    "uniform": UniformInputs(1.5),
    "sphere": SphereInputs(),
    "given": GivenInputs(shifted_cubes, (15 / 16 + 1 / 4,) * D),
    "given without moments": GivenInputs(shifted_cubes),
}
every = pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS.keys())


@every
def test_draws(inputs):
    x = inputs.draw(N, D, Stream(1))
    assert x.shape == (N, D)
    assert x.dtype == torch.float64
    assert torch.equal(x, inputs.draw(N, D, Stream(1)))
    torch.testing.assert_close(x[:50], inputs.draw(50, D, Stream(1)), rtol=1e-12, atol=1e-12)
    assert not torch.equal(x, inputs.draw(N, D, Stream(2)))
    assert inputs.draw(0, D, Stream(1)).shape == (0, D)
    squares = x.square()
    error = squares.std(0) / math.sqrt(N)
    assert bool(((squares.mean(0) - torch.tensor(inputs.second_moments(D))).abs() < 5 * error + 1e-12).all())


@every
def test_parts_have_the_moments_of_the_draws(inputs):
    """E x_i x_j and E x_i² x_j², from the parts by loops over u, and from draws."""
    parts = inputs.parts(D)
    if parts is None:
        assert isinstance(inputs, SphereInputs | GivenInputs)
        return
    assert sum(part.weight for part in parts) == pytest.approx(1)
    x = inputs.draw(N, D, Stream(7))
    for i in range(D):
        for j in range(i + 1):
            second = fourth = 0.0
            for part in parts:
                m4 = float(expansion(part.law, 4)[4, 0])
                a, b = part.root[i].tolist(), part.root[j].tolist()
                second += part.weight * sum(p * q for p, q in zip(a, b, strict=True))
                for r in range(D):
                    for s in range(D):
                        pairs = a[r] ** 2 * b[s] ** 2 + 2 * a[r] * a[s] * b[r] * b[s]
                        fourth += part.weight * (m4 * a[r] ** 2 * b[r] ** 2 if r == s else pairs)
            for values, exact in ((x[:, i] * x[:, j], second), ((x[:, i] * x[:, j]).square(), fourth)):
                assert abs(float(values.mean()) - exact) < 5 * float(values.std()) / math.sqrt(N)


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_expansion_in_orthonormal_polynomials(law):
    """Moments by formula, and u^p · u^q integrates to the product of the expansions."""
    table = expansion(law, 16)

    def moment(p):
        if p % 2:
            return 0.0
        return float(math.prod(range(1, p, 2))) if law == "normal" else 3 ** (p // 2) / (p + 1)

    for p in range(9):
        assert float(table[p, 0]) == pytest.approx(moment(p), rel=1e-13)
        for q in range(9):
            assert float(table[p] @ table[q]) == pytest.approx(moment(p + q), rel=1e-12)


def test_mixtures_follow_proposition_51():
    mixture = drawn_mixture(5, parts=4, spread=2.0)
    assert len(mixture.roots) == 4
    for root in mixture.roots:
        rows = torch.tensor(root, dtype=torch.float64)
        torch.testing.assert_close(rows.norm(dim=1), torch.ones(5).double())
    assert drawn_mixture(5, instance=1) != drawn_mixture(5)
    refused(
        r"rows of equal norms in every part \(Proposition 5\.1\), got norms from 1 to 2",
        MixtureOfGaussians,
        (((1.0, 0.0), (0.0, 1.0)), ((1.0, 0.0), (0.0, 2.0))),
    )


def test_conditioned_matrices_have_the_singular_values_said():
    values = torch.linalg.svdvals(conditioned(4, 7, 3.0, Stream(0)))
    torch.testing.assert_close(values, torch.tensor([3.0, 3 ** (1 / 3), 3 ** (-1 / 3), 1 / 3]).double())
    assert float(conditioned(1, 7, 3.0, Stream(0)).norm()) == pytest.approx(1)
    mean = torch.stack([conditioned(2, 3, 1.0, Stream(i)) for i in range(400)]).mean(0)
    assert float(mean.abs().max()) < 5 / math.sqrt(3 * 400)


def test_bad_input():
    refused(r"root must be a square matrix, got 1 rows of \[2\] numbers", GaussianInputs, ((1.0, 0.0),))
    refused("root must have positive singular values", GaussianInputs, ((1.0, 1.0), (1.0, 1.0)))
    refused("shares must be 1 probabilities with sum 1", MixtureOfGaussians, (((1.0,),),), (0.5,))
    sizes = ((1.0,),), ((1.0, 0.0), (0.0, 1.0))
    refused(r"roots must have one size, got sizes \[1, 2\]", MixtureOfGaussians, sizes)
    words = "root must be 5 × 5 for inputs of dimension 5, got 4 × 4"
    refused(words, GaussianInputs(ROOT).draw, 3, 5, Stream(0))
    refused("moments must hold one number for each of dim = 2", GivenInputs(shifted_cubes, (1.0,)).second_moments, 2)
    narrow = GivenInputs(lambda n, d, s: torch.zeros(n, 1))
    words = r"function must give finite numbers of shape \(3, 2\), got shape \(3, 1\)"
    refused(words, narrow.draw, 3, 2, Stream(0))
