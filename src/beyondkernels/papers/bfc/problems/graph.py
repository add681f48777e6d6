"""Connection graphs: from which layers each layer of a quadratic DenseNet takes its input."""

from __future__ import annotations

from beyondkernels.core import require, require_whole, shown

Graph = tuple[tuple[int, ...], ...]
"""The sets 𝒥₂, 𝒥₃, …, 𝒥_L, each from its highest layer down: ``((1,), (2, 0), (3, 1))``."""

MOST_LAYERS = 7
"""The most layers L: the output of layer 7 already is a polynomial of degree 128."""


def skip_graph(depth: int) -> Graph:
    """Each layer takes the one before it, and the inputs x or their squares in turn.

    The choice of the skip connections is ours. The paper allows any that :func:`require_graph` accepts.

    Arguments:
        depth: L, at least 2.

    >>> skip_graph(5)
    ((1,), (2, 0), (3, 1), (4, 0))
    """
    require_whole("depth", depth, 2)
    require(depth <= MOST_LAYERS, f"depth must be at most {MOST_LAYERS}, got {shown(depth)}")
    return ((1,), *((layer - 1, (layer - 3) % 2) for layer in range(3, depth + 1)))


def require_wiring(graph: Graph) -> None:
    """Ask that a network can be built with this graph: each layer takes some layers below it.

    >>> require_wiring(((1,), (2, 3)))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: graph must list layers below 3 in 𝒥₃, highest first and each once, got (2, 3)
    """
    require(len(graph) > 0, "graph must hold at least 𝒥₂, got no set")
    require(
        len(graph) < MOST_LAYERS,
        f"graph must have at most {MOST_LAYERS - 1} sets, 𝒥₂ to {_set(MOST_LAYERS)}, got {len(graph)}",
    )
    for layer, sources in enumerate(graph, 2):
        falling = list(sources) == sorted(set(sources), reverse=True)
        require(
            len(sources) > 0 and falling and 0 <= sources[-1] <= sources[0] < layer,
            f"graph must list layers below {layer} in {_set(layer)}, highest first and each once, got {shown(sources)}",
        )


def require_graph(graph: Graph) -> None:
    r"""Ask for the paper's conditions on a graph.

    .. math:: \mathcal J_\ell \subseteq \{0, \dots, \ell - 3\} \cup \{\ell - 1\}, \qquad
              \ell - 1 \in \mathcal J_\ell, \qquad |\mathcal J_\ell| \ge 2 \text{ for } \ell \ge 3

    So :math:`\mathcal J_2 = \{1\}`. The sentence of the error names the condition that does not hold.

    >>> require_graph(((1,), (2, 0), (3, 1)))
    >>> require_graph(((1,), (2,)))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: graph must have a skip connection into layer 3 (condition 2 of §2): 𝒥₃ needs
    another layer besides 2, got (2,)

    Reference: Allen-Zhu & Li (bfc), §2.
    """
    require_wiring(graph)
    for layer, sources in enumerate(graph, 2):
        name, given = _set(layer), shown(sources)
        require(
            layer - 1 in sources,
            f"graph must connect layer {layer} to the layer before it (condition 1 of §2): {name} needs {layer - 1}, "
            f"got {given}",
        )
        require(
            layer - 2 not in sources,
            f"graph must not connect layer {layer} to layer {layer - 2}: §2 lets {name} hold {layer - 1} and layers up "
            f"to {layer - 3}, got {given}"
            if layer > 2
            else f"graph must begin with (1,): §2 lets 𝒥₂ hold layer 1 alone, got {given}",
        )
        require(
            layer == 2 or len(sources) >= 2,
            f"graph must have a skip connection into layer {layer} (condition 2 of §2): {name} needs another layer "
            f"besides {layer - 1}, got {given}",
        )


def _set(layer: int) -> str:
    return f"𝒥{chr(ord('₀') + layer)}"
