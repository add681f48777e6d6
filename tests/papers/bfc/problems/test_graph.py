import itertools

import pytest

from beyondkernels.core import InputError
from beyondkernels.papers.bfc.problems import require_graph, skip_graph
from refusals import refused


def _allowed(graph) -> bool:
    """§2, word by word."""
    for layer, sources in enumerate(graph, 2):
        permitted = {*range(layer - 2), layer - 1}
        if layer == 2:
            permitted = {1}
        if not set(sources) <= permitted or layer - 1 not in sources:
            return False
        if layer >= 3 and len(sources) < 2:
            return False
    return True


def test_every_graph_of_four_layers():
    """All choices of 𝒥₂, 𝒥₃, 𝒥₄: exactly those of §2 are accepted."""

    def subsets(layer):
        below = range(layer - 1, -1, -1)
        return [chosen for size in range(1, layer + 1) for chosen in itertools.combinations(below, size)]

    accepted = []
    for graph in itertools.product(subsets(2), subsets(3), subsets(4)):
        try:
            require_graph(graph)
        except InputError:
            assert not _allowed(graph)
        else:
            assert _allowed(graph)
            accepted.append(graph)
    assert sorted(accepted) == [((1,), (2, 0), (3, 0)), ((1,), (2, 0), (3, 1)), ((1,), (2, 0), (3, 1, 0))]


@pytest.mark.parametrize("depth", range(2, 8))
def test_skip_graphs_are_allowed(depth):
    graph = skip_graph(depth)
    assert len(graph) == depth - 1
    require_graph(graph)


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        ((), "graph must hold at least 𝒥₂, got no set"),
        (((1,), ()), r"layers below 3 in 𝒥₃, highest first and each once, got \(\)"),
        (((1,), (0, 2)), r"highest first and each once, got \(0, 2\)"),
        (((1,), (3, 0)), "graph must list layers below 3 in 𝒥₃"),
        (((1, 0),), r"graph must begin with \(1,\): §2 lets 𝒥₂ hold layer 1 alone, got \(1, 0\)"),
        (((0,),), r"graph must connect layer 2 to the layer before it \(condition 1 of §2\): 𝒥₂ needs 1, got \(0,\)"),
        (((1,), (2, 1)), r"must not connect layer 3 to layer 1: §2 lets 𝒥₃ hold 2 and layers up to 0, got \(2, 1\)"),
        (((1,), (2,)), r"skip connection into layer 3 \(condition 2 of §2\): 𝒥₃ needs another layer besides 2"),
        ((*skip_graph(7), (7, 0)), "graph must have at most 6 sets, 𝒥₂ to 𝒥₇, got 7"),
    ],
)
def test_broken_conditions_are_named(graph, sentence):
    refused(sentence, require_graph, graph)
