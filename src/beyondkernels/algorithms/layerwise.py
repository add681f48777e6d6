"""Training layer by layer, to compare with training all layers together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from beyondkernels.activations import activation
from beyondkernels.algorithms.base import CompiledRule, Stage
from beyondkernels.algorithms.by_rule import ByRules
from beyondkernels.algorithms.losses import Loss
from beyondkernels.algorithms.sgd import GradientDescent
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import InputError, Shape, Stream, Tensors, require
from beyondkernels.core.errors import shown
from beyondkernels.networks import Network, ThreeLayerResNet

_FIRST, _SECOND = "first layer", "second layer"


@dataclass(frozen=True)
class Layerwise(ByRules):
    r"""Trains the first hidden layer of a three-layer ResNet, then the second on what the first has become.

    .. math:: \text{first:}\quad  & \min_{W, A}\; L(\mathrm{out}_1), \qquad \mathrm{out}_1(x) = A\sigma(Wx + b_1) \\
              \text{second:}\quad & \min_{V}\; L\bigl(\mathrm{out}_1 + A\sigma(V \mathrm{out}_1 + b_2)\bigr)
              \qquad W, A \text{ fixed}

    While the first layer trains, the second one is zero and adds nothing; then it starts from its own random draw. What
    the first layer gets wrong (by about α, since it fits :math:`F + \alpha G(F)` on its own) it can no longer correct:
    errors that training all layers together would take back. In the full form U stands for V.

    Arguments:
        first: the rule of the first stage. Its group ``all`` trains W and A, ``hidden`` W alone.
        second: the rule of the second stage, its steps counted from the stage's start. Of either group it trains the
            second layer alone.

    >>> from beyondkernels.algorithms import Squared
    >>> rule = GradientDescent(steps=4, learning_rate=0.1, loss=Squared())
    >>> layerwise = Layerwise(rule, replace(rule, steps=2))
    >>> [(stage.name, stage.steps, layerwise.descent(stage).group) for stage in layerwise.stages()]
    [('first layer', 4, 'W+A'), ('second layer', 2, 'hidden-W')]

    Reference: Allen-Zhu & Li (resnet), §2.1, which argues that this must do worse than training together.
    """

    first: GradientDescent
    second: GradientDescent

    def __post_init__(self) -> None:
        for name, rule in (("first", self.first), ("second", self.second)):
            require(rule.group in ("all", "hidden"), f"{name}.group must be 'all' or 'hidden', got {shown(rule.group)}")
        require(
            self.first.loss == self.second.loss,
            f"first and second must have one loss, got {self.first.loss} and {self.second.loss}",
        )

    @property
    def loss(self) -> Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.first.loss

    def stages(self) -> tuple[Stage, ...]:
        return tuple(
            Stage(name, rule.steps, rule.batch) for name, rule in ((_FIRST, self.first), (_SECOND, self.second))
        )

    def descent(self, stage: Stage) -> GradientDescent:
        if stage.name == _SECOND:
            return replace(self.second, group="hidden-W")
        return replace(self.first, group="W+A" if self.first.group == "all" else "W")

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The network's own start, with zeros in place of the second layer."""
        if not isinstance(network, ThreeLayerResNet):
            raise InputError(f"layerwise training is for a ThreeLayerResNet, got a {type(network).__name__}")
        sigma = activation(network.activation)
        require(
            float(sigma.value(torch.zeros((), device="cpu"))) == 0,
            f"activation must be zero at zero, so that a second layer of zeros adds nothing, got {sigma}",
        )
        params, buffers = super().initialise(network, in_dim, out_dim, stream)
        second = network.trained("hidden-W", params)
        return params | {name: torch.zeros_like(params[name]) for name in second}, buffers

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        return self.descent(stage).compiled_rule(stage)

    def transition(self, view: MemberView) -> Transition:
        """After the first stage the second layer gets its start: the network's own, drawn once more."""
        after = super().transition(view)
        if after.stage != 1 or view.stage == 1:
            return after
        drawn, _ = view.drawn_start()
        second = view.network.trained("hidden-W", drawn)
        return after._replace(params=view.params | {name: drawn[name] for name in second})

    def before(self, stage: Stage) -> int:
        return self.first.steps if stage.name == _SECOND else 0
