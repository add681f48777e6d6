"""The re-parameterised learner network of the paper on backward feature correction."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.activations import TruncatedSquare
from beyondkernels.core import Shape, Stream, Tensors
from beyondkernels.core.constraints import not_negative, positive, size
from beyondkernels.networks.linear import linear, product
from beyondkernels.papers.bfc.networks.base import QuadraticNetwork, by_layer
from beyondkernels.papers.bfc.problems.graph import Graph


@dataclass(frozen=True)
class DistilledDenseNet(QuadraticNetwork):
    r"""The learner network F: wide layers W learn the target, small layers K distil the features from them.

    .. math::
        S_\ell(x) &= \sum_{j \in \mathcal J_\ell, j \ge 2} K_{\ell,j}\, \sigma(R_j S_j(x))
                     + \sum_{j \in \{0, 1\} \cap \mathcal J_\ell} K_{\ell,j}\, S_j(x) \in \mathbb R^{k_\ell} \\
        F_\ell(x) &= \sigma\Bigl(\sum_{j \in \mathcal J_\ell, j \ge 2} W_{\ell,j}\, \sigma(R_j S_j(x))
                     + \sum_{j \in \{0, 1\} \cap \mathcal J_\ell} W_{\ell,j}\, S_j(x)\Bigr) \in \mathbb R^m \\
        F(x) &= \sum_{\ell=2}^L \alpha_\ell\, \mathrm{Sum}(F_\ell(x)), \qquad
                S_0(x) = x, \quad S_1(x) = x^2 - E[x^2], \quad \sigma(z) = z^2

    :math:`R_j` is random, with k(k + 1)/2 rows, and is not trained. With a truncation, training uses F̃, where
    :math:`\sigma(R_j S_j)` is :math:`\tilde\sigma_j(R_j S_j)` (:class:`TruncatedSquare`); predictions use F.

    The sizes of K and R follow the tensors: :class:`bk.bfc.DenseNetSGD` finds them while it
    trains. A layer without W adds nothing; a layer without K has no features.

    Arguments:
        graph: 𝒥₂, 𝒥₃, …
        width: m, the rows of each W.
        alphas: α₂, α₃, …, as numbers in front of the sums.
        ranks: k₂, k₃, …, with which ``init`` draws all layers. None, where they are not known, draws W₂ alone.
        truncation: B′ of each layer, or one for all; None does not truncate.
        second_moments: E[x²], which centres S₁: one number, or one for each coordinate.
        scale: the entries of W and K start as N(0, scale²/(rows · columns)): then the size of a layer does not depend
            on m. One for all layers, or one for each. Ours: the paper starts from zeros and noise.
        leading: whether points are (x₀, x) and predictions x₀ + F(x), as for the paper's classification.

    >>> network = DistilledDenseNet(graph=((1,), (2, 0)), width=20, alphas=(1.0, 0.1), ranks=(2, 1))
    >>> params, buffers = network.init(in_dim=5, out_dim=1, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in (params | buffers).items() if name[1] == "3"}
    {'W3.2': (20, 3), 'W3.0': (20, 5), 'K3.2': (1, 3), 'K3.0': (1, 5), 'R3': (1, 1)}

    Reference: Allen-Zhu & Li (bfc), §2.1, eqs. (2.1), (2.2).
    """

    grows_by: ClassVar[str | None] = "width"

    graph: Graph
    width: Annotated[int, size]
    alphas: Annotated[tuple[float, ...], positive]
    ranks: Annotated[tuple[int, ...], size] | None = None
    truncation: Annotated[float, positive] | Annotated[tuple[float, ...], positive] | None = None
    second_moments: Annotated[float, not_negative] | Annotated[tuple[float, ...], not_negative] = 1.0
    scale: Annotated[float, positive] | Annotated[tuple[float, ...], positive] = 1.0
    leading: bool = False

    def __post_init__(self) -> None:
        count = len(self.graph)
        given = {"alphas": self.alphas, "scale": by_layer(self.scale, count)}
        if self.ranks is not None:
            given["ranks"] = self.ranks
        if self.truncation is not None:
            given["truncation"] = by_layer(self.truncation, count)
        self.require_layers(**given)

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """Fresh parameters and R of all layers with known ranks; W₂ alone if the ranks are to be found."""
        d = self.input_size(in_dim, out_dim)
        if self.ranks is None:
            return self.drawn_wide(2, d, {}, stream), {}
        params: Tensors = {}
        buffers: Tensors = {}
        for layer, k in zip(self.layers, self.ranks, strict=True):
            params |= self.drawn_wide(layer, d, buffers, stream) | self._drawn("K", k, layer, d, buffers, stream)
            buffers |= self.drawn_spread(layer, k, stream)
        return params, buffers

    def drawn_wide(self, layer: int, d: int, buffers: Tensors, stream: Stream) -> Tensors:
        """Fresh W of a layer.

        Arguments:
            layer: ℓ.
            d: the dimension of the input.
            buffers: R of the layers below, for their sizes.
            stream: where they come from.
        """
        return self._drawn("W", self.width, layer, d, buffers, stream)

    def drawn_spread(self, layer: int, k: int, stream: Stream, draws: int = 1) -> Tensors:
        """R of a layer with k features: k(k + 1)/2 rows of N(0, 1/k²).

        Arguments:
            layer: ℓ.
            k: the features.
            stream: where it comes from.
            draws: how many are drawn. The one is taken from which the squares of the features are told apart best
                (:func:`conditioning`).
        """
        name = f"R{layer}"
        rows = (stream.child(name).at(i).normal(k * (k + 1) // 2, k, dtype=torch.float64) / k for i in range(draws))
        return {name: max(rows, key=conditioning) if draws > 1 else next(rows)}

    def hidden(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, truncate: bool = False
    ) -> dict[int, torch.Tensor]:
        """S_ℓ(x), (n, k_ℓ), of each layer that has K; S̃_ℓ(x) where truncated."""
        return self._layers(params, buffers, x, truncate)[0]

    def contributions(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, truncate: bool = False
    ) -> dict[int, torch.Tensor]:
        """α_ℓ Sum(F_ℓ(x)) of each layer that has W; of F̃_ℓ where truncated."""
        wide = self._layers(params, buffers, x, truncate)[1]
        return {layer: self.alpha(layer, buffers) * (z * z).sum(-1) for layer, z in wide.items()}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """F(x) for each row of x; F̃(x) in training."""
        return self.summed(self.contributions(params, buffers, x, truncate=train), x), buffers

    @property
    def footprint(self) -> int:
        return self.width * len(self.graph)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``layer2``, ``layer3`` and so on, and in each of them ``W2``, ``K2`` and so on."""
        parts = {f"{letter}{layer}": self.names(letter, layer) for layer in self.layers for letter in "WK"}
        return {f"layer{layer}": parts[f"W{layer}"] + parts[f"K{layer}"] for layer in self.layers} | parts

    def names(self, letter: str, layer: int) -> tuple[str, ...]:
        """The names of the blocks of W or K in a layer, in the order of 𝒥_ℓ."""
        return tuple(f"{letter}{layer}.{j}" for j in self.sources(layer))

    def _layers(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, truncate: bool
    ) -> tuple[dict[int, torch.Tensor], dict[int, torch.Tensor]]:
        """The features, and the arguments of the outer squares."""
        below, features, wide = self.ground(params, x), {}, {}
        for layer in self.layers:
            if self.names("W", layer)[0] in params:
                wide[layer] = self._mapped("W", layer, params, below)
            if self.names("K", layer)[0] not in params:
                break
            features[layer] = self._mapped("K", layer, params, below)
            z = product(features[layer], buffers[f"R{layer}"])
            below[layer] = self._square(layer).value(z) if truncate and self.truncation is not None else z * z
        return features, wide

    def _mapped(self, letter: str, layer: int, params: Tensors, below: dict[int, torch.Tensor]) -> torch.Tensor:
        pairs = zip(self.sources(layer), self.names(letter, layer), strict=True)
        return functools.reduce(operator.add, [linear(below[j], params[name]) for j, name in pairs])

    def _square(self, layer: int) -> TruncatedSquare:
        assert self.truncation is not None
        return TruncatedSquare(by_layer(self.truncation, len(self.graph))[layer - 2])

    def _drawn(self, letter: str, rows: int, layer: int, d: int, buffers: Tensors, stream: Stream) -> Tensors:
        scale = by_layer(self.scale, len(self.graph))[layer - 2]
        found: Tensors = {}
        for j, name in zip(self.sources(layer), self.names(letter, layer), strict=True):
            q = d if j < 2 else len(buffers[f"R{j}"])
            found[name] = stream.child(name).normal(rows, q, dtype=torch.float64) * (scale / (rows * q) ** 0.5)
        return found


def conditioning(R: torch.Tensor) -> float:
    r"""How well the squares of R's rows tell quadratic forms apart: 1 at best, 0 if they cannot.

    .. math:: \sigma_{\min}(R * R) / \sigma_{\max}(R * R), \qquad
              (R * R)_i = \bigl(R_{ia}^2,\ \sqrt2\, R_{ia} R_{ib}\bigr)_{a < b}

    :math:`\sigma(R S)` is :math:`R * R` applied to the products of the features S. At small k a random R is often far
    from 1, and then W must be large.

    Arguments:
        R: (k(k + 1)/2, k).

    >>> conditioning(torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5], [0.5, -(0.75**0.5)]]))
    0.7071067690849304
    """
    a, b = torch.triu_indices(R.shape[1], R.shape[1], device="cpu")
    pairs = R[:, a] * R[:, b] * torch.where(a == b, 1.0, 2**0.5)
    values = torch.linalg.svdvals(pairs)
    return float(values[-1] / values[0])
