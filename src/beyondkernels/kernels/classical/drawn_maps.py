"""Feature maps for Theorem 3: derivatives of a random network, and coordinates with parities."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import activation
from beyondkernels.core import Stream, require
from beyondkernels.core.constraints import LARGEST_SIZE, at_least
from beyondkernels.kernels.classical.random_features import Neurons, RandomFeatures


@dataclass(frozen=True)
class DerivativeFeatures(Neurons):
    r"""Derivatives of a two-layer network at its random start, neuron after neuron: the features of a tangent kernel.

    .. math:: g(x) = \sum_r a_r\,\sigma(\langle w_r, x\rangle + b_r), \qquad
              \partial_{a_r} g = \sigma(z_r), \quad \partial_{b_r} g = a_r\sigma'(z_r), \quad
              \partial_{w_{ri}} g = a_r\sigma'(z_r)\,x_i

    Each neuron has in_dim + 2 features, in this order. The factors :math:`a_r` are left out, because they change no
    span. If the number of features is not a multiple of in_dim + 2, the last neuron has only its first ones.

    Arguments:
        count: how many features.
        activation: σ, an activation or its name.
        weight_std: the standard deviation of weights; None for :math:`1/\sqrt{\text{in\_dim}}`.
        bias_std: the standard deviation of biases.

    >>> DerivativeFeatures(count=7).features(torch.ones(2, 4), Stream(0)).shape
    torch.Size([2, 7])
    """

    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        """σ(z), σ′(z) and σ′(z)·x for one neuron after the other."""
        n, in_dim = x.shape
        z = self._arguments(x, -(-self.count // (in_dim + 2)), stream)
        sigma = activation(self.activation)
        value, slope = sigma.value(z)[:, :, None], sigma.derivative(z).to(z.dtype)[:, :, None]
        return torch.cat([value, slope, slope * x[:, None, :]], 2).reshape(n, -1)[:, : self.count]


@dataclass(frozen=True)
class ParityFeatures(RandomFeatures):
    r"""All coordinates, and then parities of one degree that are drawn without repetition.

    The mean over all targets :math:`x_i + \alpha\chi_S` of its best risk exceeds the bound for all feature maps only by
    what the in_dim features are worth that the coordinates take.

    Arguments:
        count: how many features.
        degree: k, how many signs are multiplied.

    >>> ParityFeatures(count=6, degree=2).features(torch.ones(2, 4), Stream(0)).shape
    torch.Size([2, 6])
    """

    count: Annotated[int, at_least(1)]
    degree: Annotated[int, at_least(1)]

    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        in_dim = x.shape[1]
        parities = max(0, self.count - in_dim)
        among = math.comb(in_dim, self.degree)
        require(
            parities <= among,
            f"count must be at most {in_dim + among}: {in_dim} coordinates and {among} parities of degree "
            f"{self.degree}, got {self.count}",
        )
        signs = x.sign()
        columns = [signs[:, : self.count]]
        if parities:
            require(among <= LARGEST_SIZE, f"there must be at most {LARGEST_SIZE} parities to draw from, got {among}")
            sets = list(itertools.combinations(range(in_dim), self.degree))
            drawn = stream.child("sets").permutation(among)[:parities].tolist()
            columns.append(torch.stack([signs[:, list(sets[i])].prod(1) for i in drawn], 1))
        return torch.cat(columns, 1)
