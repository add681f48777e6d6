"""Conjugate and tangent kernels of the infinitely wide three-layer residual network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from beyondkernels.activations import Activation
from beyondkernels.core import require
from beyondkernels.core.constraints import between, positive
from beyondkernels.kernels.infinite.base import GROUPS, InfiniteWidth, Scales, require_width, trained_layers
from beyondkernels.kernels.infinite.pairs import Entries, Pairs
from beyondkernels.networks import Parameterisation

LETTERS = ("W", "U", "A")
"""The weight matrices, from the inputs to the outputs."""


@dataclass(frozen=True)
class InfiniteResNetConjugate(InfiniteWidth):
    r"""The conjugate kernel of the three-layer ResNet A(h₁ + h₂), h₁ = σ(Wx + b₁), h₂ = σ(U h₁ + b₂), U a full matrix.

    It is the covariance of the outputs at the start. As the width grows, the pre-activations of the second layer
    become Gaussian and, neuron by neuron, independent of those of the first, so that with :math:`S_l` as in
    :class:`InfiniteConjugate` and :math:`\mu_l(x) = E\,\sigma(u_l)`

    .. math:: K(x, x') = v_A\,\bigl(S_1 + S_2 + \mu_1(x)\,\mu_2(x') + \mu_2(x)\,\mu_1(x')\bigr).

    Arguments:
        activation: σ, an activation or its name.
        parameterisation: scales of weights and biases; the readout A has no bias.
        tolerance: what quadrature aims at, for an activation without a closed form.

    >>> import torch
    >>> InfiniteResNetConjugate(parameterisation=Parameterisation(input_fan_in=1))(torch.eye(2)).diagonal()
    tensor([2.6366, 2.6366], dtype=torch.float64)

    Reference: Allen-Zhu & Li (resnet), eq. (2.1), for the network.
    """

    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_no_bias(self.parameterisation)

    def __str__(self) -> str:
        return (
            f"infinite-width conjugate kernel of the three-layer ResNet, {self.activation!r}, {self.parameterisation}"
        )

    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        W, U, A = _scales(self.parameterisation, in_dim)
        S1, _ = pairs.dual(W.covariance(inner), slope=False)
        S2, _ = pairs.dual(U.covariance(S1.clone()), slope=False)
        return A.covariance(S1.add_(S2).add_(pairs.crossed_means()))


@dataclass(frozen=True)
class InfiniteResNetTangent(InfiniteWidth):
    r"""The tangent kernel of the three-layer ResNet A(h₁ + h₂), h₁ = σ(Wx + b₁), h₂ = σ(U h₁ + b₂), U a full matrix.

    With :math:`S_l`, :math:`\dot S_l` and the gains g as in :class:`InfiniteTangent` and K as in
    :class:`InfiniteResNetConjugate`, the three matrices add

    .. math::
        A:\quad & g_A\,K / v_A, \\
        U:\quad & v_A\,\dot S_2\,(g_U S_1 + g_b), \\
        W:\quad & v_A\,\dot S_1\,(1 + v_U \dot S_2)\,(g_W \langle x, x'\rangle + g_b).

    Arguments:
        activation: σ, an activation or its name.
        parameterisation: scales of weights and biases, and where they stand; the readout A has no bias.
        group: what is trained: ``all``, ``hidden`` (W and U), ``last`` (A), one of W, U, A, or a tuple of these letters
            or of their numbers 1, 2, 3.
        width: the neurons of a hidden layer, which only the ``standard`` parameterisation needs.
        tolerance: what quadrature aims at, for an activation without a closed form.

    >>> import torch
    >>> kernel = InfiniteResNetTangent(parameterisation=Parameterisation(input_fan_in=1), group="U")
    >>> kernel(torch.eye(2)).diagonal()
    tensor([1., 1.], dtype=torch.float64)

    Reference: Allen-Zhu & Li (resnet), eq. (2.1), for the network.
    """

    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    group: str | tuple[int | str, ...] = "all"
    width: Annotated[int, positive] | None = None
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_no_bias(self.parameterisation)
        require_width(self.parameterisation, self.width)
        letters = self._trained()
        if self.group not in GROUPS:
            object.__setattr__(self, "group", letters)  # one spelling for one kernel

    def __str__(self) -> str:
        width = "" if self.width is None else f", width {self.width}"
        group = self.group if isinstance(self.group, str) else ", ".join(map(str, self.group))
        return (
            f"infinite-width tangent kernel, three-layer ResNet{width}, {self.activation!r}, "
            f"{self.parameterisation}, group: {group}"
        )

    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        W, U, A = _scales(self.parameterisation, in_dim, self.width)
        w, u, a = (letter in self._trained() for letter in LETTERS)
        first = W.tangent(inner)
        S1, slope1 = pairs.dual(W.covariance(inner), slope=w)
        S2, slope2 = pairs.dual(U.covariance(S1.clone()), slope=w or u)
        theta = None
        if w:
            past = first.mul_(slope1)
            theta = _added(past, past.clone().mul_(slope2).mul_(U.variance)).mul_(A.variance)
        if u:
            theta = _added(theta, U.tangent(S1).mul_(slope2).mul_(A.variance))
        if a:
            theta = A.tangent(S1.add_(S2).add_(pairs.crossed_means()), below=theta)
        assert theta is not None, "some matrix is trained"
        return theta

    def _trained(self) -> tuple[str, ...]:
        """The letters of the trained matrices."""
        return tuple(LETTERS[number - 1] for number in trained_layers(self.group, LETTERS))


def _added(theta: Entries | None, part: Entries) -> Entries:
    return part if theta is None else theta.add_(part)


def _scales(parameterisation: Parameterisation, in_dim: int, width: int | None = None) -> tuple[Scales, Scales, Scales]:
    """The scales of W, U and A; hidden layers count with their mean over neurons, so their fan-in is one."""
    first = Scales.of(parameterisation.layer(in_dim, of_inputs=True))
    return first, Scales.of(parameterisation.layer(1), width), Scales.of(parameterisation.layer(1, readout=True), width)


def _require_no_bias(parameterisation: Parameterisation) -> None:
    require(
        parameterisation.readout_bias_variance is None,
        "readout_bias_variance must be None: the readout of the three-layer ResNet has no bias",
    )
