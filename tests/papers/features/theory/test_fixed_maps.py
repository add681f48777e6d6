"""Fixed maps and the exact laws behind their correlations, against enumeration."""

import itertools

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.features.problems import DictionaryParity, Incoherent, IntervalLabelling
from beyondkernels.papers.features.theory import FixedNeurons, FixedTangents, FixedWaves, every_pattern
from beyondkernels.papers.features.theory.fixed_maps import require_parity, signs_of
from beyondkernels.papers.features.theory.signed_laws import SignedLaws
from refusals import refused

MAPS = [FixedNeurons(5, seed=3), FixedWaves(5, spread=2.0, seed=3), FixedTangents(3, bias_std=0.2, seed=3)]


@pytest.mark.parametrize("features", MAPS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("background", [0.5, 0.3])
def test_correlations_are_means_over_all_patterns(features, background):
    problem = DictionaryParity(9, 8, relevant=3, background=background, instance=4)
    uniform, other = features.correlations(problem)
    z, y, p = every_pattern(problem)
    values = y[:, None] * features.values(z)
    assert uniform.shape == other.shape == (features.size(8),)
    torch.testing.assert_close(uniform, values.mean(0), rtol=0, atol=1e-14)
    torch.testing.assert_close(background * uniform + (1 - background) * other, p @ values, rtol=0, atol=1e-14)
    assert float(uniform.norm()) > 1e-4  # there is something to be right about


@pytest.mark.parametrize("times_signs", [False, True])
def test_laws_of_a_sum_by_counting(times_signs):
    n, A = torch.tensor([3.0, -1.0, 2.0, 0.0, 2.0], dtype=torch.float64), (0, 2, 3)
    laws = SignedLaws(n, A, 0.5)
    law = laws.uniform(times_signs)
    wanted = torch.zeros_like(law)
    where = {int(v): i for i, v in enumerate(laws.sums.tolist())}
    for z in itertools.product((-1.0, 1.0), repeat=5):
        i, y = where[int(sum(a * b for a, b in zip(n.tolist(), z, strict=True)))], z[0] * z[2] * z[3] / 32
        if times_signs:
            for j in range(5):
                wanted[j, i] += y * z[j]
        else:
            wanted[i] += y
    torch.testing.assert_close(law, wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("features", MAPS, ids=lambda each: type(each).__name__)
def test_features_are_bounded_and_fixed(features):
    z = 2.0 * Stream(0).bernoulli(0.5, 200, 30).double() - 1
    values = features.values(z)
    assert values.shape == (200, features.size(30))
    assert float(values.abs().max()) <= 1
    assert float(values.std(0).mean()) > 0.1
    assert torch.equal(features.values(z[:7]), values[:7])


def test_what_each_map_is():
    z = 2.0 * Stream(1).bernoulli(0.5, 4, 6).double() - 1
    for features, shape in zip(MAPS, (lambda u: min(1, max(0, u)), torch.cos, lambda u: float(0 < u < 1)), strict=True):
        weights, biases = features.drawn(6)
        values, wanted = features.values(z), []
        for row in z:
            for w, b in zip(weights, biases, strict=True):
                u = float(w @ row) * features.spread / (4 * 6**0.5) + b
                times = row if isinstance(features, FixedTangents) else torch.ones(1)
                wanted += [float(shape(u)) * float(sign) for sign in times]
        torch.testing.assert_close(values.flatten(), torch.tensor(wanted, dtype=torch.float64))
        assert torch.equal(weights, weights.round())


@pytest.mark.parametrize(
    "problem",
    [
        IntervalLabelling(),
        DictionaryParity(8, 6, relevant=4),
        DictionaryParity(8, 6, relevant=3, noise_std=0.1),
        DictionaryParity(8, 6, relevant=3, negative_ratio=0.4),
        DictionaryParity(8, 6, relevant=3, dictionary=Incoherent(2.0)),
        DictionaryParity(8, 6, relevant=3).without_structure(),
    ],
)
def test_other_problems_are_refused(problem):
    refused("problem must", require_parity, problem)


def test_signs_are_read_off_the_inputs():
    problem = DictionaryParity(40, 30, relevant=5, background=0.2, instance=2)
    sample = problem.sample(50, Stream(3))
    assert torch.equal(signs_of(problem, sample.x), 2.0 * sample.hidden["patterns"].double() - 1)
