"""The hard instances of the lower bounds: for kernels and feature maps, and for two-layer polynomial networks."""

from __future__ import annotations

from typing import Literal

import torch

from beyondkernels.core import Stream, require, require_whole, shown
from beyondkernels.papers.bfc.problems.graph import MOST_LAYERS, Graph, skip_graph
from beyondkernels.papers.bfc.problems.matrices import nested
from beyondkernels.papers.bfc.problems.target import QuadraticTarget

Shallow = Literal["I.6", "I.7"]
"""The theorems on two-layer networks: with the squares of the inputs among their inputs, and without."""


def sparse_target(
    dim: int, depth: int, alphas: tuple[float, ...], instance: int = 0, chosen: tuple[int, ...] | None = None
) -> QuadraticTarget:
    r"""A target that no kernel learns from few points: one neuron in each layer, with sparse weights.

    .. math:: S^*_2 = \langle w_{2,0}, x\rangle + \langle w_{2,1}, G_1\rangle, \qquad
              S^*_\ell = G^*_{\ell-1} + \langle w_{\ell,0}, x\rangle + \langle w_{\ell,1}, G_1\rangle

    Each w has :math:`p = 2^{L-1}` entries :math:`1/\sqrt p`, at places drawn at random, and is zero elsewhere. Inputs
    are standard Gaussian. Layer 2 takes the inputs x themselves, which eq. (1.1) allows and §2 does not. That layers
    take no other layers is ours.

    Arguments:
        dim: d.
        depth: L.
        alphas: α₂, …, α_L.
        instance: selects the draw of all places.
        chosen: the places of the entries of :math:`w_{2,0}`, from 0, in place of drawn ones.

    >>> sparse_target(dim=5, depth=2, alphas=(1.0,), chosen=(0, 3)).weights[2, 0].round(decimals=4)
    tensor([[0.7071, 0.0000, 0.0000, 0.7071, 0.0000]], dtype=torch.float64)

    Reference: Allen-Zhu & Li (bfc), App. I.1.
    """
    require_depth(depth)
    p = 2 ** (depth - 1)
    require_sparse(dim, p, depth)
    if chosen is not None:
        inside = all(isinstance(i, int) and 0 <= i < dim for i in chosen)
        require(
            inside and len({*chosen}) == len(chosen) == p,
            f"chosen must hold {p} different places from 0 to {dim - 1}, got {shown(chosen)}",
        )
    stream = Stream(instance).child("hard target")

    def drawn(layer: int, source: int) -> torch.Tensor:
        places = stream.child(f"{layer}.{source}").permutation(dim)[:p].tolist()
        return _row(dim, chosen if chosen is not None and (layer, source) == (2, 0) else places)

    graph: Graph = tuple((1, 0) if layer == 2 else (layer - 1, 1, 0) for layer in range(2, depth + 1))
    matrices = tuple(
        tuple(nested(torch.ones(1, 1) if j > 1 else drawn(layer, j)) for j in sources)
        for layer, sources in enumerate(graph, 2)
    )
    return QuadraticTarget(dim, (1,) * (depth - 1), graph, alphas, matrices=matrices, in_class=False)


def even_target(dim: int, depth: int, alphas: tuple[float, ...], theorem: Shallow = "I.6") -> QuadraticTarget:
    r"""A target that two-layer polynomial networks need many neurons for: every weight is alike.

    Theorem I.6 has d neurons in layer 2, with :math:`W^*_{2,1} = I`, and one in each layer above. Theorem I.7 has one
    neuron in each layer. Rows of length d are :math:`(1/\sqrt d, \dots, 1/\sqrt d)`, and weights between single neurons
    are 1. The parts of the highest degree are

    .. math:: \alpha_L\, d^{-p/2} \bigl(\|x\|_4^4\bigr)^p, \; p = 2^{L-2} \quad \text{(I.6, } L \ge 3\text{)}, \qquad
              \alpha_L\, d^{-P/2} \bigl(\|x\|_2^2\bigr)^P, \; P = 2^{L-1} \quad \text{(I.7)}

    and :math:`\alpha_2 \|x\|_4^4` for I.6 with L = 2. The paper writes :math:`\alpha_L (\|x\|_4^4/d)^p` for the first,
    which is smaller by a factor :math:`d^{p/2}`. The graph is that of :func:`skip_graph`, so the target is in the
    concept class.

    Arguments:
        dim: d.
        depth: L.
        alphas: α₂, …, α_L; as in the concept class, α₂ = 1, and they decrease.
        theorem: ``I.6`` or ``I.7``.

    >>> even_target(dim=4, depth=3, alphas=(1.0, 0.1)).widths, even_target(4, 3, (1.0, 0.1), "I.7").widths
    ((4, 1), (1, 1))

    Reference: Allen-Zhu & Li (bfc), App. I.2.
    """
    require_depth(depth)
    require_whole("dim", dim)
    graph, wide = skip_graph(depth), theorem == "I.6"
    widths = (dim if wide else 1, *(1,) * (depth - 2))

    def weight(layer: int, source: int) -> torch.Tensor:
        if wide and layer == 2:
            return torch.eye(dim, dtype=torch.float64)
        columns = dim if source < 2 else widths[source - 2]
        return torch.full((1, columns), columns**-0.5, dtype=torch.float64)

    matrices = tuple(tuple(nested(weight(layer, j)) for j in sources) for layer, sources in enumerate(graph, 2))
    return QuadraticTarget(dim, widths, graph, alphas, matrices=matrices)


def require_depth(depth: int) -> None:
    """Ask for 2 ≤ L ≤ 7."""
    require_whole("depth", depth)
    require(
        2 <= depth <= MOST_LAYERS,
        f"depth (L) must be from 2 to {MOST_LAYERS}, since layer 2 is the first that squares a sum, got {depth}",
    )


def require_sparse(dim: int, entries: int, depth: int) -> None:
    """Ask that d coordinates have places for :math:`2^{L-1}` entries."""
    require_whole("dim", dim)
    require(
        entries <= dim,
        f"dim (d) must be at least 2^(L−1) = {entries} for depth L = {depth}, so that a weight has so many entries, "
        f"got {dim}",
    )


def _row(dim: int, places: tuple[int, ...] | list[int]) -> torch.Tensor:
    row = torch.zeros(1, dim, dtype=torch.float64)
    row[0, list(places)] = len(places) ** -0.5
    return row
