import itertools

import pytest

import beyondkernels.papers.features as bp
from refusals import refused


@pytest.mark.parametrize("k", range(1, 9))
def test_sets_by_definition(k):
    assert bp.Parity().counts(k) == tuple(s for s in range(k + 1) if s % 2 == 1)
    assert bp.Threshold().counts(k) == tuple(s for s in range(k + 1) if s > k / 2)
    for low, high in itertools.combinations_with_replacement(range(k + 1), 2):
        if high - low < k:
            assert bp.Interval(low, high).counts(k) == tuple(s for s in range(k + 1) if low <= s <= high)
    assert bp.Counts((k, 0, k)).counts(k + 1) == (0, k)


def test_signs():
    assert bp.Counts((0, 2)).signs(3).tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (bp.Counts(()), "at least one count"),
        (bp.Counts((-1, 2)), "counts from 0 to 3"),
        (bp.Interval(2, 5), "counts from 0 to 3"),
        (bp.Counts((0, 1, 2, 3)), "leave out at least one count"),
    ],
)
def test_bad_sets(labels, sentence):
    refused(sentence, labels.counts, 3)
