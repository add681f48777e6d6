import dataclasses

import pytest

from beyondkernels.execution import chunks
from beyondkernels.store import RunSpec


@pytest.mark.parametrize(
    ("members", "at_once", "workers", "sizes"),
    [(10, 4, 1, [4, 4, 2]), (10, 4, 2, [4, 4, 2]), (10, 4, 5, [2] * 5), (10, 100, 2, [5, 5]), (3, 0, 2, [1, 1, 1])],
)
def test_chunk_sizes(toys, members, at_once, workers, sizes):
    specs = [RunSpec(toys.Line(), toys.Mean(at_once=at_once), 6, 5, seed) for seed in range(members)]
    cut = chunks(specs, workers)
    assert [len(chunk) for chunk in cut] == sizes
    assert [spec for chunk in cut for spec in chunk] == specs


def test_only_equal_sizes_and_kinds_share_a_chunk_and_large_ones_come_first(toys):
    spec = RunSpec(toys.Line(), toys.Mean(), 6, 5, 0)
    others = [
        dataclasses.replace(spec, samples=7),
        dataclasses.replace(spec, test_samples=6),
        dataclasses.replace(spec, problem=toys.Line(dim=4)),
        dataclasses.replace(spec, learner=toys.Raising()),  # the same ensemble key in another class
    ]
    together = [spec, dataclasses.replace(spec, seed=1), dataclasses.replace(spec, learner=toys.Mean(label="x"))]
    cut = chunks([*others, *together, spec], 1)
    assert sorted(map(len, cut)) == [1, 1, 1, 1, 3]
    assert cut[0] == together
    assert cut[1] == [others[0]]
