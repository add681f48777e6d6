"""What every problem must do, whatever it is."""

import math

import pytest
import torch

import beyondkernels.papers.features as bp
from beyondkernels.core import Problem, Stream

N = 8000

PROBLEMS: dict[str, bp.DictionaryProblem] = {
    "parity": bp.DictionaryParity(dim=20, patterns=12, relevant=5),
    "sparse": bp.DictionaryParity(dim=20, patterns=12, relevant=4, background=0.2, instance=2),
    "uniform": bp.DictionaryParity(dim=20, patterns=12, relevant=5).without_structure(),
    "interval": bp.IntervalLabelling(dim=40, patterns=30, relevant=12, low=6, high=9),
    "own probabilities": bp.DictionaryProblem(
        9, 5, 2, bp.Counts((0,)), bp.IndependentPatterns((0.3, 0.6), (0.0, 0.5, 0.9))
    ),
    "threshold": bp.DictionaryProblem(9, 9, 9, bp.Threshold(), bp.UniformPatterns()),
    "noise": bp.DictionaryParity(dim=20, patterns=12, relevant=5, noise_std=0.2),
    "class ratio": bp.DictionaryParity(dim=20, patterns=12, relevant=5, background=0.3, negative_ratio=0.9),
    "incoherent": bp.DictionaryParity(dim=20, patterns=12, relevant=5, dictionary=bp.Incoherent(0.6), noise_std=0.1),
    "crowded": bp.DictionaryParity(dim=10, patterns=14, relevant=5, dictionary=bp.Incoherent(1.2)),
    "two Gaussians": bp.two_gaussians(dim=10, noise_std=0.5, positive=0.3),
}
every = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@pytest.fixture(scope="module")
def draws():
    return {problem: problem.sample(N, Stream(11)) for problem in PROBLEMS.values()}


@every
def test_shapes_and_types(problem, draws):
    assert Problem in type(problem).__mro__
    sample = draws[problem]
    assert len(sample) == N
    assert sample.x.shape == (N, problem.in_dim)
    assert sample.x.dtype == sample.y.dtype == torch.float32
    assert sample.y.shape == (N,)
    assert problem.out_dim == 1
    assert set(sample.y.tolist()) == {-1.0, 1.0}
    present = sample.hidden["patterns"]
    assert present.shape == (N, problem.patterns)
    assert present.dtype == torch.int8
    assert set(present.unique().tolist()) <= {0, 1}
    assert len(problem.sample(0, Stream(0))) == 0


@every
def test_same_stream_same_sample(problem, draws):
    again = problem.sample(N, Stream(11))
    assert torch.equal(again.x, draws[problem].x)
    assert torch.equal(again.y, draws[problem].y)
    assert torch.equal(again.hidden["patterns"], draws[problem].hidden["patterns"])


@every
def test_a_short_sample_is_a_prefix(problem, draws):
    short, long = problem.sample(100, Stream(11)), draws[problem]
    assert torch.equal(short.hidden["patterns"], long.hidden["patterns"][:100])
    assert torch.equal(short.y, long.y[:100])
    torch.testing.assert_close(short.x, long.x[:100], rtol=0, atol=1e-6)  # products of other sizes round differently


@every
def test_labels_belong_to_the_hidden_patterns(problem, draws):
    sample = draws[problem]
    assert torch.equal(sample.y, problem.label_of(sample.hidden))
    P = problem.labels.counts(problem.relevant)
    for row, y in zip(sample.hidden["patterns"][:200].tolist(), sample.y[:200].tolist(), strict=True):
        assert y == (1.0 if sum(row[i] for i in problem.relevant_set) in P else -1.0)


@every
def test_inputs_belong_to_the_hidden_patterns(problem, draws):
    """x̃ = Mφ̃ column by column; what noise leaves has the stated standard deviation."""
    sample, m = draws[problem], problem.moments
    rest = sample.x.double() * m.scale
    for j in range(problem.patterns):
        rest -= torch.outer(sample.hidden["patterns"][:, j].double() - m.means[j], problem.matrix[:, j])
    if problem.noise_std == 0:
        assert float(rest.abs().max()) < 2e-5
    else:
        size = rest.numel()
        assert float(rest.std()) == pytest.approx(problem.noise_std, rel=5 / math.sqrt(2 * size))
        assert abs(float(rest.mean())) < 5 * problem.noise_std / math.sqrt(size)


@every
def test_sample_moments_are_the_exact_ones(problem, draws):
    """Means, covariances, counts and correlations within six standard errors each."""
    sample, m = draws[problem], problem.moments
    phi, y = sample.hidden["patterns"].double(), sample.y.double()
    count = phi[:, list(problem.relevant_set)].sum(1).long()
    centred = phi - m.means

    def agrees(values, exact):
        error = values.std(0, correction=0) / math.sqrt(N)
        assert bool(((values.mean(0) - exact).abs() <= 6 * error + 1e-4).all())

    agrees(phi, m.means)
    agrees(torch.einsum("ni,nj->nij", centred, centred), m.covariance)
    agrees((count[:, None] == torch.arange(problem.relevant + 1)).double(), m.count_distribution)
    agrees((y > 0).double(), m.positive)
    agrees((y - (m.positive - m.negative))[:, None] * centred, m.correlations)


@every
def test_inputs_are_normalised(problem, draws):
    """Mean zero in each coordinate and total variance one."""
    x = draws[problem].x.double()
    assert bool((x.mean(0).abs() <= 6 * x.std(0) / math.sqrt(N) + 1e-7).all())
    lengths = x.square().sum(1)
    assert abs(float(lengths.mean()) - 1) < 6 * float(lengths.std()) / math.sqrt(N) + 1e-6


@every
def test_what_is_known(problem):
    direction = problem.direction
    assert direction.dtype == torch.float64
    literal = torch.zeros(problem.dim, dtype=torch.float64)
    for j in problem.relevant_set:
        literal += problem.matrix[:, j]
    torch.testing.assert_close(direction, literal / literal.norm())
    assert problem.matrix.shape == (problem.dim, problem.patterns)
    assert len(set(problem.relevant_set)) == problem.relevant
    assert problem.relevant_set == tuple(sorted(problem.relevant_set))
    for accuracy in (problem.linear_accuracy, problem.best_count_threshold_accuracy):
        assert accuracy is None or problem.constant_accuracy - 1e-12 <= accuracy <= 1
