"""Exact tangent and conjugate kernels of networks of finite width, block by block within a memory budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch

from beyondkernels.core import InputError, Stream, Tensors, require, unknown
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.checks import MEMORY, require_finite, require_representable, tensor
from beyondkernels.kernels.finite.blocks import diagonal_of_factors, gram_of_factors
from beyondkernels.kernels.finite.factors import Factor, Factors, Gradient, LayerGradient
from beyondkernels.kernels.finite.module_gradient import ModuleGradient
from beyondkernels.networks import Network

Outputs = Literal["traced", "full"]


def tangent_gram(
    network: Network,
    params: Tensors,
    buffers: Tensors,
    x1: torch.Tensor,
    x2: torch.Tensor | None = None,
    *,
    group: str = "all",
    outputs: Outputs = "traced",
    memory: int = MEMORY,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    r"""The tangent kernel of a network at given parameters.

    .. math::
        \text{full:}\quad & \Theta_{cc'}(x, x') = \langle \nabla_\theta f_c(x), \nabla_\theta f_{c'}(x')\rangle, &
        \text{shape } (n_1, n_2, k, k) \\
        \text{traced:}\quad & \tfrac1k \textstyle\sum_c \Theta_{cc}(x, x'), & \text{shape } (n_1, n_2)

    The traced kernel is the mean of the diagonal, so that it has the same limit at infinite width whatever k is.
    Networks of the package go by the structured route, which forms no derivative in any parameter; it is compared
    with automatic differentiation at one point in every call, and torch.func takes over where it does not apply.

    Arguments:
        network: the network.
        params: its parameters θ.
        buffers: its buffers.
        x1: points, shape (n1, in_dim).
        x2: points, shape (n2, in_dim); None for x1 itself.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        outputs: ``traced`` or ``full``.
        memory: bytes the computation may take, its result included.
        dtype: of all arithmetic.

    >>> from beyondkernels.networks import FullyConnected
    >>> network, x = FullyConnected(width=16, depth=2), torch.eye(3)
    >>> params, buffers = network.init(in_dim=3, out_dim=2, stream=Stream(0))
    >>> tangent_gram(network, params, buffers, x).shape, tangent_gram(network, params, buffers, x, outputs="full").shape
    (torch.Size([3, 3]), torch.Size([3, 3, 2, 2]))
    """
    x1, x2 = _batches(x1, x2, dtype)
    network, params, buffers = network.expansion_point(params, buffers)
    names = network.trained(group, params)
    for name, value in params.items():
        require_finite(f"params[{name!r}]", value)
    gradient = _gradient(network, params, buffers, names, x1, dtype, outputs)
    gram = gram_of_factors(gradient, x1, x2, outputs, memory)
    return require_representable("the tangent kernel", gram, x1, x2)


def module_tangent_gram(
    module: torch.nn.Module,
    x1: torch.Tensor,
    x2: torch.Tensor | None = None,
    *,
    parameters: Iterable[str] | None = None,
    outputs: Outputs = "traced",
    memory: int = MEMORY,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The tangent kernel of any module at its present parameters, by torch.func; see :func:`tangent_gram`.

    The module is used in evaluation mode and left as it was.

    Arguments:
        module: maps a batch (n, ...) to (n, k) or (n,).
        x1: points, shape (n1, ...).
        x2: points, shape (n2, ...); None for x1 itself.
        parameters: names of parameters, or of modules whose parameters are meant; None for all that require a gradient.
        outputs: ``traced`` or ``full``.
        memory: bytes the computation may take, its result included.
        dtype: of all arithmetic.

    >>> module = torch.nn.Linear(3, 2, bias=False)
    >>> module_tangent_gram(module, torch.eye(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x1, x2 = _batches(x1, x2, dtype)
    names = _parameter_names(module, parameters)
    everything = _cast(dict([*module.named_parameters(), *module.named_buffers()]), dtype)

    def function(params: Tensors, x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, everything | params, (x,))

    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        _require_applicable(module, everything, x1)
        gradient = ModuleGradient(function, {name: everything[name] for name in names}, x1, outputs, dtype)
        gram = gram_of_factors(gradient, x1, x2, outputs, memory)
        return require_representable("the tangent kernel", gram, x1, x2)
    finally:
        for part, training in modes.items():
            part.training = training


def conjugate_features(
    network: Network, params: Tensors, buffers: Tensors, x: torch.Tensor, *, dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    """The inputs of a network's last layer, shape (n, features): its random features.

    Networks with a parameterisation scale them so that their Gram matrix is the covariance of the output over normal
    readouts, in either kind; other networks and modules give them as they are. Over readouts
    of balanced signs the output has another covariance: there it is a kernel of random features and no more.

    Arguments:
        network: the network.
        params: its parameters.
        buffers: its buffers.
        x: points, shape (n, in_dim).
        dtype: of all arithmetic.
    """
    x, _ = _batches(x, None, dtype)
    network, params, buffers = network.expansion_point(params, buffers)
    with torch.no_grad():
        features = network.features(_cast(params, dtype), _cast(buffers, dtype), x)
    return require_representable("the conjugate features", features, x)


def conjugate_gram(
    network: Network,
    params: Tensors,
    buffers: Tensors,
    x1: torch.Tensor,
    x2: torch.Tensor | None = None,
    *,
    memory: int = MEMORY,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    r"""The conjugate kernel :math:`\langle h(x), h(x')\rangle` of the inputs h of a network's last layer.

    With the ``ntk`` parameterisation it is the tangent kernel of a readout that is trained alone. Features are those of
    :func:`conjugate_features`, the shape is (n1, n2), and arguments are as in :func:`tangent_gram`.
    """
    x1, x2 = _batches(x1, x2, dtype)
    gram = gram_of_factors(_Readout(network, params, buffers, dtype), x1, x2, "traced", memory)
    return require_representable("the conjugate kernel", gram, x1, x2)


@dataclass(frozen=True)
class FiniteTangent(Kernel):
    """The traced tangent kernel of a freshly drawn network.

    Arguments:
        network: the network.
        seed: of the draw; parameters come from the stream ``network`` below it.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        out_dim: the number of outputs.
        memory: bytes that may be taken, the result included; it changes no value beyond rounding.

    Reference: Jacot, Gabriel & Hongler (2018), Neural tangent kernel; Allen-Zhu & Li (resnet), §3.1 (6).
    """

    network: Network
    seed: Annotated[int, any_number] = 0
    group: str = "all"
    out_dim: Annotated[int, positive] = 1
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """The rectangular block."""
        return self._gram(x1, x2, "traced")

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """Half of the blocks, mirrored."""
        return self._gram(x, None, "traced")

    def full(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """The kernel of every pair of outputs, shape (n1, n2, out_dim, out_dim)."""
        return self._gram(points("x1", x1), None if x2 is None else points("x2", x2), "full")

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The mean over outputs of the squared norms of the gradients."""
        params, buffers = _drawn(self.network, self.seed, x.shape[1], self.out_dim)
        network, params, buffers = self.network.expansion_point(params, buffers)
        names = network.trained(self.group, params)
        gradient = _gradient(network, params, buffers, names, x, torch.float64, "traced")
        return diagonal_of_factors(gradient, x, self.memory)

    def _gram(self, x1: torch.Tensor, x2: torch.Tensor | None, outputs: Outputs) -> torch.Tensor:
        params, buffers = _drawn(self.network, self.seed, x1.shape[1], self.out_dim)
        return tangent_gram(
            self.network, params, buffers, x1, x2, group=self.group, outputs=outputs, memory=self.memory
        )


@dataclass(frozen=True)
class FiniteConjugate(Kernel):
    """The conjugate kernel of a freshly drawn network: its last layer's inputs as random features.

    Over which readouts it is the covariance of the output, :func:`conjugate_features` says.

    Arguments:
        network: the network.
        seed: of the draw; parameters come from the stream ``network`` below it.
        out_dim: the number of outputs, on which only the bottleneck form of the ResNet depends.
        memory: bytes that may be taken, the result included.

    Reference: Daniely (2017), SGD learns the conjugate kernel class of the network; resnet, §3.1 (5).
    """

    network: Network
    seed: Annotated[int, any_number] = 0
    out_dim: Annotated[int, positive] = 1
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The features themselves, shape (n, features)."""
        x = points("x", x)
        return conjugate_features(self.network, *_drawn(self.network, self.seed, x.shape[1], self.out_dim), x)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """The rectangular block."""
        return conjugate_gram(
            self.network, *_drawn(self.network, self.seed, x1.shape[1], self.out_dim), x1, x2, memory=self.memory
        )

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """Half of the blocks, mirrored."""
        return conjugate_gram(
            self.network, *_drawn(self.network, self.seed, x.shape[1], self.out_dim), x, memory=self.memory
        )

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The squared norms of the features."""
        params, buffers = _drawn(self.network, self.seed, x.shape[1], self.out_dim)
        return diagonal_of_factors(_Readout(self.network, params, buffers, torch.float64), x, self.memory)


class _Readout(Gradient):
    """The gradient of a readout that is trained alone: its inputs."""

    def __init__(self, network: Network, params: Tensors, buffers: Tensors, dtype: torch.dtype):
        self._network, params, buffers = network.expansion_point(params, buffers)
        self._params, self._buffers, self.dtype = _cast(params, dtype), _cast(buffers, dtype), dtype

    def at(self, x: torch.Tensor) -> Factors:
        with torch.no_grad():
            h = self._network.features(self._params, self._buffers, x)
        return [[Factor(h, h.new_ones(len(h), 1, 1))]]

    def fixed_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self._params.values())


def _gradient(
    network: Network,
    params: Tensors,
    buffers: Tensors,
    names: tuple[str, ...],
    x: torch.Tensor,
    dtype: torch.dtype,
    outputs: Outputs,
) -> Gradient:
    """The structured route where it holds, otherwise layer by layer, and torch.func for what is no known layer."""
    if network.structured and len(x):
        layers = LayerGradient(network, params, buffers, names, dtype)
        if layers.holds(x):
            return layers
    everything, constant = _cast(params, dtype), _cast(buffers, dtype)

    def function(chosen: Tensors, x: torch.Tensor) -> torch.Tensor:
        return network.apply(everything | chosen, constant, x)[0]

    return ModuleGradient(function, {name: everything[name] for name in names}, x, outputs, dtype)


def _drawn(network: Network, seed: int, in_dim: int, out_dim: int) -> tuple[Tensors, Tensors]:
    return network.init(in_dim, out_dim, Stream(seed).child("network"))


def _batches(x1: torch.Tensor, x2: torch.Tensor | None, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    x1 = tensor("x1", x1)
    require(x1.ndim >= 2, f"x1 must have shape (n, in_dim), got {tuple(x1.shape)}")
    require_finite("x1", x1)
    if x2 is None:
        return _as(x1, dtype), None
    x2 = tensor("x2", x2)
    require(
        x2.shape[1:] == x1.shape[1:],
        f"x1 and x2 must have points of one dimension, got {_size(x1)} and {_size(x2)}",
    )
    require_finite("x2", x2)
    return _as(x1, dtype), _as(x2, dtype)


def _require_applicable(module: torch.nn.Module, tensors: Tensors, x: torch.Tensor) -> None:
    try:
        with torch.no_grad():
            torch.func.functional_call(module, tensors, (x[:1],))
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{type(module).__name__} cannot be applied to points of shape {_size(x)}: {error}") from error


def _size(x: torch.Tensor) -> str:
    return "×".join(str(size) for size in x.shape[1:])


def _cast(tensors: Tensors, dtype: torch.dtype) -> Tensors:
    """Without history, and floating-point numbers in one precision."""
    return {name: _as(value.detach(), dtype) for name, value in tensors.items()}


def _as(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value


def _parameter_names(module: torch.nn.Module, wanted: Iterable[str] | None) -> list[str]:
    known = [name for name, _ in module.named_parameters()]
    if wanted is None:
        free = [name for name, value in module.named_parameters() if value.requires_grad]
        require(
            len(free) > 0, f"{type(module).__name__} has no parameter that requires a gradient; name some of {known}"
        )
        return free
    chosen: list[str] = []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        found = [one for one in known if one == name or one.startswith(name + ".")]
        if not found:
            unknown("parameter", name, known)
        chosen += [one for one in found if one not in chosen]
    require(len(chosen) > 0, f"parameters must name at least one of {known}, got none")
    return chosen
