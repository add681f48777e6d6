"""Labels of listed vectors, against sums over all of {0, 1}^D."""

import hashlib
import itertools
import math

import numpy as np
import pytest
import torch

import beyondkernels.papers.features as bp
from beyondkernels.core import Stream
from beyondkernels.papers.features.problems import linear
from refusals import refused

N = 20_000
SMALL = [
    bp.RepresentationLabels(8, 6, 3, 2, background=0.3),
    bp.RepresentationLabels(9, 7, 4, 3, instance=1),
    bp.RepresentationLabels(5, 4, 4, 5, instance=2),
    bp.RepresentationLabels(6, 5, 3, 4, background=0.2, instance=4),
]
small = pytest.mark.parametrize("problem", SMALL, ids=str)
GOLDEN_BITS = "22661ffdf82ab7dc"
GOLDEN_X = [0.064519, -0.684817, 0.146545, 0.366109, 0.538835, 0.362016]


def enumerated(problem):
    """All hidden vectors that can appear, their probabilities and labels."""
    A, listed = problem.relevant_set, [tuple(v) for v in problem.vectors.tolist()]
    points, probabilities, labels = [], [], []
    for phi in itertools.product((0, 1), repeat=problem.patterns):
        own = tuple(phi[i] for i in A)
        if own not in listed:
            continue
        p = 1 / len(listed)
        for j in set(range(problem.patterns)) - set(A):
            p *= problem.background if phi[j] else 1 - problem.background
        points.append(phi)
        probabilities.append(p)
        labels.append(1 if listed.index(own) < problem.per_label else -1)
    return np.array(points), np.array(probabilities), np.array(labels)


def test_golden_sample():
    """These numbers may change only together with a revision."""
    problem = bp.RepresentationLabels(6, 5, 4, 3, background=0.3, instance=4)
    sample = problem.sample(64, Stream(7))
    bits = hashlib.sha256(sample.hidden["patterns"].numpy().tobytes() + sample.y.numpy().tobytes()).hexdigest()
    assert bp.RepresentationLabels.revision == bp.ListedPatterns.revision == 1
    assert bits[:16] == GOLDEN_BITS
    assert sample.x[0].tolist() == pytest.approx(GOLDEN_X, abs=2e-6)


@small
def test_moments(problem):
    phi, p, y = enumerated(problem)
    assert p.sum() == pytest.approx(1, abs=1e-14)
    assert p[y > 0].sum() == pytest.approx(problem.constant_accuracy, abs=1e-14)
    means, m = p @ phi, problem.moments
    np.testing.assert_allclose(m.means, means, atol=1e-14)
    centred = phi - means
    np.testing.assert_allclose(m.covariance, (centred * p[:, None]).T @ centred, atol=1e-14)
    correlations = (p * y) @ phi - (p @ y) * means
    np.testing.assert_allclose(m.correlations, correlations, atol=1e-14)
    x = centred @ problem.matrix.numpy().T
    variance = float(p @ (x**2).sum(1))
    assert (m.variance, m.scale**2) == pytest.approx((variance, variance), rel=1e-12)
    of_relevant = [correlations[j] ** 2 for j in problem.relevant_set]
    assert m.typical_gamma == pytest.approx(math.sqrt(sum(of_relevant) / problem.relevant), abs=1e-14)


@small
def test_direction_joins_the_class_means(problem):
    phi, p, y = enumerated(problem)
    x = phi @ problem.matrix.numpy().T
    between = p[y > 0] @ x[y > 0] - p[y < 0] @ x[y < 0]
    np.testing.assert_allclose(problem.direction, between / np.linalg.norm(between), atol=1e-12)


@small
def test_linear_accuracy_against_all_threshold_functions(problem):
    k = problem.relevant
    corners = [tuple(corner) for corner in linear.corners(k).tolist()]
    listed = [tuple(v) for v in problem.vectors.tolist()]
    density = torch.tensor([float(corner in listed) / len(listed) for corner in corners], dtype=torch.float64)
    signs = torch.tensor(
        [1.0 if corner in listed[: problem.per_label] else -1.0 for corner in corners], dtype=torch.float64
    )
    best = linear.best_linear_threshold(density, signs, symmetric=False)
    assert problem.linear_accuracy == pytest.approx(best, abs=1e-12)


@small
def test_direction_accuracy_threshold_by_threshold(problem):
    phi, p, y = enumerated(problem)
    shown = phi @ problem.matrix.numpy().T @ problem.direction.numpy()
    found = []
    for threshold in [*(shown - 1e-9), shown.max() + 1]:
        right = float(p @ ((shown > threshold) == (y > 0)))
        found += [right, 1 - right]
    assert problem.direction_accuracy == pytest.approx(max(found), abs=1e-12)
    assert problem.linear_accuracy is not None
    assert problem.constant_accuracy <= problem.direction_accuracy <= problem.linear_accuracy + 1e-12


@small
def test_sample(problem):
    sample, m = problem.sample(N, Stream(11)), problem.moments
    phi, y = sample.hidden["patterns"].double(), sample.y.double()
    assert torch.equal(sample.y, problem.label_of(sample.hidden))
    rest = sample.x.double() * m.scale
    for j in range(problem.patterns):
        rest -= torch.outer(phi[:, j] - m.means[j], problem.matrix[:, j])
    assert float(rest.abs().max()) < 1e-5

    def agrees(values, exact):
        error = values.std(0) / math.sqrt(N)
        assert bool(((values.mean(0) - exact).abs() <= 6 * error + 1e-4).all())

    agrees(phi, m.means)
    agrees(torch.einsum("ni,nj->nij", phi - m.means, phi - m.means), m.covariance)
    agrees(y[:, None] * (phi - m.means), m.correlations)
    agrees((y > 0).double(), 0.5)
    agrees(sample.x.double().square().sum(1), 1.0)
    listed = [tuple(v) for v in problem.vectors.tolist()]
    for row, label in zip(sample.hidden["patterns"][:200].tolist(), sample.y[:200].tolist(), strict=True):
        place = listed.index(tuple(row[i] for i in problem.relevant_set))
        assert label == (1.0 if place < problem.per_label else -1.0)


@small
def test_streams_and_prefixes(problem):
    long, short = problem.sample(50, Stream(3)), problem.sample(20, Stream(3))
    assert torch.equal(short.hidden["patterns"], long.hidden["patterns"][:20])
    torch.testing.assert_close(short.x, long.x[:20], rtol=0, atol=1e-6)
    assert not torch.equal(problem.sample(50, Stream(4)).x, long.x)
    assert len(problem.sample(0, Stream(0))) == 0


def test_the_papers_numbers():
    problem = bp.RepresentationLabels()
    assert (problem.dim, problem.patterns, problem.relevant, problem.background) == (500, 250, 50, 0.5)
    assert problem.vectors.shape == (100, 50)
    assert problem.vector_labels.tolist() == [1.0] * 50 + [-1.0] * 50
    assert len({tuple(v) for v in problem.vectors.tolist()}) == 100
    other = bp.RepresentationLabels(instance=1)
    assert not torch.equal(other.vectors, problem.vectors)
    assert other.relevant_set != problem.relevant_set


def test_vectors_are_uniform():
    """Every vector of three patterns has the label +1 in a quarter of the instances, if each label has two of eight."""
    n, hits = 2000, torch.zeros(8)
    for instance in range(n):
        positive = bp.RepresentationLabels(3, 3, 3, 2, instance=instance).vectors[:2].long()
        hits[(positive * torch.tensor([1, 2, 4])).sum(1)] += 1
    assert float((hits / n - 1 / 4).abs().max()) < 4.5 * math.sqrt(3 / 16 / n)


def coinciding():
    """Four vectors of two patterns whose labels are those of a parity: both classes have the mean (1/2, 1/2)."""
    found = (bp.RepresentationLabels(4, 3, 2, 2, instance=i) for i in range(100))
    return next(p for p in found if float(p.moments.correlations.abs().max()) == 0)


BAD = {
    "relevant must not exceed patterns, got 4 relevant of 3 patterns": lambda: bp.RepresentationLabels(9, 3, 4, 2),
    "patterns must not exceed dim for an orthonormal dictionary, got 9 patterns in dimension 5": (
        lambda: bp.RepresentationLabels(5, 9, 4, 2)
    ),
    "per_label must be at most 8, half of the binary vectors of 4 relevant patterns, got 9": (
        lambda: bp.RepresentationLabels(9, 6, 4, 9)
    ),
    "patterns must form one of the listed vectors in every row": (
        lambda: SMALL[0].label_of({"patterns": torch.tensor([[0, 1, 0, 0, 0, 0]])})
    ),
    "the class means coincide for these vectors, so no direction joins them": lambda: coinciding().direction,
    "vectors must each hold 3 entries, one for each relevant pattern, got 2": (
        lambda: bp.ListedPatterns(((0, 1),)).means(4, (0, 1, 2))
    ),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_gets_a_sentence(sentence):
    refused(sentence, BAD[sentence])
