"""Lemma 5: the network written a second time from the proof, and its bounds."""

import itertools
import math

import pytest
import torch

import beyondkernels as bk
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import (
    Counts,
    DictionaryParity,
    DictionaryProblem,
    Incoherent,
    IndependentPatterns,
    Interval,
    Parity,
    StructuredMixture,
    Threshold,
)
from beyondkernels.papers.features.theory import GoodNetwork, good_network
from refusals import refused

UNEQUAL = IndependentPatterns((0.15, 0.4, 0.62), 0.3)
CASES = {
    "parity": DictionaryProblem(9, 6, 3, Parity(), StructuredMixture(0.3)),
    "threshold": DictionaryProblem(9, 7, 4, Threshold(), StructuredMixture(0.5), instance=2),
    "interval": DictionaryProblem(9, 7, 5, Interval(1, 3), IndependentPatterns(0.7, 0.2), instance=3),
    "random": DictionaryProblem(8, 6, 3, Counts((0, 1, 3)), UNEQUAL, instance=4),
    "one": DictionaryProblem(5, 4, 1, Counts((0,)), IndependentPatterns(0.9, 0.5)),
    "ratio": DictionaryParity(9, 6, 3, negative_ratio=0.8),
}
every_case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES.keys())


def tent(z: float, s: float, a: float, b: float) -> float:
    """Eq. (9), case by case."""
    if z <= s - b or z >= s + b:
        return 0.0
    return a * (z - s) + a * b if z <= s else -a * (z - s) + a * b


def literal(problem: DictionaryProblem, shift: float, height: float, z: float) -> float:
    """Eq. (11) at shift 0 and height 2, eq. (15) at shift 1/4 and height 4; z is the count less its mean."""
    mean = float(problem.moments.means[list(problem.relevant_set)].sum())
    counts, P = range(problem.relevant + 1), problem.labels.counts(problem.relevant)
    return sum((1 if p in P else -1) * tent(z, p - mean + shift, height, 0.5) for p in counts)


def every_input(problem: DictionaryProblem) -> tuple[torch.Tensor, torch.Tensor]:
    """All 2^D inputs and their labels, one by one."""
    exact, M = problem.moments, problem.matrix
    x, y = [], []
    for bits in itertools.product((0, 1), repeat=problem.patterns):
        phi = (torch.tensor(bits, dtype=torch.float64) - exact.means) / exact.scale
        x.append(M @ phi)
        count = sum(bits[j] for j in problem.relevant_set)
        y.append(1.0 if count in problem.labels.counts(problem.relevant) else -1.0)
    return torch.stack(x), torch.tensor(y, dtype=torch.float64)


@every_case
def test_every_label_and_every_bound(problem):
    k, params = problem.relevant, good_network(problem)
    x, y = every_input(problem)
    out, _ = TwoLayer(1).apply(params, {}, x)
    torch.testing.assert_close(out[:, 0], y, rtol=0, atol=1e-12)
    a, b, w = params["output.weight"][0], params["hidden.bias"], params["hidden.weight"]
    assert len(a) == len(b) == len(w) == 3 * (k + 1)
    assert float(a.abs().max()) <= 32 * k * (1 + 1e-12)
    assert 1 / (32 * k) <= float(b.abs().min())
    assert float(b.abs().max()) <= 0.5
    assert float((x @ w.T + b).abs().max()) <= 1
    A = list(problem.relevant_set)
    expected = problem.moments.scale * problem.matrix[:, A].sum(1) / (4 * k)
    torch.testing.assert_close(w, expected.repeat(len(w), 1), rtol=1e-12, atol=0)


@every_case
def test_it_is_the_proofs_network_between_the_counts_too(problem):
    """A line along w: the output is one of the two candidates, with tents case by case."""
    params, w = good_network(problem), problem.moments.scale * problem.matrix[:, list(problem.relevant_set)].sum(1)
    at = torch.linspace(-0.3 * problem.relevant, 0.3 * problem.relevant, 101, dtype=torch.float64)
    out = TwoLayer(1).apply(params, {}, torch.outer(at, w / w.dot(w)))[0][:, 0]
    candidates = [
        torch.tensor([literal(problem, shift, height, z) for z in at.tolist()], dtype=torch.float64)
        for shift, height in ((0.0, 2.0), (0.25, 4.0))
    ]
    errors = [float((out - each).abs().max()) for each in candidates]
    assert min(errors) < 1e-11
    assert max(errors) > 0.1


def test_as_a_learner():
    problem = CASES["interval"]
    run = bk.fit(GoodNetwork(), problem, n=10, test=300, progress=False)
    assert (run.train_accuracy, run.test_accuracy, run.exact, run.neurons) == (1.0, 1.0, 1.0, 18.0)
    count, output = run.outcome.arrays["profile"]
    whole = [math.floor(s) == s for s in count]
    assert output[whole] == pytest.approx(problem.moments.signs.numpy())
    x, y = every_input(problem)
    params = good_network(problem)
    inside = x @ params["hidden.weight"].T + params["hidden.bias"]
    assert run.largest_inside <= float(inside.abs().max()) + 1e-12
    out = run.predict(x)
    assert bool((torch.as_tensor(out).reshape(-1).sign() == y).all())


@pytest.mark.parametrize(
    "problem", [DictionaryParity(9, 6, 3, noise_std=0.1), DictionaryParity(9, 6, 3, dictionary=Incoherent(1.0))]
)
def test_outside_the_lemma(problem):
    refused(r"^problem must have an Orthonormal dictionary and no noise for Lemma 5, got ", good_network, problem)
