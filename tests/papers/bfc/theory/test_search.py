"""The architectures of a search, against all sets that the conditions of §2 let through."""

import itertools

import pytest

from beyondkernels.core import InputError
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from beyondkernels.papers.bfc.problems import require_graph
from beyondkernels.papers.bfc.theory import allowed_graphs, alpha_grid, architectures
from refusals import refused


def subsets(items):
    return [chosen for count in range(len(items) + 1) for chosen in itertools.combinations(items, count)]


@pytest.mark.parametrize(("depth", "count"), [(2, 1), (3, 1), (4, 3), (5, 21)])
def test_all_graphs_and_no_other(depth, count):
    passed = []
    for sets in itertools.product(*(subsets(range(layer - 1, -1, -1)) for layer in range(2, depth + 1))):
        try:
            require_graph(sets)
        except InputError:
            continue
        passed.append(sets)
    assert sorted(passed) == sorted(allowed_graphs(depth))
    assert len(passed) == count


def test_alphas_decrease_from_one():
    grid = alpha_grid(4, 2.0, 5)
    assert len(grid) == len(set(grid)) == 10
    for alphas in grid:
        assert alphas[0] == 1
        assert list(alphas) == sorted(alphas, reverse=True)
        assert len(set(alphas)) == 3
    assert alpha_grid(2, 3.0, 1) == ((1.0,),)
    assert alpha_grid(3, 4.0, 2) == ((1.0, 0.25), (1.0, 0.0625))


def test_every_graph_with_every_alpha():
    network = QuadraticDenseNet(((1,), (2, 0)), (3, 2), (1.0, 0.5), scale=0.3)
    assert architectures(network) == (network,)
    found = architectures(network, (((1,), (2, 0)), ((1,), (2, 1))), alpha_grid(3, 10.0, 2))
    assert [(each.graph[1], each.alphas[1]) for each in found] == [
        ((2, 0), 0.1),
        ((2, 0), 0.01),
        ((2, 1), 0.1),
        ((2, 1), 0.01),
    ]
    assert all(each.widths == (3, 2) and each.scale == 0.3 for each in found)


def test_sentences():
    refused(r"^depth must be at most 5 to list all graphs, got 6$", allowed_graphs, 6)
    refused(r"^factor must be above 1, got 1\.0$", alpha_grid, 3, 1.0, 2)
