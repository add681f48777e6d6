"""Blocks: the parts of a network that compute one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import torch

from beyondkernels.core import Component, InputError, Shape, Stream, Tensors, batch_shape, require, shown, unknown

if TYPE_CHECKING:
    from beyondkernels.networks.base import Network

AnyNetwork = TypeVar("AnyNetwork", bound="Network")

BlockNames = Sequence[str] | Mapping[str, str | Sequence[str]]
"""Blocks as a user names them: paths of modules, or a name for each list of paths and parameters."""

HEAD = "head:"
"""How the names of a head's parameters begin. The name of no module has a colon in it."""

TOGETHER = "&"
"""Between the names of parts that are one block; + and - put groups of parameters together."""


@dataclass(frozen=True)
class Block(Component):
    """A part of a network. Each parameter belongs to exactly one block.

    Arguments:
        name: the name of the block and of its group of parameters.
        parameters: the names of its parameters.
        entry: the module (its path) or the weights (their name) that are called first. What enters them enters the
            block.
    """

    example: ClassVar[str] = "Block('features.0', ('features.0.weight', 'features.0.bias'), 'features.0')"

    name: str
    parameters: tuple[str, ...]
    entry: str


def find_blocks(network: Network, in_dim: Shape, out_dim: int) -> tuple[Block, ...]:
    """The blocks of a network, in the order in which they are called.

    The blocks of a network of the package are its layers. Those of a module are found in its tree of modules:

    - The module is opened: its children take its place. A child is opened too if it is a ``Sequential``, a
      ``ModuleList`` or a ``ModuleDict`` without a ``forward`` of its own; if 90 % of its parameters are in a
      ``ModuleList`` (a transformer encoder); if it has 90 % of all parameters and most of them are in such containers;
      or if it has all parameters.
    - Any other child with parameters is a block: a layer, a residual block, a layer of a transformer. The order is that
      of their calls, which are recorded for two points that are zero.
    - Everything else belongs to the block called before it, or to the first block if there is none: layers without
      parameters, normalisation, parameters of an opened module itself.
    - A block that is called again after another one is merged with it and with those in between. So is one that the
      next block does not depend on, as in parallel branches. A merged block has the names of its parts, as in ``a&b``.
      A child that is never called belongs to the block before it in the tree.

    Arguments:
        network: the network. The blocks that :func:`with_blocks` has set are returned as they are.
        in_dim: the dimension of a point, or its shape.
        out_dim: the dimension of a prediction.

    >>> from beyondkernels.networks import FromCopy
    >>> from torch import nn
    >>> layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)
    >>> for block in find_blocks(FromCopy.of(nn.Sequential(*layers)), (1, 8, 8), 2):
    ...     print(block.name, block.parameters)
    0 ('0.weight', '0.bias', '1.weight', '1.bias')
    4 ('4.weight', '4.bias')
    """
    return network.blocks_of(*_at_zero(network, in_dim, out_dim))


def with_blocks(network: AnyNetwork, in_dim: Shape, out_dim: int, blocks: BlockNames | None = None) -> AnyNetwork:
    """The network with its blocks as groups of parameters.

    Each block is a group under its name, the last block is the group ``last``, and the others are the group
    ``hidden``. So ``Descent(…, group="all-features.0")`` leaves one block at its start. A network of the package has
    its layers as groups already and stays as it is.

    Arguments:
        network: the network.
        in_dim: the dimension of a point, or its shape.
        out_dim: the dimension of a prediction.
        blocks: None finds them (:func:`find_blocks`). Otherwise paths of modules, or names with the paths of modules
            and names of parameters of each. Parameters that are not named belong to the block called before them.

    >>> from beyondkernels.networks import FromCopy
    >>> from torch import nn
    >>> model = FromCopy.of(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)))
    >>> with_blocks(model, 3, 1).groups()["hidden"]
    ('0.weight', '0.bias', '2.weight', '2.bias')
    >>> sorted(with_blocks(model, 3, 1, {"below": ("0", "2"), "top": "4"}).groups())
    ['below', 'hidden', 'last', 'top']
    """
    if not hasattr(network, "blocks"):
        require(
            blocks is None,
            f"blocks can be named for a module alone; those of {type(network).__name__} are its layers: leave them out",
        )
        return network
    at, module = _at_zero(network, in_dim, out_dim), cast(Any, network)
    plain = replace(module, blocks=())  # those that were set do not count
    found = plain.blocks_of(*at) if blocks is None else plain.named_blocks(blocks, *at)
    return replace(plain, blocks=found)


def block_features(network: Network, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The features of each block: what enters the next block, and of the last block the network's output.

    Arguments:
        network: the network, evaluated as after training.
        params: its parameters.
        buffers: its buffers.
        x: the points.

    >>> from beyondkernels.networks import FullyConnected
    >>> network = FullyConnected(width=4, depth=3)
    >>> params, buffers = network.init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> features = block_features(network, params, buffers, torch.ones(3, 5))
    >>> {name: tuple(value.shape) for name, value in features.items()}
    {'layer1': (3, 4), 'layer2': (3, 4), 'output': (3, 2)}
    """
    blocks = network.blocks_of(params, buffers, x)
    out = network.apply(params, buffers, x)[0]
    if len(blocks) == 1:
        return {blocks[0].name: out}
    entered, _ = network.entering(tuple(block.entry for block in blocks[1:]), params, buffers, x)
    return dict(zip((block.name for block in blocks), (*entered, out), strict=True))


def position(blocks: Sequence[Block], name: str) -> int:
    """Where the block of a name stands among others."""
    names = [block.name for block in blocks]
    if name not in names:
        unknown("block", name, names)
    return names.index(name)


def parameters_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The parameters of some blocks."""
    return tuple(name for block in blocks for name in block.parameters)


def merged(blocks: Sequence[Block], i: int) -> tuple[Block, ...]:
    """Blocks of which one and the next are made one, under the names of both."""
    two = blocks[i : i + 2]
    both = Block(TOGETHER.join(block.name for block in two), parameters_of(two), two[0].entry)
    return (*blocks[:i], both, *blocks[i + 2 :])


def unlinked(
    network: Network, blocks: Sequence[Block], params: Tensors, buffers: Tensors, x: torch.Tensor
) -> list[int]:
    """The places of the blocks on which nothing depends that enters the next block.

    Arguments:
        network: the network.
        blocks: its blocks.
        params: its parameters.
        buffers: its buffers.
        x: some points.
    """
    if len(blocks) == 1:
        return []
    still = {name: buffers[name] for name in parameters_of(blocks) if name not in params}  # those that stay as they are
    rest = {name: value for name, value in buffers.items() if name not in still}
    with torch.enable_grad():
        given = (params | still).items()
        leaves = {name: value.detach().requires_grad_(value.is_floating_point()) for name, value in given}
        entered, _ = network.entering([block.entry for block in blocks[1:]], leaves, rest, x)
    found = []
    for i, (block, h) in enumerate(zip(blocks, entered, strict=False)):
        own = [leaves[name] for name in block.parameters if leaves[name].requires_grad]
        known = torch.autograd.grad(h.sum(), own, retain_graph=True, allow_unused=True) if h.requires_grad else ()
        if all(gradient is None for gradient in known):
            found.append(i)
    return found


def layers_as_blocks(network: Network, params: Tensors, used: Sequence[torch.Tensor]) -> tuple[Block, ...]:
    """The layers of a network of the package as blocks.

    Arguments:
        network: the network.
        params: its parameters.
        used: the weights of its linear layers, in the order of their uses.
    """
    kind, groups = type(network).__name__, network.groups()
    by_weight = {id(value): name for name, value in params.items()}
    found: list[Block] = []
    for weight in (by_weight[id(value)] for value in used if id(value) in by_weight):
        layer = weight.removesuffix(".weight")
        names = tuple(name for name in params if name == weight or name.startswith(f"{layer}."))
        same = [group for group, members in groups.items() if set(members) == set(names)]
        name = layer if layer in same or not same else same[0]
        require(
            all(block.name != name for block in found),
            f"the layer {name!r} of {kind} is used more than once, so that {kind} is no chain of blocks; a network "
            "that uses each layer once would do",
        )
        found.append(Block(name, names, weight))
    if not found or set(parameters_of(found)) != set(params):
        raise InputError(f"{kind} has parameters outside of linear layers, so that its blocks are not known")
    return tuple(found)


def _at_zero(network: Network, in_dim: Shape, out_dim: int) -> tuple[Tensors, Tensors, torch.Tensor]:
    """Parameters, buffers and points for which blocks are found: their order does not depend on numbers."""
    params, buffers = network.init(in_dim, out_dim, Stream(0))
    return params, buffers, zeros_like_points(network, 2, in_dim, params, buffers)


def zeros_like_points(network: Network, n: int, in_dim: Shape, params: Tensors, buffers: Tensors) -> torch.Tensor:
    """Points that are zero, in the precision and on the device of a network's parameters.

    They are whole numbers if the network takes nothing else, as one that begins with an embedding does.
    """
    one = next(iter(params.values()))
    zeros = torch.zeros(batch_shape(n, in_dim), dtype=one.dtype, device=one.device)
    for x in (zeros, zeros.long()):
        with contextlib.suppress(RuntimeError), torch.no_grad():  # what is wrong with both is said where it is used
            network.apply(params, buffers, x)
            return x
    return zeros


def require_all(blocks: Sequence[str], network: Network, found: Sequence[Block]) -> None:
    """Ask that names are those of all blocks of a network, in their order."""
    names = tuple(block.name for block in found)
    require(
        tuple(blocks) == names,
        f"blocks must name all blocks of {getattr(network, 'name', type(network).__name__)} in their order, "
        f"{shown(names)}, got {shown(tuple(blocks))}",
    )
