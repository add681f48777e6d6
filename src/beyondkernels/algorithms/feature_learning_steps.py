"""The numbers of the learning process (4) of the feature-learning paper."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from beyondkernels.core import Component, later
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.networks import Symmetric


@dataclass(frozen=True)
class StepSettings(Component):
    """One step: its rates, what it keeps of the old weights, and the noise it injects.

    Arguments:
        hidden_rate: η of the neurons' weights and biases.
        output_rate: η of the readout.
        keep_hidden: 1 − 2ηλ_w; zero forgets the old weights.
        keep_output: 1 − 2ηλ_a.
        noise_std: σ_ξ.
        class_weights: α₋₁ and α₊₁, which multiply the loss of a point of that class.
    """

    hidden_rate: Annotated[float, positive]
    output_rate: Annotated[float, positive]
    keep_hidden: Annotated[float, between(0, 1)] = 1.0
    keep_output: Annotated[float, between(0, 1)] = 1.0
    noise_std: Annotated[float, not_negative] = 0.0
    class_weights: Annotated[tuple[float, float], positive] = later((1.0, 1.0))

    @property
    def penalties(self) -> tuple[float, float]:
        """(λ_w, λ_a) of the paper."""
        return (
            (1 - self.keep_hidden) / (2 * self.hidden_rate),
            (1 - self.keep_output) / (2 * self.output_rate),
        )


@dataclass(frozen=True)
class ProcessSettings(Component):
    """All numbers of the process: initial scales, two forgetting steps, and the steps of the classifier.

    Arguments:
        initial: the scales of the initialisation.
        first: step 1.
        second: step 2.
        later: steps 3, …, T; the readout's rate may fall linearly.
        steps: T.
        batch: points in a batch from step 3 on.
        fading: whether the readout's rate falls linearly to zero over steps 3, …, T.
        hypotheses: what the theorem asks and how this case stands to it; not part of the identity.
    """

    initial: Symmetric
    first: StepSettings
    second: StepSettings
    later: StepSettings
    steps: Annotated[int, positive]
    batch: Annotated[int, positive]
    fading: bool = False
    hypotheses: tuple[Hypothesis, ...] = field(default=(), compare=False, metadata={"identity": False})

    def at(self, step: int) -> StepSettings:
        """The settings of a step, counted from 1."""
        if step == 1:
            return self.first
        if step == 2:
            return self.second
        if not self.fading:
            return self.later
        # From 1 at step 3 down to 1/(T − 2) at step T, so that the last step still moves.
        left = (self.steps + 1 - step) / (self.steps - 2)
        return replace(self.later, output_rate=self.later.output_rate * left)
