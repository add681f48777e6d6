"""Layers that join the training one after the other: layerwise pre-training, and layerwise training."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.algorithms.base import Algorithm, Batch, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import Loss, Squared
from beyondkernels.algorithms.optimisers import Chain, Optimiser, Rate, chain, descend
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import InputError, Shape, Stream, Tensors, require
from beyondkernels.core.constraints import not_empty, positive
from beyondkernels.networks import Network
from beyondkernels.papers.bfc.networks import QuadraticDenseNet


@dataclass(frozen=True)
class Joining(Algorithm):
    r"""Trains a :class:`QuadraticDenseNet` in stages; in each stage after the first, one more layer joins.

    .. math:: \text{stage } s:\quad \min_{M_2, \dots, M_\ell} L\Bigl(\sum_{j \le \ell} \alpha_j
              \mathrm{Sum}(G_j)\Bigr) \qquad \text{frozen:}\quad \min_{M_\ell}, \quad M_2, \dots, M_{\ell-1}
              \text{ fixed}

    In the last stage all layers have joined, so a single stage trains all layers together from the start, and as many
    stages as there are layers begin with the second layer alone. A layer that has not joined is zero and adds nothing.
    When it joins, it starts from its own random draw. The optimiser starts anew in every stage, and so does the readout
    of a network that has one: in layerwise training the newest layer is trained with a fresh readout of all layers
    (App. A.4); without one, the layers below add what they added before (footnote 6).

    Arguments:
        rule: the optimiser, the last rule its learning rate; one for all stages or one for each. Its steps are counted
            from the stage's start.
        steps: how many steps each stage has.
        frozen: whether the layers that joined before stay as they are: layerwise training, which the paper argues
            against. Otherwise they go on: layerwise pre-training.
        batch: points in a batch; None takes the whole sample.
        loss: the loss.

    >>> from beyondkernels.algorithms.optimisers import adam
    >>> rule = Joining(adam(0.01), steps=(200, 300))
    >>> [(stage.name, stage.steps) for stage in rule.stages()], rule.stage_ends
    ([('stage 1 of 2', 200), ('stage 2 of 2', 300)], (199, 500))

    Reference: Allen-Zhu & Li (bfc), §1 (footnote 6), §4 ("layerwise pre-training"), App. A.4.
    """

    rule: Optimiser | Annotated[tuple[Optimiser, ...], not_empty]
    steps: Annotated[tuple[int, ...], positive, not_empty]
    frozen: bool = False
    batch: Annotated[int, positive] | None = None
    loss: Loss = field(default_factory=Squared)

    def __post_init__(self) -> None:
        require(
            isinstance(self.rule, Optimiser) or len(self.rule) == len(self.steps),
            f"rule must be one optimiser or one for each of the {len(self.steps)} stages, got {self._count}",
        )
        for chained in self._rules:
            last = type(chained.parts[-1]).__name__
            require(
                isinstance(chained.parts[-1], Rate),
                f"rule must end with its learning rate, as in chain(Adam(), Rate(0.001)), got a last rule {last}",
            )
        one = isinstance(self.rule, Optimiser)
        object.__setattr__(self, "rule", self._rules[0] if one else self._rules)  # one identity for both spellings

    @property
    def stage_ends(self) -> tuple[int, ...]:
        """The steps at which to record what each stage has reached.

        A layer joins right after the last step of a stage, and a record at that step sees it. So this is the step
        before, but for the last stage.
        """
        *before, last = itertools.accumulate(self.steps)
        return (*(step - 1 for step in before), last)

    def stages(self) -> tuple[Stage, ...]:
        return self._stages

    def joined(self, stage: Stage, network: QuadraticDenseNet) -> int:
        """The highest layer that has joined."""
        return network.depth - (len(self.steps) - 1 - self._stages.index(stage))

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The network's own start, with zeros in place of the layers that join later."""
        if not isinstance(network, QuadraticDenseNet):
            raise InputError(f"Joining is for a QuadraticDenseNet, got a {type(network).__name__}")
        require(
            len(self.steps) <= len(network.layers),
            f"steps must hold at most {len(network.layers)} stages, one for each layer, got {len(self.steps)}",
        )
        params, buffers = super().initialise(network, in_dim, out_dim, stream)
        first = _up_to(network, self.joined(self._stages[0], network))
        return {name: value if name in first else torch.zeros_like(value) for name, value in params.items()}, buffers

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        return self._rule(stage).state(params)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        return {name: values[0] for name, values in self.hyper_of(stage, range(step, step + 1)).items()}

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        # A schedule means the steps of its stage; the engine counts over all of them.
        before = sum(self.steps[: self._stages.index(stage)])
        return self._rule(stage).hyper_of(range(steps.start - before, steps.stop - before))

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        return self._rule(stage).noise({name: params[name] for name in self._trained(stage, network)}, stream)

    def program(self, stage: Stage) -> Hashable:
        return type(self), stage, len(self.steps), self.frozen, self.loss, self._rule(stage).program()

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
        """One update of the layers that are trained; those that have not joined are not evaluated."""
        assert isinstance(network, QuadraticDenseNet)
        # Layers that are zero would give zero, but their share of the forward pass would still be paid for.
        joined = {name: params[name] for name in _up_to(network, self.joined(stage, network))}
        names = self._trained(stage, network)
        loss, gradient, after = loss_and_gradient(network, joined, buffers, batch, self.loss, names)
        moved, kept = descend(self._rule(stage), gradient, optimiser, params, hyper, noise)
        return StepResult(moved, after, optimiser | kept, loss)

    def transition(self, view: MemberView) -> Transition:
        """At the end of a stage the next layer gets its start: the network's own, drawn once more."""
        after = super().transition(view)
        if after.stage is None or after.stage == view.stage:
            return after
        assert isinstance(view.network, QuadraticDenseNet)
        # The draw of the start itself: a layer that joins late begins where it would have begun in joint training.
        drawn, _ = view.drawn_start()
        top = self.joined(self._stages[after.stage], view.network)
        new = *view.network.groups()[f"layer{top}"], *_readout(view.network, top)
        return after._replace(params=view.params | {name: drawn[name] for name in new})

    def _trained(self, stage: Stage, network: Network) -> tuple[str, ...]:
        assert isinstance(network, QuadraticDenseNet)
        top = self.joined(stage, network)
        # The first stage may begin with several layers, and nothing below them was trained before.
        alone = self.frozen and stage != self._stages[0]
        newest = dict.fromkeys((*network.groups()[f"layer{top}"], *_readout(network, top)))
        return tuple(newest) if alone else _up_to(network, top)

    @functools.cached_property
    def _stages(self) -> tuple[Stage, ...]:
        count = len(self.steps)
        return tuple(Stage(f"stage {i} of {count}", steps, self.batch) for i, steps in enumerate(self.steps, 1))

    @functools.cached_property
    def _rules(self) -> tuple[Chain, ...]:
        return tuple(chain(rule) for rule in ((self.rule,) if isinstance(self.rule, Optimiser) else self.rule))

    @property
    def _count(self) -> int:
        return 1 if isinstance(self.rule, Optimiser) else len(self.rule)

    def _rule(self, stage: Stage) -> Chain:
        return self._rules[0] if len(self._rules) == 1 else self._rules[self._stages.index(stage)]


def _up_to(network: QuadraticDenseNet, top: int) -> tuple[str, ...]:
    groups = network.groups()
    return tuple(name for layer in network.layers if layer <= top for name in groups[f"layer{layer}"])


def _readout(network: QuadraticDenseNet, top: int) -> tuple[str, ...]:
    return network.groups().get("readout", ())[: top - 1]
