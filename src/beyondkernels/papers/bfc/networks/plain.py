"""The learner network of the paper on backward feature correction, before its re-parameterisation."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Shape, Stream, Tensors, later
from beyondkernels.core.constraints import not_negative, positive, size
from beyondkernels.networks.linear import linear
from beyondkernels.papers.bfc.networks.base import QuadraticNetwork, by_layer
from beyondkernels.papers.bfc.problems.graph import Graph


@dataclass(frozen=True)
class QuadraticDenseNet(QuadraticNetwork):
    r"""The learner network G: each layer is the square of a linear map of layers below it.

    .. math:: G_\ell(x) = \sigma\Bigl(\sum_{j \in \mathcal J_\ell} M_{\ell,j}\, G_j(x)\Bigr), \qquad
              G(x) = \sum_{\ell=2}^L \alpha_\ell\, \mathrm{Sum}(G_\ell(x)), \qquad \sigma(z) = z^2

    with :math:`G_0(x) = x` and :math:`G_1(x) = x^2 - E[x^2]`. With a readout, :math:`\mathrm{Sum}(G_\ell)` is
    :math:`u_\ell^\top G_\ell` with trained :math:`u_\ell`, as in (1.1).

    Arguments:
        graph: 𝒥₂, 𝒥₃, …
        widths: the neurons of each layer, from the second on. The paper takes k(k + 1)/2 for a target layer of k.
        alphas: α₂, α₃, …, as numbers in front of the sums.
        second_moments: E[x²], which centres G₁: one number, or one for each coordinate.
        scale: entries of :math:`M_{\ell,j}` start as N(0, scale²/q), where q numbers enter; one for all layers or one
            for each. Ours: the paper starts from zeros, where the gradient of a square vanishes.
        leading: whether points are (x₀, x) and predictions x₀ + G(x), as for the paper's classification.
        readout: whether there are u₂, u₃, …, which start as ones.

    >>> network = QuadraticDenseNet(graph=((1,), (2, 0)), widths=(3, 2), alphas=(1.0, 0.1))
    >>> params, buffers = network.init(in_dim=5, out_dim=1, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'M2.1': (3, 5), 'M3.2': (2, 3), 'M3.0': (2, 5)}

    Reference: Allen-Zhu & Li (bfc), §2, "Learner network".
    """

    graph: Graph
    widths: Annotated[tuple[int, ...], size]
    alphas: Annotated[tuple[float, ...], positive]
    second_moments: Annotated[float, not_negative] | Annotated[tuple[float, ...], not_negative] = 1.0
    scale: Annotated[float, positive] | Annotated[tuple[float, ...], positive] = 1.0
    leading: bool = False
    readout: bool = later(False)

    def __post_init__(self) -> None:
        self.require_layers(widths=self.widths, alphas=self.alphas, scale=by_layer(self.scale, len(self.graph)))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        d, scales = self.input_size(in_dim, out_dim), by_layer(self.scale, len(self.graph))
        params: Tensors = {}
        for layer, width, scale in zip(self.layers, self.widths, scales, strict=True):
            for j, name in zip(self.sources(layer), self._names(layer), strict=True):
                q = d if j < 2 else self.widths[j - 2]
                params[name] = stream.child(name).normal(width, q, dtype=torch.float64) * (scale / q**0.5)
            if self.readout:
                params[f"u{layer}"] = torch.ones(width, dtype=torch.float64)
        return params, {}

    def hidden(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """The arguments of the squares, (n, widths)."""
        below, found = self.ground(params, x), {}
        for layer in self.layers:
            names = self._names(layer)
            if names[0] not in params:
                break
            parts = [linear(below[j], params[name]) for j, name in zip(self.sources(layer), names, strict=True)]
            found[layer] = S = functools.reduce(operator.add, parts)
            below[layer] = S * S
        return found

    def contributions(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        squares = {layer: S * S for layer, S in self.hidden(params, buffers, x).items()}
        if self.readout:
            squares = {layer: G * params[f"u{layer}"] for layer, G in squares.items()}
        return {layer: self.alpha(layer, buffers) * G.sum(-1) for layer, G in squares.items()}

    @property
    def footprint(self) -> int:
        """How many hidden neurons there are: each keeps one number for every point."""
        return sum(self.widths)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``layer2``, ``layer3`` and so on, each with its part of the readout, and ``readout``."""
        outer = {layer: (f"u{layer}",) if self.readout else () for layer in self.layers}
        whole = {"readout": tuple(itertools.chain(*outer.values()))} if self.readout else {}
        return {f"layer{layer}": self._names(layer) + outer[layer] for layer in self.layers} | whole

    def _names(self, layer: int) -> tuple[str, ...]:
        return tuple(f"M{layer}.{j}" for j in self.sources(layer))
