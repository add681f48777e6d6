"""All architectures that the paper's conditions allow, for a search where the target's is not known."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from beyondkernels.core import require, require_whole
from beyondkernels.papers.bfc.networks import QuadraticNetwork
from beyondkernels.papers.bfc.problems import Graph, require_graph

_DEEPEST = 5  # 1 · 1 · 3 · 7 graphs; the next depth has 315


def allowed_graphs(depth: int) -> tuple[Graph, ...]:
    r"""Every connection graph that §2 allows: :math:`\prod_{\ell=3}^L (2^{\ell-2} - 1)` of them.

    Each 𝒥_ℓ holds ℓ − 1 and at least one of 0, …, ℓ − 3; and 𝒥₂ = {1}.

    Arguments:
        depth: L, from 2 to 5.

    >>> allowed_graphs(4)
    (((1,), (2, 0), (3, 0)), ((1,), (2, 0), (3, 1)), ((1,), (2, 0), (3, 1, 0)))

    Reference: Allen-Zhu & Li (bfc), §2 and footnote 15.
    """
    require_whole("depth", depth, 2)
    require(depth <= _DEEPEST, f"depth must be at most {_DEEPEST} to list all graphs, got {depth}")
    choices: list[Graph] = [((1,),)]
    for layer in range(3, depth + 1):
        below = range(layer - 3, -1, -1)
        skips = [skip for count in range(1, layer - 1) for skip in itertools.combinations(below, count)]
        choices.append(tuple((layer - 1, *skip) for skip in sorted(skips, key=lambda skip: (len(skip), skip))))
    found = tuple(itertools.product(*choices))
    for graph in found:
        require_graph(graph)
    return found


def alpha_grid(depth: int, factor: float, count: int) -> tuple[tuple[float, ...], ...]:
    r"""Factors α′ to try: :math:`\alpha'_2 = 1` and, for the other layers, decreasing powers of one factor.

    .. math:: \alpha'_\ell \in \{f^{-1}, f^{-2}, \dots, f^{-c}\}, \qquad \alpha'_{\ell+1} < \alpha'_\ell

    It suffices to know α up to a constant factor, because weights can be scaled (footnote 15).

    Arguments:
        depth: L, at least 2.
        factor: f > 1.
        count: c, how many powers.

    >>> alpha_grid(4, 10.0, 3)
    ((1.0, 0.1, 0.01), (1.0, 0.1, 0.001), (1.0, 0.01, 0.001))

    Reference: Allen-Zhu & Li (bfc), footnote 15.
    """
    require_whole("depth", depth, 2)
    require_whole("count", count, max(depth - 2, 1))
    require(factor > 1, f"factor must be above 1, got {factor}")
    powers = [factor**-i for i in range(1, count + 1)]
    return tuple((1.0, *chosen) for chosen in itertools.combinations(powers, depth - 2))


AnyNetwork = TypeVar("AnyNetwork", bound=QuadraticNetwork)


def architectures(
    network: AnyNetwork, graphs: Sequence[Graph] = (), alphas: Sequence[tuple[float, ...]] = ()
) -> tuple[AnyNetwork, ...]:
    """A network with every graph and every α′, for :class:`beyondkernels.engine.BestOf` to choose from.

    Arguments:
        network: says everything else, such as widths.
        graphs: those to try; none keeps the network's own.
        alphas: those to try; none keeps the network's own.

    >>> from beyondkernels.papers.bfc.networks import QuadraticDenseNet
    >>> network = QuadraticDenseNet(((1,), (2, 0), (3, 1)), (2, 2, 1), (1.0, 0.1, 0.01))
    >>> len(architectures(network, allowed_graphs(4), alpha_grid(4, 10.0, 3)))
    9

    Reference: Allen-Zhu & Li (bfc), footnotes 9 and 15.
    """
    every = itertools.product(graphs or (network.graph,), alphas or (network.alphas,))
    return tuple(replace(cast(Any, network), graph=graph, alphas=alpha) for graph, alpha in every)
