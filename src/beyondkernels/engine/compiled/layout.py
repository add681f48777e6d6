"""The order of a network's parameters in the memory of the compiled steps."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.core import Tensors
from beyondkernels.networks import DenseForm

_KINDS = {"fully connected": 0, "full": 1, "bottleneck": 2}


class Layout:
    """One array that holds all parameters, layer by layer, weights before biases, padded with zeros.

    Arguments:
        form: of the network they belong to.
        params: tensors of the right shapes, those that are not trained among them.
        lanes: how many numbers a vector of the processor holds.
    """

    def __init__(self, form: DenseForm, params: Tensors, lanes: int) -> None:
        self.kind = _KINDS[form.kind]
        self.hidden = len(form.layers) - 1
        self.names = form.tensors
        self.out_dim = params[self.names[-1][0]].shape[0]
        # Rounded up, so that no loop has a remainder. Neurons of the padding have weights zero and keep them: their
        # outputs are zero, so all gradients there are.
        self.width, self._out = (-(-size // lanes) * lanes for size in (form.width, self.out_dim))
        in_dim = params[self.names[0][0]].shape[1]
        middle = self.out_dim if self.kind == _KINDS["bottleneck"] else self.width
        # all layers but the readout are transposed; where a hidden layer is the input, that side is padded too
        inputs = [in_dim, *[middle] * (self.hidden - 1), self.out_dim]
        self._shapes = [(rows, self.width) for rows in inputs]

    @property
    def per_point(self) -> int:
        """How many intermediate numbers and outputs belong to one point."""
        return self.hidden * self.width + 2 * self._out

    def pack(self, state: Tensors, prefix: str = "") -> np.ndarray:
        """The array of a state. What is missing becomes zero.

        Arguments:
            state: tensors by name.
            prefix: the beginning of their names.
        """
        parts = []
        for i, ((weight, bias), shape) in enumerate(zip(self.names, self._shapes, strict=True)):
            matrix = np.zeros(shape, dtype=np.float32)
            if prefix + weight in state:
                given = state[prefix + weight].numpy()
                # The steps add up rows of neurons, one for each input, so neighbours in memory are neurons and not
                # inputs.
                given = given if i == self.hidden else given.T
                matrix[: given.shape[0], : given.shape[1]] = given
            row = np.zeros(self._out if i == self.hidden else self.width, dtype=np.float32)
            if prefix + bias in state:
                row[: state[prefix + bias].shape[0]] = state[prefix + bias].numpy()
            parts += [matrix.ravel(), row]
        return np.concatenate(parts)

    def unpack(self, packed: np.ndarray, like: Tensors) -> Tensors:
        """The tensors of an array, and all other tensors of ``like`` unchanged."""
        state, at = dict(like), 0
        for i, ((weight, bias), shape) in enumerate(zip(self.names, self._shapes, strict=True)):
            matrix = packed[at : at + shape[0] * shape[1]].reshape(shape)
            at += matrix.size
            rows = self._out if i == self.hidden else self.width
            matrix = matrix if i == self.hidden else matrix.T
            if weight in like:
                n, p = like[weight].shape
                # A copy, because the packed array belongs to these steps alone and would stay alive with any view of
                # it.
                state[weight] = torch.from_numpy(matrix[:n, :p].copy())
            if bias in like:
                state[bias] = torch.from_numpy(packed[at : at + like[bias].shape[0]].copy())
            at += rows
        return state
