"""The base class of networks: an architecture as data, with two pure functions, ``init`` and ``apply``."""

from __future__ import annotations

import dataclasses
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import torch

from beyondkernels.core import (
    Component,
    InputError,
    Problem,
    Shape,
    Stream,
    Tensors,
    require,
    shape_of,
    speaks_for,
    unknown,
)
from beyondkernels.core.errors import shown
from beyondkernels.networks.blocks import HEAD, Block, layers_as_blocks
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.initialisation import Initialisation
from beyondkernels.networks.linear import Use, computed_until, recorded

WITNESS_POINTS = 8
"""On how many points a network is looked at, to know it again."""


def acts(
    network: Network,
    params: Tensors,
    buffers: Tensors,
    x: torch.Tensor,
    objective: Callable[[torch.Tensor], torch.Tensor],
) -> Tensors:
    """What a network gives on points when it is evaluated, and gradients and buffers of one training pass.

    Arguments:
        network: the network.
        params: its parameters.
        buffers: its buffers.
        x: the points.
        objective: what the gradient is taken of, a function of predictions.
    """
    with torch.no_grad():
        found = {"outputs": network.apply(params, buffers, x)[0]}
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
        out, after = network.apply(leaves, buffers, x, train=True)
        slopes = torch.autograd.grad(objective(out), list(leaves.values()), allow_unused=True)
    found |= {f"gradients/{name}": each for name, each in zip(leaves, slopes, strict=True) if each is not None}
    return found | {f"buffers/{name}": value for name, value in after.items()}


class Network(Component, ABC):
    """An architecture. Shapes of data are arguments, never fields; parameters are dicts of tensors.

    Points may have any shape. A network that wants vectors flattens them.

    A network declares what can be done with it besides ``init`` and ``apply``, so that no code asks for its class. A
    limit at infinite width belongs to the kernels, where it is registered for a class of networks
    (:func:`beyondkernels.kernels.infinite_tangent`).

    Class variables:
        batching: how many networks of one shape train at once: ``vmapped`` as one ensemble, or ``sequential``.
        structured: whether parameters enter through :func:`~beyondkernels.networks.linear` alone, so that tangent
            kernels need no derivative in any parameter.
        grows_by: the field that sets the network's size, such as its width; None where there is none.
    """

    example: ClassVar[str] = "FullyConnected(100), or FromModule(factory, name) for a module"

    batching: ClassVar[Literal["vmapped", "sequential"]] = "vmapped"
    structured: ClassVar[bool] = True
    grows_by: ClassVar[str | None] = None

    @abstractmethod
    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """Fresh parameters and buffers.

        Arguments:
            in_dim: the dimension of points that are vectors, the shape of others, such as (3, 32, 32).
            out_dim: the dimension of a prediction.
            stream: where they come from.
        """

    @abstractmethod
    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """Predictions (n, out_dim) for points (n, …), and the buffers afterwards."""

    def witness(self, problem: Problem, samples: int) -> Tensors:
        """What it does on a few points: outputs, and in training mode gradients and buffers; see ``store.witness``.

        Arguments:
            problem: where the points come from.
            samples: how many there are.
        """
        x = problem.take("train", min(samples, WITNESS_POINTS), 0).x
        params, buffers = self.init(shape_of(problem.in_shape), problem.out_dim, Stream(0))
        return acts(self, params, buffers, x, lambda out: out.square().sum())

    @property
    @abstractmethod
    def footprint(self) -> int:
        """How many intermediate numbers one point produces. It bounds the size of an ensemble that fits the cache."""

    @abstractmethod
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Named groups of parameters, each a tuple of parameter names; ``all`` is implied."""

    def trained(self, group: str, params: Tensors) -> tuple[str, ...]:
        """The names of the parameters in a group.

        Arguments:
            group: ``all``, one of ``groups()``, or several of these put together, such as ``W+A`` or ``hidden-W``.
            params: the network's parameters.
        """
        groups = {**self.groups(), "all": tuple(params)}
        if group in groups:
            return groups[group]
        names: tuple[str, ...] = ()
        for sign, part in re.findall(r"([+-]|^)([^+-]*)", group):
            if part not in groups:
                unknown("parameter group", part, groups)
            rest = tuple(name for name in names if name not in groups[part])
            names = rest if sign == "-" else (*rest, *groups[part])
        require(len(names) > 0, f"group must leave some parameters, got {shown(group)}")
        return names

    def weights(self, in_dim: Shape, out_dim: int) -> dict[str, bool]:
        """For each parameter whether it is a weight, and neither a bias nor a number of a normalisation.

        Arguments:
            in_dim: the dimension of an input, or its shape.
            out_dim: the dimension of a prediction.
        """
        params, _ = self.init(in_dim, out_dim, Stream(0))
        return {name: value.ndim > 1 and not name.endswith("bias") for name, value in params.items()}

    def features(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        """The inputs of the last layer, (n, features). With all other layers frozen, predictions are linear in them.

        If the readout is used more than once, as with a skip connection, the inputs of its uses are added: predictions
        are linear in the sum while the inner use stays frozen. If the readout has a bias, the last feature is its
        constant input.
        """
        last = self._last_uses(params, buffers, x)
        h = torch.stack([use.input for use in last]).sum(0)
        biased = [use for use in last if use.bias is not None]
        constant = [h.new_full((len(h), 1), sum(use.bias_scale for use in biased))] if biased else []
        return torch.cat([h, *constant], 1)

    def last_layer(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[str, ...]:
        """The parameters of the last layer. With all others frozen, predictions are linear in them.

        An ``InputError`` says why there are none: the network does not end with a linear layer, or the layer is used
        before, too.

        Arguments:
            params: the parameters.
            buffers: the buffers.
            x: some points.
        """
        last = self._last_uses(params, buffers, x)
        require(len(last) == 1, f"the last layer of {type(self).__name__} is used before, too")
        return self.groups()["last"]

    def _last_uses(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> list[Use]:
        with recorded() as uses:
            self.apply(params, buffers, x)
        last = [use for use in uses if any(use.weight is params[name] for name in self.groups()["last"])]
        require(len(last) > 0, f"{type(self).__name__} has no linear layer in its group 'last' to take features from")
        return last

    def holds(self, kind: type[torch.nn.Module], buffers: Tensors, x: torch.Tensor) -> bool:
        """Whether a layer of one of PyTorch's kinds is in the network: never, unless it is a user's module.

        Arguments:
            kind: the class of the layer.
            buffers: the buffers.
            x: some points, of which only the shape counts.
        """
        return False

    def intermediates(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[str, tuple[torch.Tensor, ...]]:
        """The outputs of each layer inside :meth:`apply`, one for each use of the layer.

        The output of a hidden layer is the input of the activation, so its signs are the gates. This replaces a second
        forward pass in measurements.

        Arguments:
            params: the parameters.
            buffers: the buffers.
            x: the points.

        >>> from beyondkernels.networks import ThreeLayerResNet
        >>> network = ThreeLayerResNet(width=4, form="bottleneck")
        >>> params, buffers = network.init(in_dim=5, out_dim=2, stream=Stream(0))
        >>> seen = network.intermediates(params, buffers, torch.ones(3, 5))
        >>> {name: [tuple(output.shape) for output in outputs] for name, outputs in seen.items()}
        {'W': [(3, 4)], 'A': [(3, 2), (3, 2)], 'V': [(3, 4)]}
        """
        with recorded() as uses:
            self.apply(params, buffers, x)
        found: dict[str, tuple[torch.Tensor, ...]] = {}
        for use in uses:
            (weight,) = (name for name, value in params.items() if value is use.weight)
            layer = weight.removesuffix(".weight")
            found[layer] = (*found.get(layer, ()), use.output)
        return found

    def blocks_of(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[Block, ...]:
        """The blocks in the order of their calls: see :func:`~beyondkernels.networks.find_blocks`.

        Arguments:
            params: the parameters. The blocks depend on their names alone; a head belongs to none.
            buffers: the buffers.
            x: some points, of which the blocks depend on the shape alone.
        """
        shape = tuple(x.shape[1:])
        if shape not in self._blocks_by_shape:
            own = {name: value for name, value in params.items() if not name.startswith(HEAD)}
            with x.device:  # also while a learner counts the memory of tensors without numbers
                self._blocks_by_shape[shape] = self._found_blocks(own, buffers, x[:2])
        return self._blocks_by_shape[shape]

    @functools.cached_property
    def _blocks_by_shape(self) -> dict[tuple[int, ...], tuple[Block, ...]]:
        return {}

    def _found_blocks(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[Block, ...]:
        with recorded() as uses:
            self.apply(params, buffers, x)
        return layers_as_blocks(self, params, [use.weight for use in uses])

    def entering(
        self, entries: Sequence[str], params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[tuple[torch.Tensor, ...], Tensors]:
        """What enters some blocks, computed no further than to the last of them, and the buffers afterwards.

        Arguments:
            entries: the entries of the blocks, in the order of their calls.
            params: the parameters.
            buffers: the buffers.
            x: the points.
            train: whether this is a step of training.
        """
        with recorded() as uses, computed_until(params[entries[-1]]) as last:
            self.apply(params, buffers, x, train)
        inputs = {id(use.weight): use.input for use in uses}
        return (*(inputs[id(params[entry])] for entry in entries[:-1]), *last), buffers

    def program(self) -> Network:
        """What networks must have in common to train together: all, except for what is in :meth:`own_buffers`."""
        return self

    def own_buffers(self) -> Tensors:
        """Numbers in which networks of one program may differ; none by default.

        Training adds them to the buffers, so that every member of an ensemble has its own. ``apply`` must take them
        from there where they are.
        """
        return {}

    def expansion_point(self, params: Tensors, buffers: Tensors) -> tuple[Network, Tensors, Tensors]:
        """The network, parameters and buffers at which the gradient is taken: its own, unless it is linearised."""
        return self, params, buffers

    def dense_form(self) -> DenseForm | None:
        """The formula of the network for the compiled backend, if it consists of dense layers; otherwise None.

        A class that overrides ``apply`` must declare its form again; the declaration of its parent does not count.
        """
        return None

    def resized(self, size: int) -> Network:
        """The same network with another value of the field that it grows by."""
        assert self.grows_by is not None, f"{type(self).__name__} does not say what it grows by"
        return dataclasses.replace(self, **{self.grows_by: size})  # pyright: ignore[reportArgumentType]

    @property
    def size(self) -> int | None:
        """The value of the field that the network grows by; None where there is none."""
        return None if self.grows_by is None else getattr(self, self.grows_by)

    def started_by(self, initialisation: Initialisation) -> Network:
        """The same network, its weights drawn by another initialisation."""
        raise InputError(f"{type(self).__name__} does not start from an Initialisation, as TwoLayer does")

    def smoothed(self, std: float) -> Network:
        """The same network with Gaussian noise before every activation, averaged in closed form."""
        raise InputError(f"{type(self).__name__} has no closed form under noise of std {std}; draw the noise instead")


def declared_form(network: Network) -> DenseForm | None:
    """The dense form of a network, if its own class or one that shares its ``apply`` declares it."""
    return network.dense_form() if speaks_for(type(network), "dense_form", ("apply",)) else None
