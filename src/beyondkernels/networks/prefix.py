"""The first blocks of a network, with a linear head on top of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from beyondkernels.core import Shape, Stream, Tensors, require
from beyondkernels.networks.base import Network
from beyondkernels.networks.blocks import HEAD, Block, parameters_of, position, zeros_like_points
from beyondkernels.networks.linear import linear

WEIGHT, BIAS = f"{HEAD}weight", f"{HEAD}bias"
MOST = 16_384
"""Numbers of a point that a head reads at most, unless a single position has more."""

_REST = "rest:"
"""How the names of later blocks' parameters begin among the buffers."""


@dataclass(frozen=True)
class Prefix(Network):
    r"""The blocks of a network up to one of them, and a linear head on what would enter the next block.

    .. math:: f(x) = A\,h_\ell(x) + b

    The features :math:`h_\ell` of images (n, c, height, width) and of sequences (n, t, c) are read at every position: a
    head on averages over positions would not know where a feature is, and would be weak for this reason alone. If there
    are more than 16,384 numbers, images and sequences are averaged over windows first, the smallest of equal sides with
    which the numbers fit. What comes after the block is not computed.

    The blocks start as they do in the whole network. The head starts as ``torch.nn.Linear`` does: all of its numbers
    are uniform on :math:`\pm 1/\sqrt d` for d features. The parameters of later blocks are among the buffers and stay.

    Arguments:
        network: the network.
        block: the name of the last block that is kept; not the last one of the network, which has its own output.

    >>> from beyondkernels.networks import FullyConnected
    >>> params, _ = Prefix(FullyConnected(width=4, depth=3), "layer1").init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'layer1.weight': (4, 5), 'head:weight': (2, 4), 'head:bias': (2,)}

    Reference: Allen-Zhu & Li (bfc), App. A.5, "train only ≤ ℓ". There the later blocks of a residual network are zeroed
    out and its own head stays, which in wide residual networks averages over all positions.
    """

    revision: ClassVar[int] = 2  # 2: the head reads every position in place of averages over them

    network: Network
    block: str

    def __post_init__(self) -> None:
        require(not isinstance(self.network, Prefix), "network must be a whole network, got a Prefix")
        for name in ("batching", "structured"):
            object.__setattr__(self, name, getattr(self.network, name))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The start of the kept blocks and of the head; the other blocks among the buffers."""
        params, buffers = self.network.init(in_dim, out_dim, stream)
        kept, _ = self._split(params, buffers, zeros_like_points(self.network, 2, in_dim, params, buffers))
        own = {name: params[name] for name in parameters_of(kept)}
        rest = {_REST + name: value for name, value in params.items() if name not in own}
        return own | self.head(params, buffers, in_dim, out_dim, stream.child("head")), buffers | rest

    def head(self, params: Tensors, buffers: Tensors, in_dim: Shape, out_dim: int, stream: Stream) -> Tensors:
        """A head that fits the features, where the stream draws it.

        Arguments:
            params: the network's parameters.
            buffers: its buffers.
            in_dim: the dimension of a point, or its shape.
            out_dim: the dimension of a prediction.
            stream: where the head is drawn from.
        """
        x = zeros_like_points(self.network, 3, in_dim, params, buffers)
        with torch.no_grad(), x.device:
            h = self.read(params, buffers, x)[0]
            fewer = self.read(params, buffers, x[:2])[0]
        require(
            tuple(fewer.shape) == (2, *h.shape[1:]) and len(h) == 3,
            f"the features of block {self.block!r} must have a row for each point, as with batch_first=True, got the "
            f"shape {tuple(h.shape)} for 3 points and {tuple(fewer.shape)} for 2",
        )
        d = h.shape[1]
        drawn = {WEIGHT: stream.child("weight").uniform(out_dim, d), BIAS: stream.child("bias").uniform(out_dim)}
        return {name: ((2 * value - 1) / d**0.5).to(h.dtype) for name, value in drawn.items()}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        h, after = self.read(params, buffers, x, train)
        return linear(h, params[WEIGHT], params[BIAS]), after

    def read(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """The features of each point that the head reads, (n, d), and the buffers afterwards."""
        rest = {name: value for name, value in buffers.items() if name.startswith(_REST)}
        whole = params | {name.removeprefix(_REST): value for name, value in rest.items()}
        own = {name: value for name, value in buffers.items() if name not in rest}
        _, following = self._split(whole, own, x)
        (h,), after = self.network.entering((following.entry,), whole, own, x, train)
        require(
            h.ndim >= 2, f"the features of block {self.block!r} must be vectors or have positions, got {tuple(h.shape)}"
        )
        return fitted(h).flatten(1), after | rest

    @property
    def footprint(self) -> int:
        return self.network.footprint

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The head, as ``last`` too, and the blocks where the network says them."""
        blocks: tuple[Block, ...] = getattr(self.network, "blocks", ())
        kept = blocks[: position(blocks, self.block) + 1] if blocks else ()
        hidden = {"hidden": parameters_of(kept)} if kept else {}
        return {"last": (WEIGHT, BIAS), **hidden, **{each.name: each.parameters for each in kept}}

    def _split(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[tuple[Block, ...], Block]:
        """The blocks that are kept, and the one that comes next."""
        blocks = self.network.blocks_of(params, buffers, x)
        i = position(blocks, self.block)
        require(
            i + 1 < len(blocks),
            f"block must come before the last one, got {self.block!r}, whose features are the network's own output",
        )
        return blocks[: i + 1], blocks[i + 1]


def fitted(h: torch.Tensor) -> torch.Tensor:
    """Features with at most ``MOST`` numbers for each point, averaged over windows of positions if they have more.

    Arguments:
        h: vectors (n, c), sequences (n, t, c), images (n, c, height, width) or volumes.

    >>> fitted(torch.zeros(2, 64, 32, 32)).shape
    torch.Size([2, 64, 16, 16])
    """
    if h[0].numel() <= MOST or h.ndim == 2:
        return h
    if h.ndim == 3:
        return fitted(h.mT[:, :, None])[:, :, 0].mT  # a sequence is an image of height one
    h = h.flatten(4) if h.ndim > 5 else h
    sides, channels, side = h.shape[2:], h.shape[1], 1
    while channels * math.prod(-(-length // side) for length in sides) > MOST and side < max(sides):
        side += 1
    window = [min(side, length) for length in sides]
    pool = F.avg_pool2d if len(sides) == 2 else F.avg_pool3d
    return pool(h, window, ceil_mode=True, count_include_pad=False)
