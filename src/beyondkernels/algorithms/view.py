"""What a training rule sees of one member between two steps, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from beyondkernels.algorithms.losses import Loss
from beyondkernels.core import Sample, Shape, Stream, Tensors, on_device
from beyondkernels.networks import Network, predictions


@dataclass(frozen=True)
class MemberView:
    r"""One member in training, as its rule sees it when the rule is asked where to go next.

    A view holds everything a decision may depend on. None of it may be changed in place.

    Arguments:
        network: the architecture.
        sample: the training sample.
        loss: what is trained and reported.
        stage: which of the rule's stages the member is in.
        steps_in_stage: how many steps of this stage it has taken.
        step: how many steps it has taken in all.
        stream: random numbers of this decision alone: a pure function of seed and step, the same in any company and
            after any interruption. ``stream.child(name)`` gives as many independent ones as there are names.
        params: the parameters.
        buffers: the buffers.
        optimiser: the optimiser's state.
        in_dim: the dimension of an input, or its shape.
        out_dim: the dimension of a prediction.
        initial: the stream from which the start was drawn.
    """

    network: Network
    sample: Sample
    loss: Loss
    stage: int
    steps_in_stage: int
    step: int
    stream: Stream
    params: Tensors
    buffers: Tensors
    optimiser: Tensors
    in_dim: Shape
    out_dim: int
    initial: Stream

    def objective(
        self, params: Tensors | None = None, buffers: Tensors | None = None, points: Sample | None = None
    ) -> float:
        r"""The mean loss over some points.

        .. math:: L(\theta) = \frac1n \sum_{i=1}^n \ell(y_i, g(x_i; \theta))

        Arguments:
            params: θ; None takes the member's own.
            buffers: None takes the member's own.
            points: None takes the whole training sample.
        """
        params = self.params if params is None else params
        buffers = self.buffers if buffers is None else buffers
        points = self.sample if points is None else points
        return self.loss.report(predictions(self.network, params, buffers, points.x), points.y)["loss"]

    def drawn_start(self) -> tuple[Tensors, Tensors]:
        """The network's own parameters and buffers as they were drawn before the first step, drawn once more."""
        params, buffers = self.network.init(self.in_dim, self.out_dim, self.initial)
        return on_device(params, self.sample.x.device), on_device(buffers, self.sample.x.device)

    def stay(
        self, params: Tensors | None = None, buffers: Tensors | None = None, check_after: int | None = None
    ) -> Transition:
        """Go on with the present stage and optimiser; what is not given stays as it is."""
        params, buffers = self._or_own(params, buffers)
        return Transition(self.stage, params, buffers, self.optimiser, check_after)

    def enter(self, stage: int, params: Tensors | None = None, buffers: Tensors | None = None) -> Transition:
        """Begin a stage, with an optimiser that begins anew; what is not given stays as it is."""
        return Transition(stage, *self._or_own(params, buffers), None)

    def end(self, params: Tensors | None = None, buffers: Tensors | None = None) -> Transition:
        """End the training; what is not given stays as it is."""
        return Transition(None, *self._or_own(params, buffers), self.optimiser)

    def _or_own(self, params: Tensors | None, buffers: Tensors | None) -> tuple[Tensors, Tensors]:
        return self.params if params is None else params, self.buffers if buffers is None else buffers


class Transition(NamedTuple):
    """Where a member goes next, and the state it goes on from.

    Names and shapes of parameters and buffers may be others than before.

    Arguments:
        stage: the next stage; None ends the training.
        params: the parameters.
        buffers: the buffers.
        optimiser: the optimiser's state; None begins anew, with what the rule's ``optimiser`` gives for these
            parameters.
        check_after: after how many steps to ask again; None asks when the stage's ``check_every`` says so.
    """

    stage: int | None
    params: Tensors
    buffers: Tensors
    optimiser: Tensors | None = None
    check_after: int | None = None
