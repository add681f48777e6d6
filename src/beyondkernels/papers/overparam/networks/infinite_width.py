"""Tangent kernels of the infinitely wide learners whose biases are zero with probability one half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from beyondkernels.activations import Activation, ReLU
from beyondkernels.core import require
from beyondkernels.core.constraints import between, positive
from beyondkernels.core.errors import shown
from beyondkernels.kernels.infinite.base import InfiniteWidth, affine_
from beyondkernels.kernels.infinite.fully_connected import infinite_tangent
from beyondkernels.kernels.infinite.pairs import Entries, Pairs
from beyondkernels.papers.overparam.networks.three_layer import ThreeLayerLearner
from beyondkernels.papers.overparam.networks.two_layer import TwoLayerLearner

BIAS = 2.0
"""The variance of a bias that is not zero, in units of that of a weight."""


@dataclass(frozen=True)
class InfiniteLearnerTangent(InfiniteWidth):
    r"""The tangent kernel of the hidden weights of :class:`TwoLayerLearner` and :class:`ThreeLayerLearner`.

    Pre-activations are Gaussian, with the covariance c of their inputs, or c + 2 if the neuron has a bias. With the
    dual maps κ of the ReLU and :math:`\dot\kappa` of its derivative, let

    .. math:: \bar\kappa(c) = \frac{\kappa(c) + \kappa(c + 2)}{2}, \qquad
              q(x, x') = \bar\kappa(\langle x, x' \rangle), \qquad
              s_1 = \bar{\dot\kappa}(\langle x, x' \rangle), \quad s_2 = \bar{\dot\kappa}(q).

    The mean of the kernel over the start, in the limit of a wide first layer, is

    .. math::
        \text{two layers:}\quad & \varepsilon_a^2\, m\, \langle x, x' \rangle\, s_1 \\
        \text{three layers:}\quad & \varepsilon_a^2\,\bigl(m_1 \langle x, x' \rangle\, s_1 s_2 + m_2\, q\, s_2\bigr),

    the first term from W, the second from V. For two layers it is exact at every width.

    Arguments:
        width: m, or m₁.
        output_std: :math:`\varepsilon_a`.
        second_width: m₂; None for two layers.
        group: what is trained: ``all``, ``hidden``, or one of W, V.
        tolerance: not used, because the dual maps have closed forms.

    >>> import torch
    >>> InfiniteLearnerTangent(width=100)(torch.eye(2)).diagonal()
    tensor([50., 50.], dtype=torch.float64)

    Reference: Allen-Zhu, Li & Liang (overparam), §2, for the networks.
    """

    activation: ClassVar[Activation | str] = ReLU()  # pyright: ignore[reportIncompatibleVariableOverride]
    remedy: ClassVar[str] = "smaller inputs"

    width: Annotated[int, positive]
    output_std: Annotated[float, between(0, 1, "(]")] = 1.0
    second_width: Annotated[int, positive] | None = None
    group: str = "all"
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-10

    def __post_init__(self) -> None:
        known = ("all", "hidden", "W") if self.second_width is None else ("all", "hidden", "W", "V")
        require(self.group in known, f"group must be one of {', '.join(known)}, got {shown(self.group)}")

    def __str__(self) -> str:
        layers = "two" if self.second_width is None else "three"
        return f"infinite-width tangent kernel of the {layers}-layer learner, width {self.width}, group: {self.group}"

    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        scale = self.output_std**2
        q, s1 = _mixed(inner, pairs)
        first = inner.mul_(s1).mul_(scale * self.width)
        if self.second_width is None:
            return first
        _, s2 = _mixed(q, pairs)
        second = q.mul_(s2).mul_(scale * self.second_width)
        if self.group == "V":
            return second
        first = first.mul_(s2)
        return first if self.group == "W" else _added(first, second)


def _added(one: Entries, other: Entries) -> Entries:
    return one.add_(other)


def _mixed(c: Entries, pairs: Pairs[Entries]) -> tuple[Entries, Entries]:
    """The dual maps of the ReLU and of its derivative, each the mean of neurons without and with a bias."""
    value, slope = pairs.dual(c.clone())
    other, other_slope = pairs.dual(affine_(c.clone(), 1.0, BIAS))
    return value.add_(other).mul_(0.5), slope.add_(other_slope).mul_(0.5)


@infinite_tangent.register
def _(network: TwoLayerLearner, group: str | tuple[int | str, ...] = "all") -> InfiniteLearnerTangent:
    return InfiniteLearnerTangent(network.width, network.output_std, None, _name(group))


@infinite_tangent.register
def _(network: ThreeLayerLearner, group: str | tuple[int | str, ...] = "all") -> InfiniteLearnerTangent:
    m1, m2 = network.widths
    return InfiniteLearnerTangent(m1, network.output_std, m2, _name(group))


def _name(group: str | tuple[int | str, ...]) -> str:
    require(isinstance(group, str), f"group must be a name, such as all, W or V, got {shown(group)}")
    return str(group)
