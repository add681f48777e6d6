"""From a member to the compiled step and back."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.activations import ReLU
from beyondkernels.algorithms import Algorithm, GradientDescent, Squared
from beyondkernels.core import Tensors, require
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import FullyConnected, Network, ThreeLayerResNet

_KINDS = {"fully connected": 0, "full": 1, "bottleneck": 2}


def refusal(network: Network, algorithm: Algorithm) -> str | None:
    """Why this network cannot be trained by this algorithm on the compiled backend; None if it can."""
    if type(network) not in (FullyConnected, ThreeLayerResNet):
        return f"it trains FullyConnected and ThreeLayerResNet, not {type(network).__name__}"
    assert isinstance(network, FullyConnected | ThreeLayerResNet)
    if not isinstance(network.activation, ReLU):
        return f"it knows the ReLU only, not {network.activation}"
    if network.parameterisation.kind != "standard":
        return "it knows the standard parameterisation only, not ntk"
    if type(algorithm) is not GradientDescent:
        return f"it trains by GradientDescent, not {type(algorithm).__name__}"
    assert isinstance(algorithm, GradientDescent)
    if not isinstance(algorithm.objective, Squared):
        return f"it knows the squared loss only, not {type(algorithm.objective).__name__}"
    return None


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    network, algorithm = member.network, member.algorithm
    assert isinstance(network, FullyConnected | ThreeLayerResNet)
    assert isinstance(algorithm, GradientDescent)
    step = library()
    layout = _Layout(network, member.params, int(step.bk_lanes()))
    x, y = (_plain(part) for part in (member.sample.x, member.sample.y))
    y = y.reshape(len(x), -1)
    require(y.shape[1] == layout.out_dim, f"labels must have {layout.out_dim} outputs, got {y.shape[1]}")
    rows = member.rows(0, steps)
    order = np.tile(np.arange(len(x)), (steps, 1)) if rows is None else np.ascontiguousarray(rows.numpy())
    trained = network.trained(algorithm.group, member.params)
    value, velocity = layout.pack(member.params), layout.pack(member.optimiser)
    rates = np.array([float(name in trained) for pair in layout.names for name in pair], dtype=np.float32)
    hyper = algorithm.hyper_of(member.stage, range(member.step + 1, member.step + steps + 1))
    columns = [np.array(hyper[name], dtype=np.float32) for name in ("rate", "momentum", "decay")]
    shape = np.array([layout.kind, layout.hidden, layout.width, x.shape[1], layout.out_dim, order.shape[1]], np.int32)
    losses = np.empty(steps, dtype=np.float32)
    arrays = (shape, value, velocity, rates, x, y, order)
    taken = step.bk_train(*(a.ctypes.data for a in arrays), steps, 1.0, *(a.ctypes.data for a in (*columns, losses)))
    member.params = layout.unpack(value, member.params)
    member.optimiser = layout.unpack(velocity, member.optimiser)
    if taken < steps:
        member.diverged = True
    member.count(min(taken + 1, steps))


def _plain(tensor: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.numpy(), dtype=np.float32)


class _Layout:
    """How a network's parameters lie in the compiled step's memory."""

    def __init__(self, network: FullyConnected | ThreeLayerResNet, params: Tensors, lanes: int):
        if isinstance(network, FullyConnected):
            layers = [*(f"layer{i}" for i in range(1, network.depth)), "output"]
            self.kind = _KINDS["fully connected"]
        else:
            layers = ["W", "U" if network.form == "full" else "V", "A"]
            self.kind = _KINDS[network.form]
        self.hidden = len(layers) - 1
        self.names = [(f"{layer}.weight", f"{layer}.bias") for layer in layers]
        self.out_dim = params[self.names[-1][0]].shape[0]
        self.width, self._out = (-(-size // lanes) * lanes for size in (network.width, self.out_dim))
        in_dim = params[self.names[0][0]].shape[1]
        middle = self.out_dim if self.kind == _KINDS["bottleneck"] else self.width
        # the readout lies as it is, the others transposed; a hidden layer that is an input is padded there too
        inputs = [in_dim, *[middle] * (self.hidden - 1), self.out_dim]
        self._shapes = [(rows, self.width) for rows in inputs]

    def pack(self, state: Tensors) -> np.ndarray:
        """One array of all tensors, padded with zeros."""
        parts = []
        for i, ((weight, bias), shape) in enumerate(zip(self.names, self._shapes, strict=True)):
            matrix = np.zeros(shape, dtype=np.float32)
            given = state[weight].numpy()
            given = given if i == self.hidden else given.T
            matrix[: given.shape[0], : given.shape[1]] = given
            row = np.zeros(self._out if i == self.hidden else self.width, dtype=np.float32)
            if bias in state:
                row[: state[bias].shape[0]] = state[bias].numpy()
            parts += [matrix.ravel(), row]
        return np.concatenate(parts)

    def unpack(self, packed: np.ndarray, like: Tensors) -> Tensors:
        """The tensors of an array."""
        state, at = dict(like), 0
        for i, ((weight, bias), shape) in enumerate(zip(self.names, self._shapes, strict=True)):
            matrix = packed[at : at + shape[0] * shape[1]].reshape(shape)
            at += matrix.size
            rows = self._out if i == self.hidden else self.width
            matrix = matrix if i == self.hidden else matrix.T
            n, p = like[weight].shape
            state[weight] = torch.from_numpy(matrix[:n, :p].copy())
            if bias in like:
                state[bias] = torch.from_numpy(packed[at : at + like[bias].shape[0]].copy())
            at += rows
        return state
