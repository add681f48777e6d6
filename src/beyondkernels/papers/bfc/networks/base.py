"""What both learners of the paper on backward feature correction have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, cast

import torch

from beyondkernels.core import Shape, Tensors, require, shown, size_of, vectors
from beyondkernels.networks.base import Network
from beyondkernels.papers.bfc.problems.graph import Graph, require_wiring


class QuadraticNetwork(Network):
    r"""A network of squares whose prediction is a weighted sum over its layers.

    .. math:: F(x) = \sum_{\ell=2}^L \alpha_\ell\, \mathrm{Sum}(F_\ell(x)), \qquad
              G_0(x) = x, \qquad G_1(x) = x^2 - E[x^2]

    Layers are numbered as in the paper, from 2 to L. A layer whose parameters are missing adds nothing: layers can join
    while training goes on. Parameters are drawn in float64, because the prediction is a polynomial of degree
    :math:`2^L`.

    The network asks less of its graph than the paper asks of the target's: a layer may see any layers before it. So
    the paper's toys can be learnt, and wrong graphs can be tried.

    Reference: Allen-Zhu & Li (bfc), §2.
    """

    example: ClassVar[str] = "QuadraticDenseNet(((1,), (2, 0)), (2, 2), (1.0, 0.1))"

    graph: Graph
    alphas: tuple[float, ...]
    second_moments: float | tuple[float, ...]
    leading: bool

    @property
    def depth(self) -> int:
        """L."""
        return len(self.graph) + 1

    @property
    def layers(self) -> range:
        """The numbers of the layers, 2 to L."""
        return range(2, self.depth + 1)

    def sources(self, layer: int) -> tuple[int, ...]:
        """𝒥_ℓ."""
        return self.graph[layer - 2]

    def alpha(self, layer: int, buffers: Tensors) -> torch.Tensor | float:
        """α_ℓ, from the buffers where they hold it: networks that differ in α alone train as one ensemble."""
        return buffers.get("alpha", self.alphas)[layer - 2]

    def program(self) -> QuadraticNetwork:
        """The network without α, and without the scale of its start, which no step needs."""
        plain = (1.0,) * len(self.graph)
        return cast(QuadraticNetwork, replace(cast(Any, self), alphas=plain, scale=1.0))

    def own_buffers(self) -> Tensors:
        return {"alpha": torch.tensor(self.alphas, dtype=torch.float64)}

    @abstractmethod
    def hidden(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """The hidden features S_ℓ(x), (n, …), of each layer that has parameters."""

    @abstractmethod
    def contributions(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """What each layer that has parameters adds to the prediction, α_ℓ Sum(F_ℓ(x)), (n,)."""

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        return self.summed(self.contributions(params, buffers, x), x), buffers

    def features(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        """Sum(F_ℓ(x)) of each layer, (n, L − 1): predictions are linear in them."""
        parts = self.contributions(params, buffers, x)
        return torch.stack([part / self.alpha(layer, buffers) for layer, part in parts.items()], 1)

    def summed(self, contributions: dict[int, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        """The prediction (n, 1) from what the layers add."""
        parts = [*contributions.values()]
        leading = [vectors(x)[:, 0].to(parts[0].dtype)] if self.leading else []
        return torch.stack([*leading, *parts]).sum(0).unsqueeze(-1)

    def ground(self, params: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """G₀ and G₁ of points, (n, d) each, in the precision of the parameters."""
        x = vectors(x).to(next(iter(params.values())).dtype)
        x = x[:, 1:] if self.leading else x
        centre = self.second_moments
        means = x.new_tensor(centre) if isinstance(centre, tuple) else centre
        return {0: x, 1: x * x - means}

    def input_size(self, in_dim: Shape, out_dim: int) -> int:
        """The dimension d of G₀ and G₁; the sizes of the data are checked."""
        require(out_dim == 1, f"{type(self).__name__} predicts one number, got out_dim={out_dim}")
        size = size_of(in_dim) - self.leading
        require(size >= 1, f"points must have a coordinate besides the leading one, got in_dim={in_dim}")
        centre = self.second_moments
        require(
            not isinstance(centre, tuple) or len(centre) == size,
            f"second_moments must hold one number for each of the {size} coordinates, got {shown(centre)}",
        )
        return size

    def require_layers(self, **fields: tuple[object, ...]) -> None:
        """Check the graph, and that every field has one value for each layer."""
        require_wiring(self.graph)
        for name, values in fields.items():
            require(
                len(values) == len(self.graph),
                f"{name} must hold {len(self.graph)} values, one for each layer of the graph, got {shown(values)}",
            )


def by_layer(values: float | tuple[float, ...], layers: int) -> tuple[float, ...]:
    """One value for each layer, where a single one stands for all.

    >>> by_layer(0.5, 2), by_layer((0.5, 0.1), 2)
    ((0.5, 0.5), (0.5, 0.1))
    """
    return values if isinstance(values, tuple) else (values,) * layers
