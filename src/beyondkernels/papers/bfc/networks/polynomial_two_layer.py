"""A hidden layer whose neurons learn their own polynomials: the shallow learner that depth is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Shape, Stream, Tensors, require, shown, size_of, vectors
from beyondkernels.core.constraints import at_least, at_most, not_negative, positive, size
from beyondkernels.networks.base import Network
from beyondkernels.networks.linear import linear


@dataclass(frozen=True)
class PolynomialTwoLayer(Network):
    r"""A two-layer network whose activations are trained polynomials.

    .. math:: h(x) = c_0 + \sum_{i=1}^r \tilde\sigma_i\bigl(\langle w_i, z(x)\rangle + b_i\bigr), \qquad
              \tilde\sigma_i(t) = \sum_{q=1}^p c_{iq}\, \frac{\mathrm{He}_q(t)}{\sqrt{q!}}

    where z(x) is :math:`(x, x^2 - E[x^2])` or x. Each neuron has coefficients of its own, so every polynomial of degree
    p can stand for :math:`a_i \tilde\sigma_i` of the theorems; Hermite polynomials He are a basis in which numbers stay
    of one size. With the squares among its inputs, degree :math:`2^{L-1}` gives polynomials of degree :math:`2^L` in x,
    as the network of L layers has (Theorem I.6); without them it takes degree :math:`2^L` (Theorem I.7). Numbers are
    float64.

    Arguments:
        width: r.
        degree: p.
        squares: whether x² − E[x²] is among the inputs.
        second_moments: E[x²]: one number, or one for each coordinate.
        scale: the start (ours): entries of w are N(0, scale²/dim z), biases zero, coefficients N(0, scale²/(rp)).

    >>> params, buffers = PolynomialTwoLayer(width=3, degree=4).init(in_dim=5, out_dim=1, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'hidden.weight': (3, 10), 'hidden.bias': (3,), 'output.weight': (1, 12), 'output.bias': (1,)}

    Reference: Allen-Zhu & Li (bfc), Theorems I.6 and I.7.
    """

    grows_by: ClassVar[str | None] = "width"

    width: Annotated[int, size]
    degree: Annotated[int, at_least(1), at_most(256)]
    squares: bool = True
    second_moments: Annotated[float, not_negative] | Annotated[tuple[float, ...], not_negative] = 1.0
    scale: Annotated[float, positive] = 1.0

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        d, means = size_of(in_dim), self.second_moments
        require(
            not isinstance(means, tuple) or len(means) == d,
            f"second_moments must hold one number for each of the {d} coordinates, got {shown(means)}",
        )
        inputs, outputs = 2 * d if self.squares else d, self.width * self.degree

        def draw(name: str, *shape: int) -> torch.Tensor:
            return stream.child(name).normal(*shape, dtype=torch.float64) * (self.scale / shape[1] ** 0.5)

        return {
            "hidden.weight": draw("hidden", self.width, inputs),
            "hidden.bias": torch.zeros(self.width, dtype=torch.float64),
            "output.weight": draw("output", out_dim, outputs),
            "output.bias": torch.zeros(out_dim, dtype=torch.float64),
        }, {}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        t = linear(self._inputs(x), params["hidden.weight"], params["hidden.bias"])
        basis = torch.stack(_hermite(t, self.degree), -1).flatten(-2)
        return linear(basis, params["output.weight"], params["output.bias"]), buffers

    @property
    def footprint(self) -> int:
        return self.width * (self.degree + 1)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden``: weights and biases of the neurons; ``last``: the coefficients of their polynomials."""
        return {"hidden": ("hidden.weight", "hidden.bias"), "last": ("output.weight", "output.bias")}

    def _inputs(self, x: torch.Tensor) -> torch.Tensor:
        x = vectors(x).to(torch.float64)
        means = self.second_moments
        centre = x.new_tensor(means) if isinstance(means, tuple) else means
        return torch.cat([x, x * x - centre], -1) if self.squares else x


def _hermite(t: torch.Tensor, degree: int) -> list[torch.Tensor]:
    r"""He₁, …, He_p over :math:`\sqrt{q!}`, by √(q+1) h_{q+1} = t h_q − √q h_{q−1}."""
    below, values = torch.ones_like(t), [t]
    for q in range(1, degree):
        values.append((t * values[-1] - math.sqrt(q) * below) / math.sqrt(q + 1))
        below = values[-2]
    return values
