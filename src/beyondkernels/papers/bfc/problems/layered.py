"""The base of the quadratic targets: a network of squares whose layers are added with decreasing factors."""

from __future__ import annotations

import functools
from abc import abstractmethod

import torch

from beyondkernels.core import Estimate, Sample, Stream, require
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.papers.bfc.problems.graph import Graph
from beyondkernels.papers.bfc.problems.inputs import QuadraticInputs
from beyondkernels.papers.bfc.problems.moments import Spread, layer_spreads, target_spread
from beyondkernels.papers.bfc.problems.polynomials import Polynomials, features_of


class LayeredProblem(ScalarProblem):
    r"""A target that is a sum over the layers of a quadratic DenseNet.

    .. math::
        G^*_0 = x, \quad G^*_1 = x^2 - \mathbb E\,x^2, \quad
        S^*_\ell = \sum_{j \in \mathcal J_\ell} W^*_{\ell,j} G^*_j, \quad G^*_\ell = (S^*_\ell)^2, \qquad
        G^*(x) = \sum_{\ell=2}^L \alpha_\ell \sum_i G^*_{\ell,i}(x)

    Squares are taken coordinate by coordinate. Layers are numbered as in the paper, from 2 to L. All tensors are
    float64.

    Reference: Allen-Zhu & Li (bfc), eq. (1.1) and §2.
    """

    graph: Graph
    widths: tuple[int, ...]
    inputs: QuadraticInputs

    @property
    @abstractmethod
    def weights(self) -> dict[tuple[int, int], torch.Tensor]:
        """W*_{ℓ,j}, (k_ℓ, k_j) for each ℓ and each j in 𝒥_ℓ, where k₀ = k₁ = d. Shared: do not write to them."""

    @property
    @abstractmethod
    def scales(self) -> tuple[float, ...]:
        """α₂, …, α_L, the factors of Sum(G*_ℓ)."""

    @property
    def second_moments(self) -> tuple[float, ...]:
        """E[x_j²], what G₁ subtracts from x_j²."""
        return self.inputs.second_moments(self.in_dim)

    @property
    def depth(self) -> int:
        """L, the number of the last layer."""
        return len(self.graph) + 1

    def features(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """The hidden features S*_ℓ(x), (n, k_ℓ), by layer from 2 to L."""
        x = x.double()
        outputs = {0: x, 1: x.square() - torch.tensor(self.second_moments, dtype=torch.float64)}
        weights, found = self.weights, {}
        for layer, sources in enumerate(self.graph, 2):
            first, *rest = (outputs[j] @ weights[layer, j].T for j in sources)
            found[layer] = sum(rest, start=first)
            outputs[layer] = found[layer].square()
        return found

    def outputs(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """The layers G*_ℓ(x), (n, k_ℓ), by layer from 2 to L."""
        return {layer: s.square() for layer, s in self.features(x).items()}

    def contributions(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """What each layer adds to the target: α_ℓ Sum(G*_ℓ(x)), (n,), by layer from 2 to L."""
        return {layer: scale * g.sum(1) for (layer, g), scale in zip(self.outputs(x).items(), self.scales, strict=True)}

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """G*(x), (n,)."""
        return torch.stack(list(self.contributions(x).values())).sum(0)

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d), y = G*(x) (n, 1), ``hidden["contributions"]`` (n, L − 1); all float64."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        x = self.inputs.draw(n, self.in_dim, stream.child("inputs"))
        parts = torch.stack(list(self.contributions(x).values()), 1)
        return Sample(x, parts.sum(1, keepdim=True), {"contributions": parts})

    def polynomials(self) -> dict[int, Polynomials]:
        """S*_ℓ(x) as polynomials in x, by layer from 2 to L. The number of terms grows quickly with d and ℓ."""
        return features_of(self.graph, self.weights, self.second_moments, torch.eye(self.in_dim).double())

    @property
    def layer_means(self) -> dict[int, Estimate]:
        """The mean of Sum(G*_ℓ(x)) without its factor α_ℓ, by layer; each says whether it is exact."""
        return {layer: spread.mean for layer, spread in self._spreads.items()}

    @property
    def layer_stds(self) -> dict[int, Estimate]:
        """The standard deviation of Sum(G*_ℓ(x)) without its factor α_ℓ, by layer; each says whether it is exact."""
        return {layer: spread.std for layer, spread in self._spreads.items()}

    @property
    def layer_bounds(self) -> dict[int, float]:
        """B_ℓ, the smallest number of at least 1 with E Sum(G*_ℓ(x)) ≤ B_ℓ, by layer (normalised, §3)."""
        return {layer: max(1.0, mean.value) for layer, mean in self.layer_means.items()}

    @property
    def target_mean(self) -> Estimate:
        """E G*(x)."""
        return _target_spread(self).mean

    @property
    def target_std(self) -> Estimate:
        """The standard deviation of G*(x)."""
        return _target_spread(self).std

    @property
    def _spreads(self) -> dict[int, Spread]:
        return _layer_spreads(self._without_scales())

    def _without_scales(self) -> LayeredProblem:
        """The same layers with any factors: the moments of layers do not depend on the factors."""
        return self


@functools.lru_cache(maxsize=64)
def _layer_spreads(problem: LayeredProblem) -> dict[int, Spread]:
    return layer_spreads(problem)


@functools.lru_cache(maxsize=64)
def _target_spread(problem: LayeredProblem) -> Spread:
    return target_spread(problem)
