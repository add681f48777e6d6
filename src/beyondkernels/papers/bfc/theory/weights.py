"""The weights of a quadratic DenseNet, of the target or of a learner, in one form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from beyondkernels.core import InputError, Tensors, require
from beyondkernels.papers.bfc.networks import QuadraticNetwork
from beyondkernels.papers.bfc.problems import Graph
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from beyondkernels.papers.bfc.theory.symmetric import star

Blocks = Mapping[tuple[int, int], torch.Tensor]
"""A matrix for each layer ℓ and each j in 𝒥_ℓ."""


@dataclass(frozen=True)
class QuadraticWeights:
    r"""What a quadratic DenseNet computes with, in the notation of the re-parameterised learner.

    .. math:: S_\ell = \sum_{j \ge 2} K_{\ell,j}\,\sigma(R_j S_j) + \sum_{j < 2} K_{\ell,j} S_j, \qquad
              F_\ell = \sigma\Bigl(\sum_{j \ge 2} W_{\ell,j}\,\sigma(R_j S_j) + \sum_{j < 2} W_{\ell,j} S_j\Bigr)

    The target and the plain learner have K = W and no R, which stands for the identity.

    Arguments:
        graph: 𝒥₂, 𝒥₃, …
        second_moments: E[x_j²], the centring of S₁, one for each coordinate.
        wide: W.
        small: K.
        spread: R by layer.
    """

    graph: Graph
    second_moments: tuple[float, ...]
    wide: Blocks
    small: Blocks
    spread: Mapping[int, torch.Tensor] = field(default_factory=dict)

    @classmethod
    def of_problem(cls, problem: LayeredProblem) -> QuadraticWeights:
        """Those of a target."""
        return cls(problem.graph, problem.second_moments, problem.weights, problem.weights)

    @classmethod
    def of_network(cls, network: QuadraticNetwork, params: Tensors, buffers: Tensors, dim: int) -> QuadraticWeights:
        """Those of a learner, of the layers that have parameters.

        Arguments:
            network: the architecture.
            params: ``M3.2``, … of a plain learner, ``W3.2``, ``K3.2``, … of a distilled one.
            buffers: ``R2``, … of a distilled one.
            dim: d.
        """
        if getattr(network, "leading", False):
            raise InputError("network must not add a leading coordinate to what its layers compute")
        moments = network.second_moments
        centring = moments if isinstance(moments, tuple) else (moments,) * dim

        def blocks(letter: str) -> Blocks:
            names = {(layer, j): f"{letter}{layer}.{j}" for layer in network.layers for j in network.sources(layer)}
            return {key: params[name].double() for key, name in names.items() if name in params}

        plain = blocks("M")
        spread = {layer: buffers[f"R{layer}"].double() for layer in network.layers if f"R{layer}" in buffers}
        return cls(network.graph, centring, plain or blocks("W"), plain or blocks("K"), {} if plain else spread)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that add something."""
        return tuple(dict.fromkeys(layer for layer, _ in self.wide))

    def sources(self, layer: int) -> tuple[int, ...]:
        """𝒥_ℓ."""
        return self.graph[layer - 2]

    def widened(self, widths: Mapping[int, int]) -> QuadraticWeights:
        """The same function with more features in some layers, which are zero and which no layer sees.

        Arguments:
            widths: how many features each layer is to have, at least as many as it has; others stay as they are.
        """
        require(not self.spread, "only weights without R can be widened, those of a target or of a plain learner")

        def grown(blocks: Blocks) -> Blocks:
            found = {}
            for (layer, j), W in blocks.items():
                rows, columns = widths.get(layer, len(W)), W.shape[1] if j < 2 else widths.get(j, W.shape[1])
                require(
                    rows >= len(W) and columns >= W.shape[1],
                    f"widths must be at least those of the weights, {len(W)} in layer {layer}, got {rows}",
                )
                found[layer, j] = torch.nn.functional.pad(W, (0, columns - W.shape[1], 0, rows - len(W)))
            return found

        return replace(self, wide=grown(self.wide), small=grown(self.small))

    def bar(self, layer: int, j: int, turn: torch.Tensor | None = None) -> torch.Tensor:
        r"""W̄ of a block: what it does to symmetric tensors of features.

        .. math:: \bar W_{\ell,j} = W_{\ell,j}\,(R_j V * R_j V) \quad (j \ge 2), \qquad
                  \bar W_{\ell,j} = W_{\ell,j} \quad (j < 2)

        so that :math:`\bar W_{\ell,j}(z * z) = W_{\ell,j}\,\sigma(R_j V z)`.

        Arguments:
            layer: ℓ.
            j: one of its sources.
            turn: V, a map into the features of layer j; the identity unless given.

        Reference: Allen-Zhu & Li (bfc), App. C.2 and F.3.
        """
        W = self.wide[layer, j]
        if j < 2:
            return W
        R = self.spread.get(j)
        seen = torch.eye(W.shape[1], dtype=torch.float64) if R is None else R
        require(
            seen.shape[0] == W.shape[1], f"spread of layer {j} must have {W.shape[1]} rows, got {tuple(seen.shape)}"
        )
        return W @ star(seen if turn is None else seen @ turn)

    def polynomials(self) -> tuple[dict[int, Polynomials], dict[int, Polynomials]]:
        """S_ℓ, and Sum(F_ℓ) without its factor, as polynomials in x by layer; their terms grow quickly with d and ℓ."""
        x = Polynomials.variables(len(self.second_moments))
        below = {0: x, 1: x.squared().plus_constants(-torch.tensor(self.second_moments, dtype=torch.float64))}
        hidden: dict[int, Polynomials] = {}
        sums: dict[int, Polynomials] = {}
        for layer in self.layers:
            sums[layer] = self._mixed(self.wide, layer, below).squared_norm()
            if (layer, self.sources(layer)[0]) not in self.small:
                break
            S = hidden[layer] = self._mixed(self.small, layer, below)
            below[layer] = (S.mixed(self.spread[layer]) if layer in self.spread else S).squared()
        return hidden, sums

    def _mixed(self, blocks: Blocks, layer: int, below: Mapping[int, Polynomials]) -> Polynomials:
        first, *rest = (below[j].mixed(blocks[layer, j]) for j in self.sources(layer))
        return first.plus(*rest)
