"""The calls of PyTorch's layer functions by which parameters enter a network, recorded during one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.overrides import TorchFunctionMode

from beyondkernels.kernels.finite.windows import paddings, windows


@dataclass(frozen=True)
class Call:
    r"""One call z = layer(h; weight, bias).

    Arguments:
        weight: the weight's name, None where no derivative in it is wanted.
        bias: the bias's name, None where no derivative in it is wanted.
        input: makes what the weight meets: the windows of an image, a normalised batch. Its dimensions are those of z,
            with the inputs of one channel in place of the channels.
        output: where the derivative in z is found.
        shape: of z.
        channels_first: whether z is (batch, channels, positions …), otherwise (…, channels).
        groups: into how many groups the channels fall, each of which meets its own part of the input.
        diagonal: whether each channel of z meets its own number of the input alone, as in a normalisation.
        transposed: whether the weight is (inputs, channels), as an embedding's, otherwise (channels, inputs).
        shared: whether the weight is one number, which all channels of a diagonal layer have in common.
    """

    weight: str | None
    bias: str | None
    input: Callable[[], torch.Tensor]
    output: GradientEdge
    shape: torch.Size
    channels_first: bool = False
    groups: int = 1
    diagonal: bool = False
    transposed: bool = False
    shared: bool = False


@dataclass(frozen=True)
class _Layer:
    """What a layer function was given: its parameters, and how its output depends on them."""

    weight: torch.Tensor | None
    bias: torch.Tensor | None
    input: Callable[[], torch.Tensor]
    channels_first: bool = False
    groups: int = 1
    diagonal: bool = False
    transposed: bool = False
    shared: bool = False


class Recorder(TorchFunctionMode):
    """Inside the block, every call of a layer function with a wanted parameter is recorded.

    It sees the functions that PyTorch's layers call, so it also sees those of a user's own layer that calls them.
    A parameter that enters in another way is not seen.

    Arguments:
        names: the wanted parameters, and what they are called.
    """

    def __init__(self, names: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self._names = {id(value): name for name, value in names.items()}
        self.calls: list[Call] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        read = _LAYERS.get(func)
        layer = None if read is None else read(*args, **(kwargs or {}))
        if layer is not None:
            weight, bias = (self._names.get(id(value)) for value in (layer.weight, layer.bias))
            if weight is not None or bias is not None:
                # The edge stays that of this output, also if an activation overwrites the output in place.
                edge = get_gradient_edge(out)
                shape = (layer.channels_first, layer.groups, layer.diagonal, layer.transposed, layer.shared)
                self.calls.append(Call(weight, bias, layer.input, edge, out.shape, *shape))
        return out


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> _Layer:  # noqa: A002
    return _Layer(weight, bias, input.detach)


def _convolution(
    input: torch.Tensor,  # noqa: A002 - the names are PyTorch's
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> _Layer | None:
    kernel = tuple(weight.shape[2:])
    if input.ndim != weight.ndim:
        return None  # one image without a batch
    around = paddings(padding, kernel, dilation)

    def seen() -> torch.Tensor:
        return windows(input.detach(), kernel, stride, around, dilation)

    return _Layer(weight, bias, seen, channels_first=True, groups=groups)


def _layer_norm(
    input: torch.Tensor,  # noqa: A002
    normalized_shape: Any,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> _Layer | None:
    if len(normalized_shape) != 1:
        return None  # its channels are a table, which is rare
    return _Layer(weight, bias, lambda: F.layer_norm(input.detach(), normalized_shape, eps=eps), diagonal=True)


def _group_norm(
    input: torch.Tensor,  # noqa: A002
    num_groups: int,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> _Layer:
    return _Layer(weight, bias, lambda: F.group_norm(input.detach(), num_groups, eps=eps), True, diagonal=True)


def _batch_norm(
    input: torch.Tensor,  # noqa: A002
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,  # noqa: ARG001 - the names are PyTorch's, which passes them as keywords
    eps: float = 1e-5,
) -> _Layer | None:
    if training:
        return None  # the points of a batch meet

    def normalised() -> torch.Tensor:
        return F.batch_norm(input.detach(), running_mean, running_var, eps=eps)

    return _Layer(weight, bias, normalised, True, diagonal=True)


def _embedding(
    input: torch.Tensor,  # noqa: A002
    weight: torch.Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,  # noqa: ARG001
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> _Layer | None:
    if max_norm is not None or scale_grad_by_freq or sparse:
        return None

    def chosen() -> torch.Tensor:
        rows = F.one_hot(input, len(weight)).to(weight.dtype)
        if padding_idx is not None:
            rows[..., padding_idx] = 0
        return rows

    return _Layer(weight, None, chosen, transposed=True)


def _prelu(input: torch.Tensor, weight: torch.Tensor) -> _Layer:  # noqa: A002
    shared = weight.numel() == 1
    return _Layer(weight, None, lambda: input.detach().clamp(max=0), not shared, diagonal=True, shared=shared)


_LAYERS: dict[Any, Callable[..., _Layer | None]] = {
    F.linear: _linear,
    F.conv1d: _convolution,
    F.conv2d: _convolution,
    F.conv3d: _convolution,
    F.layer_norm: _layer_norm,
    F.group_norm: _group_norm,
    F.batch_norm: _batch_norm,
    F.embedding: _embedding,
    F.prelu: _prelu,
}
"""How each layer function reads its arguments."""
