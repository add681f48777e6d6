"""Training block by block, and backward feature correction, for any network that has blocks."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from beyondkernels.algorithms.base import Batch, Stage, StepResult
from beyondkernels.algorithms.by_rule import ByRule
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.optimisers import descend
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import Checked, Shape, Stream, Tensors, later, require, shown
from beyondkernels.core.constraints import not_empty, positive
from beyondkernels.networks import Block, Network, Prefix
from beyondkernels.networks.blocks import HEAD, parameters_of, position, require_all, zeros_like_points
from beyondkernels.networks.prefix import BIAS, WEIGHT


class ThroughBlocks(ByRule):
    """Stages that train some blocks of a network, with a head on top of them or with the network's own output.

    Each stage has all steps of the rule, counted from the stage's start, and an optimiser of its own. A head is drawn
    when its stage begins and is dropped when it ends. Until the last stage, a record over training sees the whole
    network, whose later blocks are still at their start.

    A block that is fixed keeps its parameters. Its running statistics, as batch normalisation has, go on.
    """

    revision: ClassVar[int] = 2  # 2: heads read every position in place of averages over them

    @abstractmethod
    def ends(self) -> tuple[tuple[str, str | None], ...]:
        """For each stage its name and the block that gets a head; None for the network's own output."""

    @abstractmethod
    def trained(self, stage: int, blocks: Sequence[Block]) -> Sequence[Block]:
        """The blocks that a stage trains."""

    @abstractmethod
    def require_blocks(self, network: Network, blocks: Sequence[Block]) -> None:
        """Ask that a network has the blocks that the algorithm names."""

    def require_rule(self) -> None:
        """Ask for a rule that trains whatever it is given."""
        require(self.rule.group == "all", f"rule.group must be 'all', got {shown(self.rule.group)}")

    def stages(self) -> tuple[Stage, ...]:
        return self._stages

    @functools.cached_property
    def _stages(self) -> tuple[Stage, ...]:
        return tuple(Stage(name, self.rule.steps, self.rule.batch) for name, _ in self.ends())

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        params, buffers = network.init(in_dim, out_dim, stream)
        x = zeros_like_points(network, 2, in_dim, params, buffers)
        self.require_blocks(network, network.blocks_of(params, buffers, x))
        block = self.ends()[0][1]
        if block is None:
            return params, buffers
        return params | Prefix(network, block).head(params, buffers, in_dim, out_dim, stream.child("head")), buffers

    def program(self, stage: Stage) -> Hashable:
        return type(self), self.ends(), self.rule.program(stage)

    def step(
        self,
        stage: Stage,
        network: Network,
        params: Tensors,
        buffers: Tensors,
        optimiser: Tensors,
        batch: Batch,
        noise: Tensors,
        hyper: Tensors,
    ) -> StepResult:
        i = self._stages.index(stage)
        block = self.ends()[i][1]
        names = parameters_of(self.trained(i, network.blocks_of(params, buffers, batch.x)))
        if block is not None:
            network, names = Prefix(network, block), (*names, WEIGHT, BIAS)
        loss, gradient, after = loss_and_gradient(network, params, buffers, batch, self.loss, names)
        alone = network.batching == "sequential"
        moved, kept = descend(self.rule.rule, gradient, optimiser, params, hyper, noise, alone=alone)
        return StepResult(moved, after, kept, loss)

    def transition(self, view: MemberView) -> Transition:
        """On to the next stage, with its head in place of the present one."""
        after = super().transition(view)
        if after.stage == view.stage:
            return after
        # The head of the stage that is over reads features that go on changing; nothing may read it again.
        params = {name: value for name, value in view.params.items() if not name.startswith(HEAD)}
        block = None if after.stage is None else self.ends()[after.stage][1]
        if block is not None:
            prefix, stream = Prefix(view.network, block), view.stream.child("head")
            params |= prefix.head(params, view.buffers, view.in_dim, view.out_dim, stream)
        return after._replace(params=params)

    def before(self, stage: Stage) -> int:
        return self.rule.steps * self._stages.index(stage)


@dataclass(frozen=True)
class Blockwise(ThroughBlocks, Checked):
    r"""Trains a network block by block, each on what the blocks below it have become.

    .. math:: \text{stage } \ell < L:\quad & \min_{\theta_\ell, A, b}\; L\bigl(A h_\ell + b\bigr), \qquad
              \theta_1, \dots, \theta_{\ell-1} \text{ fixed} \\
              \text{stage } L:\quad & \min_{\theta_L}\; L(f), \qquad \theta_1, \dots, \theta_{L-1} \text{ fixed}

    Each block but the last trains with a linear head of its own on its features at all positions
    (:class:`~beyondkernels.networks.Prefix`). The last block trains with the network's own output. What a block gets
    wrong, no later block can correct in it.

    Every stage has all steps of the rule, so that the training has L times as many. A rule with fewer steps, and a
    schedule for so many, makes it shorter.

    Arguments:
        rule: the rule of each stage, such as the model's own; its group is ``all``.
        blocks: the names of all blocks of the network, in their order.

    >>> from beyondkernels.algorithms import Descent
    >>> from beyondkernels.algorithms.optimisers import adam
    >>> rule = Blockwise(Descent(steps=100, optimiser=adam(0.01)), blocks=("layer1", "layer2", "output"))
    >>> [(stage.name, stage.steps) for stage in rule.stages()]
    [('block layer1', 100), ('block layer2', 100), ('block output', 100)]

    Reference: Allen-Zhu & Li (bfc), App. A.4, layerwise training.
    """

    rule: ByOptimiser
    blocks: Annotated[tuple[str, ...], not_empty]

    def __post_init__(self) -> None:
        self.require_rule()

    def ends(self) -> tuple[tuple[str, str | None], ...]:
        *below, last = self.blocks
        return (*((f"block {name}", name) for name in below), (f"block {last}", None))

    def trained(self, stage: int, blocks: Sequence[Block]) -> Sequence[Block]:
        return blocks[stage : stage + 1]

    def require_blocks(self, network: Network, blocks: Sequence[Block]) -> None:
        require_all(self.blocks, network, blocks)


@dataclass(frozen=True)
class Corrected(ThroughBlocks, Checked):
    r"""Trains the first blocks of a network together, then the whole network from there: backward feature correction.

    .. math:: \text{up to } \ell:\quad & \min_{\theta_1, \dots, \theta_\ell, A, b}\; L\bigl(A h_\ell + b\bigr) \\
              \text{whole:}\quad & \min_{\theta_{k+1}, \dots, \theta_L}\; L(f), \qquad
              \theta_1, \dots, \theta_k \text{ fixed}, \quad k \le \ell

    In the first stage the blocks up to ℓ have a linear head on their features at all positions
    (:class:`~beyondkernels.networks.Prefix`). In the second stage the later blocks begin at their start. With k = ℓ the
    features of the first stage stay ("fix ≤ ℓ, train the rest"), with k = ℓ − j those of the last j blocks are
    corrected, and with k = 0 all are. The difference is what backward feature correction brings, and what further steps
    bring. ``rounds`` = 2 with k = ℓ tells them apart: the first blocks are trained on with another head before they are
    fixed, for as many steps as if they were trained on with the later blocks. The first stage alone ("train only ≤ ℓ")
    is the rule with the network ``Prefix(network, block)``.

    Each stage has all steps of the rule.

    Arguments:
        rule: the rule of both stages, such as the model's own; its group is ``all``.
        upto: the block ℓ, by its name; any but the last.
        fixed: the block k up to which all blocks are fixed in the last stage; None fixes none.
        rounds: how often the first stage is repeated, each time with a head of its own.

    >>> from beyondkernels.algorithms import Descent
    >>> from beyondkernels.algorithms.optimisers import adam
    >>> rule = Corrected(Descent(steps=100, optimiser=adam(0.01)), upto="layer2", fixed="layer1")
    >>> [(stage.name, stage.steps) for stage in rule.stages()]
    [('up to layer2', 100), ('whole network', 100)]

    Reference: Allen-Zhu & Li (bfc), Figure 9 and App. A.5. There "train all the layers" begins anew and is kept close
    to the first stage by a regulariser; here all blocks go on from the first stage. There the head of the first stage
    averages over positions, as that of the paper's residual network does; here it reads all of them.
    """

    rule: ByOptimiser
    upto: str
    fixed: str | None = None
    rounds: Annotated[int, positive] = later(1)

    def __post_init__(self) -> None:
        self.require_rule()

    def ends(self) -> tuple[tuple[str, str | None], ...]:
        again = (f", round {i}" if i > 1 else "" for i in range(1, self.rounds + 1))
        return (*((f"up to {self.upto}{word}", self.upto) for word in again), ("whole network", None))

    def trained(self, stage: int, blocks: Sequence[Block]) -> Sequence[Block]:
        if stage < self.rounds:
            return blocks[: position(blocks, self.upto) + 1]
        return blocks if self.fixed is None else blocks[position(blocks, self.fixed) + 1 :]

    def program(self, stage: Stage) -> Hashable:
        return super().program(stage), self.fixed

    def require_blocks(self, network: Network, blocks: Sequence[Block]) -> None:
        """Ask for ℓ before the last block, and for k not after ℓ."""
        last = position(blocks, self.upto)
        require(
            last + 1 < len(blocks),
            f"upto must come before the last block, got {self.upto!r}; there is nothing left to train above it",
        )
        require(
            self.fixed is None or position(blocks, self.fixed) <= last,
            f"fixed must not come after upto={self.upto!r}, got {self.fixed!r}",
        )
