"""The algorithm of the paper on ResNets and kernels: every point is seen once."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.algorithms.base import Algorithm, Batch, CompiledRule, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import Loss, Squared
from beyondkernels.algorithms.optimisers import Rate, descend
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import InputError, Shape, Stream, Tensors
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.networks import Network

_RULE = Rate(1.0)
"""What a step does with a gradient; the numbers are those of the layer."""

_SEEN, _SEEN_LATE = "seen", "seen_late"


@dataclass(frozen=True)
class OnePass(Algorithm):
    r"""Gradient steps on one fresh point after the other, with a rate for each hidden layer; the readout stays.

    .. math:: W_{t+1} = W_t - \eta_w \nabla_W \mathrm{Obj}(W_t, V_t; (x_t, y_t)), \qquad
              V_{t+1} = V_t - \eta_v \nabla_V \mathrm{Obj}(W_t, V_t; (x_t, y_t)), \qquad
              \mathrm{Obj} = \tfrac12 \|y - \mathrm{out}(W, V; x)\|^2

    The sample is used point by point as it was drawn, each point once. Losses are reported without the factor 1/2, as
    in (6.2). Because each point is fresh, the mean over the steps of its loss before the step is an unbiased estimate
    of the theorem's average

    .. math:: \frac1T \sum_{t=0}^{T-1} \mathbb E \|y - \mathrm{out}(W_t, V_t; x)\|^2,

    where labels are the target itself (6.2)'s left side; ``summary`` gives it as ``online_loss``, and the mean over
    the last part of the steps as ``online_loss_tail``.

    Arguments:
        steps: T, at most the points of the sample.
        first_rate: :math:`\eta_w`.
        second_rate: :math:`\eta_v`; zero leaves V where it starts.
        tail: which part of the steps, at the end, is the tail.
        end: whether the run ends with the ``last`` weights, or with the ``average`` of :math:`W_t, V_t` over the tail
            (not the theorem's, which averages risks, not weights).

    Reference: Allen-Zhu & Li (resnet), Algorithm 1 and eqs. (6.1), (6.2).
    """

    steps: Annotated[int, positive]
    first_rate: Annotated[float, positive]
    second_rate: Annotated[float, not_negative]
    tail: Annotated[float, between(0, 1, "(]")] = 0.5
    end: Literal["last", "average"] = "last"

    @property
    def loss(self) -> Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The squared error, twice the objective (6.1)."""
        return Squared()

    @property
    def tail_steps(self) -> int:
        """How many steps the tail has."""
        return math.ceil(self.tail * self.steps)

    def stages(self) -> tuple[Stage, ...]:
        # Each point once and in the order of the draw: (6.2) is unbiased only for points that the weights have not met.
        return (Stage("one pass", self.steps, 1, order="once"),)

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The network's own start: training W(0) + W from it is training W from zero (footnote 13)."""
        _hidden(network)
        return super().initialise(network, in_dim, out_dim, stream)

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        """Sums of losses (in double precision: there may be millions) and, where asked for, the tail's average."""
        device = params["A.weight"].device
        sums = {name: torch.zeros((), dtype=torch.float64, device=device) for name in (_SEEN, _SEEN_LATE)}
        moving = [name for name in params if name.startswith(("W.", "V."))] if self.end == "average" else []
        return sums | {name: torch.zeros_like(params[name]) for name in moving}

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        place = step - (self.steps - self.tail_steps)
        late = place > 0
        return {
            "first_rate": self.first_rate,
            "second_rate": self.second_rate,
            "late": float(late),
            "share": 1 / place if late else 0.0,
        }

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        return CompiledRule("one pass")

    def program(self, stage: Stage) -> Hashable:
        return type(self), stage, self.end

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
        """Lines 4 to 6 of Algorithm 1."""
        first, second = _hidden(network)
        loss, gradient, after = loss_and_gradient(network, params, buffers | noise, batch, self.loss, (*first, *second))
        moved, kept = dict(params), dict(optimiser)
        for names, rate in ((first, "first_rate"), (second, "second_rate")):
            half = {name: gradient[name] / 2 for name in names}  # (6.1) is half the loss; halving is exact
            moved, _ = descend(_RULE, half, {}, moved, {"rate": hyper[rate]}, {})
            for name in names if self.end == "average" else ():
                # A running mean: W_t before its step, as in the theorem's average. A share of 0 before the tail keeps
                # it at zero, and the first, of 1, forgets that.
                kept[name] = optimiser[name] + hyper["share"] * (params[name] - optimiser[name])
        kept[_SEEN] = optimiser[_SEEN] + loss.double()
        kept[_SEEN_LATE] = optimiser[_SEEN_LATE] + hyper["late"].double() * loss.double()
        return StepResult(moved, after, kept, loss)

    def summary(self, steps: int, optimiser: Tensors) -> dict[str, float]:
        """``online_loss`` and, once the tail is over, ``online_loss_tail``."""
        found = {"online_loss": float(optimiser[_SEEN]) / steps} if steps else {}
        # A run that ended early has a tail that is not whole.
        if steps == self.steps:
            found["online_loss_tail"] = float(optimiser[_SEEN_LATE]) / self.tail_steps
        return found

    def transition(self, view: MemberView) -> Transition:
        """The end: with the average in place of the last weights, where asked for."""
        if self.end == "last" or view.steps_in_stage < self.steps:
            return super().transition(view)
        return view.end(view.params | {name: mean for name, mean in view.optimiser.items() if name in view.params})


def _hidden(network: Network) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters of W and of V."""
    groups = network.groups()
    if not {"W", "V"} <= groups.keys():
        kind = type(network).__name__
        raise InputError(
            f"Algorithm 1 trains the matrices W and V of a ThreeLayerResNet in the bottleneck form, got a {kind} with "
            f"{', '.join(groups)}"
        )
    return tuple(groups["W"]), tuple(groups["V"])
