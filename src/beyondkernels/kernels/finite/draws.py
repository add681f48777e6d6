"""The mean of the kernels of many freshly drawn networks of finite width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import torch

from beyondkernels.core import Stream, later, require
from beyondkernels.core.constraints import any_number, at_least, positive
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.checks import MEMORY, tensor
from beyondkernels.kernels.finite.gram import FiniteConjugate, FiniteTangent
from beyondkernels.networks import Network

_ROWS = 1024
"""Points whose features are held at once for the diagonal."""


@dataclass(frozen=True)
class MeanOverDraws(Kernel):
    r"""The mean of the tangent or conjugate kernels of networks drawn one after the other.

    .. math:: \bar K(x, x') = \frac1T \sum_{t=1}^T K_{\theta_t}(x, x'), \qquad
              \mathrm{se}(x, x')^2 = \frac{1}{T (T - 1)} \sum_{t=1}^T \bigl(K_{\theta_t} - \bar K\bigr)^2

    It is there for every network, also where no deterministic limit of infinite width exists: for the bottleneck form
    of the three-layer ResNet it averages over :math:`\mathrm{out}_1` and everything else.

    Arguments:
        network: the network.
        draws: T.
        kind: ``tangent`` (the mean of the diagonal over outputs) or ``conjugate`` (what enters the last layer,
            scaled as in ``conjugate_features``, which says over which readouts it is the output's covariance).
        group: the parameters in which the tangent kernel takes derivatives: ``all`` or one of the network's groups.
        out_dim: the number of outputs.
        seed: of all draws.
        memory: bytes that one draw may take; it changes no value beyond rounding.
        in_shape: the shape of points for the network, into which vectors are folded; None for that in which they come.

    >>> from beyondkernels.networks import ThreeLayerResNet
    >>> kernel = MeanOverDraws(ThreeLayerResNet(width=32, form="bottleneck"), draws=10, out_dim=3)
    >>> x = torch.eye(4)
    >>> kernel(x).shape, bool((kernel.standard_error(x) > 0).all())
    (torch.Size([4, 4]), True)

    Reference: Allen-Zhu & Li (resnet), §6, for the bottleneck form.
    """

    network: Network
    draws: Annotated[int, at_least(1)]
    kind: Literal["tangent", "conjugate"] = "tangent"
    group: str = "all"
    out_dim: Annotated[int, positive] = 1
    seed: Annotated[int, any_number] = 0
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})
    in_shape: Annotated[tuple[int, ...], positive] | None = later(None)

    def __post_init__(self) -> None:
        require(
            self.kind == "tangent" or self.group == "all",
            f"group must be left at 'all' for a conjugate kernel, which has no derivatives, got {shown(self.group)}",
        )

    def for_shape(self, in_shape: tuple[int, ...]) -> MeanOverDraws:
        return self if self.in_shape is not None else replace(self, in_shape=in_shape)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return _spread(self._grams(x1, x2))[0]

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return _spread(self._grams(x, None))[0]

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return _spread(self._diagonals(x))[0]

    def standard_error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """The standard error of every entry of ``kernel(x1, x2)`` as an estimate of the mean over all draws, (n1, n2).

        Arguments:
            x1: points, shape (n1, in_dim).
            x2: points, shape (n2, in_dim); None for x1 itself.
        """
        require(self.draws >= 2, f"draws must be at least 2 for a standard error, got {self.draws}")
        x1 = tensor("x1", x1)
        if x1.ndim > 2 and self.in_shape is None:
            return self.for_shape(tuple(x1.shape[1:])).standard_error(x1, x2)
        x2 = None if x2 is None else points("x2", x2)
        _, squares = _spread(self._grams(points("x1", x1), x2))
        return squares.div_(self.draws * (self.draws - 1)).sqrt_()

    def _seeds(self) -> list[int]:
        return [int(Stream(self.seed).child("draw", str(i)).integers(2**62)) for i in range(self.draws)]

    def _kernels(self) -> Iterator[FiniteTangent | FiniteConjugate]:
        for seed in self._seeds():
            if self.kind == "tangent":
                yield FiniteTangent(self.network, seed, self.group, self.out_dim, self.memory, self.in_shape)
            else:
                yield FiniteConjugate(self.network, seed, self.out_dim, self.memory, self.in_shape)

    def _grams(self, x1: torch.Tensor, x2: torch.Tensor | None) -> Iterator[torch.Tensor]:
        for kernel in self._kernels():
            yield kernel(x1, x2)

    def _diagonals(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for kernel in self._kernels():
            if isinstance(kernel, FiniteConjugate):
                yield torch.cat([kernel.features(part).square().sum(1) for part in x.split(_ROWS)])
            else:
                yield kernel.diagonal(x)


def _spread(draws: Iterable[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean, and the sum of squares of what is left, in one pass that subtracts no large numbers."""
    mean = squares = None
    for count, values in enumerate(draws, start=1):
        if mean is None or squares is None:
            mean, squares = values.clone(), torch.zeros_like(values)
        else:
            change = values - mean
            mean = mean.add_(change, alpha=1 / count)
            squares = squares.addcmul_(change, values - mean)
    assert mean is not None and squares is not None, "there is a draw"
    return mean, squares
