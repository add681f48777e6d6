"""Initial weights of a two-layer network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Component, Stream, Tensors, unknown
from beyondkernels.core.constraints import positive


class Initialisation(Component, ABC):
    """Draws the parameters of a two-layer network with 2·pairs neurons."""

    @abstractmethod
    def draw(self, pairs: int, in_dim: int, out_dim: int, stream: Stream) -> Tensors:
        """``hidden.weight`` (2·pairs, in_dim), ``hidden.bias`` (2·pairs,), ``output.weight`` (out_dim, 2·pairs)."""


@dataclass(frozen=True)
class Symmetric(Initialisation):
    r"""Gaussian weights. Each neuron has a twin with the opposite output weight, so the network starts at zero.

    .. math:: w_i \sim N(0, \sigma_w^2 I),\ b_i \sim N(0, \sigma_b^2),\ a_i \sim N(0, \sigma_a^2),\qquad
              w_{m+i} = w_i,\ b_{m+i} = b_i,\ a_{m+i} = -a_i.

    Arguments:
        weight_std: :math:`\sigma_w`; by default 1/√in_dim.
        bias_std: :math:`\sigma_b`; by default :math:`\sigma_w`.
        output_std: :math:`\sigma_a`; by default 1/√(2·pairs).

    Reference: Shi, Wei & Liang (features), §3.1, "Training Process".
    """

    weight_std: Annotated[float, positive] | None = None
    bias_std: Annotated[float, positive] | None = None
    output_std: Annotated[float, positive] | None = None

    def draw(self, pairs: int, in_dim: int, out_dim: int, stream: Stream) -> Tensors:
        """The parameters, drawn from the streams ``hidden.weight``, ``hidden.bias`` and ``output.weight``."""
        weight_std = in_dim**-0.5 if self.weight_std is None else self.weight_std
        bias_std = weight_std if self.bias_std is None else self.bias_std
        output_std = (2 * pairs) ** -0.5 if self.output_std is None else self.output_std
        w = weight_std * stream.child("hidden.weight").normal(pairs, in_dim)
        b = bias_std * stream.child("hidden.bias").normal(pairs)
        a = output_std * stream.child("output.weight").normal(out_dim, pairs)
        return {
            "hidden.weight": torch.cat([w, w]),
            "hidden.bias": torch.cat([b, b]),
            "output.weight": torch.cat([a, -a], dim=1),
        }


NAMED: dict[str, Initialisation] = {"symmetric": Symmetric()}
"""The initialisations a network accepts by name."""


def initialisation(name_or_rule: str | Initialisation) -> Initialisation:
    """The initialisation of that name; an initialisation is returned as it is."""
    if isinstance(name_or_rule, Initialisation):
        return name_or_rule
    if name_or_rule not in NAMED:
        unknown("initialisation", name_or_rule, NAMED)
    return NAMED[name_or_rule]
