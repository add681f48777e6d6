"""Exact tangent and conjugate kernels of networks of finite width, block by block within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import torch

from beyondkernels.core import InputError, Tensors, require, unknown
from beyondkernels.core.errors import shown
from beyondkernels.kernels.checks import MEMORY, require_finite, require_representable, tensor
from beyondkernels.kernels.finite.blocks import gram_of_factors
from beyondkernels.kernels.finite.factors import Factor, Factors, Gradient, LayerGradient
from beyondkernels.kernels.finite.module_gradient import ModuleGradient, NotCommonError
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
    Networks of the package go by the structured route, which forms no derivative in any parameter. Modules go layer by
    layer (:func:`module_tangent_gram`). Either is compared with automatic differentiation at one point in every call,
    and torch.func takes over for what it does not cover, or plain differentiation point by point where torch.func is
    wrong. Networks are used in evaluation mode.

    Arguments:
        network: the network.
        params: its parameters θ.
        buffers: its buffers.
        x1: points, shape (n1, ...), handed to the network in their shape.
        x2: points, shape (n2, ...); None for x1 itself.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        outputs: ``traced`` or ``full``.
        memory: bytes the computation may take, its result included.
        dtype: of all arithmetic.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.networks import FullyConnected
    >>> network, x = FullyConnected(width=16, depth=2), torch.eye(3)
    >>> params, buffers = network.init(in_dim=3, out_dim=2, stream=Stream(0))
    >>> tangent_gram(network, params, buffers, x).shape, tangent_gram(network, params, buffers, x, outputs="full").shape
    (torch.Size([3, 3]), torch.Size([3, 3, 2, 2]))
    """
    x1, x2 = batches(x1, x2, dtype)
    network, params, buffers = network.expansion_point(params, buffers)
    names = network.trained(group, params)
    for name, value in params.items():
        require_finite(f"params[{name!r}]", value)
    gram = with_gradient(
        lambda common: gradient_of(network, params, buffers, names, x1, dtype, outputs, common=common),
        lambda gradient: gram_of_factors(gradient, x1, x2, outputs, memory),
    )
    return require_representable("the tangent kernel", gram, x1, x2)


def module_tangent_gram(
    module: torch.nn.Module,
    x1: torch.Tensor,
    x2: torch.Tensor | None = None,
    *,
    parameters: Iterable[str] | None = None,
    params: Tensors | None = None,
    buffers: Tensors | None = None,
    outputs: Outputs = "traced",
    memory: int = MEMORY,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The tangent kernel of any module, at its present parameters or at others; see :func:`tangent_gram`.

    Linear layers, convolutions, normalisations, embeddings and PReLU are differentiated layer by layer, also if a
    weight is used several times. Parameters that enter in another way, such as those of attention, are differentiated
    by torch.func. Where it fails, as for recurrent layers, each output at each point is differentiated on its own. The
    result is the exact kernel in every way; only the time differs.

    The module is used in evaluation mode and left as it was: dropout is off, and batch normalisation uses its running
    statistics. A point's outputs must not depend on the other points of a batch then.

    Arguments:
        module: maps a batch (n, ...) to (n, k) or (n,); more dimensions count as outputs.
        x1: points, shape (n1, ...).
        x2: points, shape (n2, ...); None for x1 itself.
        parameters: names of parameters, or of modules whose parameters are meant; None for all that require a gradient,
            so that frozen parameters do not count.
        params: numbers by the names of parameters, in place of the module's own; what is not named stays.
        buffers: the same for buffers.
        outputs: ``traced`` or ``full``.
        memory: bytes the computation may take, its result included.
        dtype: of all arithmetic.

    >>> module = torch.nn.Linear(3, 2, bias=False)
    >>> module_tangent_gram(module, torch.eye(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    _require_module(module)
    x1, x2 = batches(x1, x2, dtype)
    names = _parameter_names(module, parameters)
    given, own = (params or {}) | (buffers or {}), dict([*module.named_parameters(), *module.named_buffers()])
    for name, value in given.items():
        if name not in own:
            unknown("parameter or buffer", name, own)
        require(
            value.shape == own[name].shape, f"{name} must have shape {tuple(own[name].shape)}, got {tuple(value.shape)}"
        )
    everything = _cast(own | given, dtype)

    def function(params: Tensors, x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, everything | params, (x,))

    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        _require_applicable(module, everything, x1)
        chosen = {name: everything[name] for name in names}
        gram = with_gradient(
            lambda common: ModuleGradient(function, chosen, x1, outputs, dtype, common=common),
            lambda gradient: gram_of_factors(gradient, x1, x2, outputs, memory),
        )
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
    x, _ = batches(x, None, dtype)
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
    x1, x2 = batches(x1, x2, dtype)
    gram = gram_of_factors(Readout(network, params, buffers, dtype), x1, x2, "traced", memory)
    return require_representable("the conjugate kernel", gram, x1, x2)


class Readout(Gradient):
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


def gradient_of(
    network: Network,
    params: Tensors,
    buffers: Tensors,
    names: tuple[str, ...],
    x: torch.Tensor,
    dtype: torch.dtype,
    outputs: Outputs,
    *,
    common: bool = True,
) -> Gradient:
    """The structured route where it holds, otherwise layer by layer, and in other ways for what is no known layer."""
    if network.structured and len(x):
        layers = LayerGradient(network, params, buffers, names, dtype)
        if layers.holds(x):
            return layers
    everything, constant = _cast(params, dtype), _cast(buffers, dtype)

    def function(chosen: Tensors, x: torch.Tensor) -> torch.Tensor:
        return network.apply(everything | chosen, constant, x)[0]

    return ModuleGradient(function, {name: everything[name] for name in names}, x, outputs, dtype, common=common)


def with_gradient(make: Callable[[bool], Gradient], use: Callable[[Gradient], torch.Tensor]) -> torch.Tensor:
    """What is computed with a gradient, and again without a short cut if that turns out not to hold at these points."""
    try:
        return use(make(True))
    except NotCommonError:
        return use(make(False))


def batches(x1: torch.Tensor, x2: torch.Tensor | None, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Points as tensors of one precision, checked; whole numbers stay as they are."""
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


def _require_module(module: torch.nn.Module) -> None:
    advice = "; for a network take TangentAt(network, params, buffers) or FiniteTangent(network)"
    require(
        isinstance(module, torch.nn.Module),
        f"module must be a torch.nn.Module, got {shown(module)}{advice if isinstance(module, Network) else ''}",
    )


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
