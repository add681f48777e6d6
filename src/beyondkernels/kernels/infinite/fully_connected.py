"""Conjugate and tangent kernels of infinitely wide, fully connected networks."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from beyondkernels.activations import Activation
from beyondkernels.core import InputError, require
from beyondkernels.core.constraints import between, positive
from beyondkernels.core.errors import shown
from beyondkernels.kernels.infinite.base import GROUPS, InfiniteWidth, Scales, affine_, require_width, trained_layers
from beyondkernels.kernels.infinite.pairs import Entries, Pairs
from beyondkernels.kernels.infinite.resnet import InfiniteResNetConjugate, InfiniteResNetTangent
from beyondkernels.networks import FullyConnected, Network, Parameterisation, ThreeLayerResNet


@dataclass(frozen=True)
class InfiniteConjugate(InfiniteWidth):
    r"""The conjugate kernel (NNGP) of an infinitely wide network: the covariance of its outputs at the start.

    .. math::
        K_1(x, x') = \tfrac{v}{p} \langle x, x'\rangle + v_b, \qquad K_{l+1}(x, x') = v\,E[\sigma(u)\,\sigma(u')] + v_b,
        \qquad (u, u') \sim N(0, K_l \text{ at } x, x')

    for l < L; the kernel is :math:`K_L`, the readout's v and :math:`v_b` included. Both parameterisations share it. In
    the ``ntk`` parameterisation it is also the tangent kernel of a readout that is trained alone.

    Arguments:
        depth: L, the number of weight matrices.
        activation: σ, an activation or its name.
        parameterisation: v and :math:`v_b` of each layer, and p.
        tolerance: what quadrature aims at, for an activation without a closed form.

    >>> import torch
    >>> x = torch.eye(2)
    >>> InfiniteConjugate(depth=2, parameterisation=Parameterisation(input_fan_in=1))(x)
    tensor([[1.0000, 0.3183],
            [0.3183, 1.0000]], dtype=torch.float64)

    Reference: Cho & Saul (2009), Kernel methods for deep learning; Lee et al. (2018), Deep neural networks as
    Gaussian processes, eq. (5).
    """

    depth: Annotated[int, between(1, 10_000)]
    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-10
    remedy: ClassVar[str] = "smaller inputs, a smaller weight_variance or a smaller depth"

    def __str__(self) -> str:
        return f"infinite-width conjugate kernel, depth {self.depth}, {self.activation!r}, {self.parameterisation}"

    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        first, *later = _scales(self.depth, self.parameterisation, in_dim)
        K = first.covariance(inner)
        for layer in later:
            S, _ = pairs.dual(K, slope=False)
            K = layer.covariance(S)
        return K


@dataclass(frozen=True)
class InfiniteTangent(InfiniteWidth):
    r"""The tangent kernel of an infinitely wide network at its start: ⟨∇f(x), ∇f(x′)⟩ over what is trained.

    With :math:`K_l` as in :class:`InfiniteConjugate`, :math:`S_0 = \langle x, x'\rangle`,
    :math:`S_l = E[\sigma(u)\,\sigma(u')]` and :math:`\dot S_l = E[\sigma'(u)\,\sigma'(u')]` under :math:`K_l`,

    .. math::
        \Theta_1 = [1 \text{ trained}]\,(g_1 S_0 + g_b), \qquad
        \Theta_{l+1} = v\,\dot S_l\,\Theta_l + [l + 1 \text{ trained}]\,(g_{l+1} S_l + g_b).

    In the ``ntk`` parameterisation the gains :math:`g_{l+1}` and :math:`g_b` are v and :math:`v_b` (:math:`g_1 = v/p`).
    In the ``standard`` one :math:`g_1 = 1`, :math:`g_{l+1}` is the width and :math:`g_b = 1` where there are biases:
    the kernel grows with the width, and each layer's part is its leading order there.

    Arguments:
        depth: L, the number of weight matrices.
        activation: σ, an activation or its name.
        parameterisation: v and :math:`v_b` of each layer, p, and where these scales stand.
        group: what is trained: ``all``, ``hidden`` (all but the last), ``last``, a layer by the name it has in
            ``FullyConnected`` (``layer1``, …, ``output``), or a tuple of such names or of numbers from 1 to L.
        width: the neurons of a hidden layer, which only the ``standard`` parameterisation needs.
        tolerance: what quadrature aims at, for an activation without a closed form.

    >>> import torch
    >>> x = torch.eye(2)
    >>> kernel = InfiniteTangent(depth=2, parameterisation=Parameterisation(input_fan_in=1))
    >>> kernel(x)
    tensor([[2.0000, 0.3183],
            [0.3183, 2.0000]], dtype=torch.float64)
    >>> print(kernel)
    infinite-width tangent kernel, depth 2, ReLU(), ntk parameterisation: hidden weights 2/p, no hidden biases,
    readout weights 1/p, no readout bias, input fan-in 1, group: all

    Reference: Jacot, Gabriel & Hongler (2018), Neural tangent kernel, Thm 1.
    """

    depth: Annotated[int, between(1, 10_000)]
    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    group: str | tuple[int | str, ...] = "all"
    width: Annotated[int, positive] | None = None
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-10
    remedy: ClassVar[str] = "smaller inputs, a smaller weight_variance or a smaller depth"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_width(self.parameterisation, self.width)
        layers = self._trained()
        if self.group not in GROUPS:
            object.__setattr__(self, "group", layers)  # one spelling for one kernel

    def __str__(self) -> str:
        width = "" if self.width is None else f", width {self.width}"
        group = self.group if isinstance(self.group, str) else f"layers {', '.join(map(str, self.group))}"
        return (
            f"infinite-width tangent kernel, depth {self.depth}{width}, {self.activation!r}, {self.parameterisation}, "
            f"group: {group}"
        )

    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        layers = _scales(self.depth, self.parameterisation, in_dim, self.width)
        trained = self._trained()
        theta = layers[0].tangent(inner) if 1 in trained else None
        K = layers[0].covariance(inner)
        for number, layer in enumerate(layers[1:], start=2):
            S, slope = pairs.dual(K, slope=theta is not None)
            if theta is not None:
                theta = affine_(theta.mul_(slope), layer.variance, 0.0)
            if number in trained:
                theta = layer.tangent(S, below=theta)
            K = layer.covariance(S)
        assert theta is not None, "some layer is trained"
        return theta

    def _trained(self) -> tuple[int, ...]:
        """The numbers of the trained layers."""
        return trained_layers(self.group, (*(f"layer{number}" for number in range(1, self.depth)), "output"))


@functools.singledispatch
def infinite_conjugate(network: Network) -> InfiniteWidth:
    """The conjugate kernel of a network as its width goes to infinity.

    A class of networks says what its limit is with ``@infinite_conjugate.register``.

    Arguments:
        network: a ``FullyConnected`` network, a ``ThreeLayerResNet`` of the full form, or one whose limit is
            registered.

    >>> infinite_conjugate(FullyConnected(width=100, depth=2)) == InfiniteConjugate(depth=2)
    True
    """
    raise _refusal(network)


@infinite_conjugate.register
def _(network: FullyConnected) -> InfiniteConjugate:
    require(
        network.readout == "normal",
        "network must have a normal readout (one of balanced signs starts with another covariance, without the "
        f"neurons' means), got readout={shown(network.readout)}",
    )
    return InfiniteConjugate(network.depth, network.activation, network.parameterisation)


@infinite_conjugate.register
def _(network: ThreeLayerResNet) -> InfiniteResNetConjugate:
    _require_full(network)
    return InfiniteResNetConjugate(network.activation, network.parameterisation)


@functools.singledispatch
def infinite_tangent(network: Network, group: str | tuple[int | str, ...] = "all") -> InfiniteWidth:  # noqa: ARG001
    """The tangent kernel of a network as its width goes to infinity, at the network's width where that matters.

    A class of networks says what its limit is with ``@infinite_tangent.register``.

    Arguments:
        network: a ``FullyConnected`` network, a ``ThreeLayerResNet`` of the full form, or one whose limit is
            registered.
        group: what is trained: ``all``, one of the network's groups, or a tuple of layers.

    >>> infinite_tangent(FullyConnected(width=100, depth=2), group="layer1").group
    (1,)
    """
    raise _refusal(network)


@infinite_tangent.register
def _(network: FullyConnected, group: str | tuple[int | str, ...] = "all") -> InfiniteTangent:
    return InfiniteTangent(network.depth, network.activation, network.parameterisation, group, _width(network))


@infinite_tangent.register
def _(network: ThreeLayerResNet, group: str | tuple[int | str, ...] = "all") -> InfiniteResNetTangent:
    _require_full(network)
    return InfiniteResNetTangent(network.activation, network.parameterisation, group, _width(network))


def _width(network: FullyConnected | ThreeLayerResNet) -> int | None:
    return network.width if network.parameterisation.kind == "standard" else None


def _require_full(network: ThreeLayerResNet) -> None:
    require(
        network.form == "full",
        "the bottleneck form of ThreeLayerResNet has no deterministic infinite-width limit, because out₁ stays a "
        "random Gaussian of out_dim dimensions; MeanOverDraws(network, draws) gives the mean over out₁ and "
        "everything else, with its standard error",
    )


def _refusal(network: Network) -> InputError:
    kind = type(network).__name__
    why = ", whose weights follow an Initialisation and not a Parameterisation" if kind == "TwoLayer" else ""
    return InputError(
        f"network must be a FullyConnected network or a ThreeLayerResNet of the full form, got {kind}{why}; "
        "MeanOverDraws(network, draws) gives the mean of its kernels at its own width"
    )


@functools.lru_cache
def _scales(
    depth: int, parameterisation: Parameterisation, in_dim: int, width: int | None = None
) -> tuple[Scales, ...]:
    """The scales of the layers 1 to L; hidden layers count with their mean over neurons, so their fan-in is one."""
    first = Scales.of(parameterisation.layer(in_dim, readout=depth == 1, of_inputs=True))
    later = [parameterisation.layer(1, readout=number == depth) for number in range(2, depth + 1)]
    return (first, *(Scales.of(layer, width) for layer in later))
