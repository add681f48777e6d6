"""Descent by any optimiser."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Annotated

from beyondkernels.algorithms.base import Algorithm, Batch, CompiledRule, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import Hinge, Loss
from beyondkernels.algorithms.optimisers import Adam, Chain, Decay, Momentum, Optimiser, Rate, chain, descend, schedule
from beyondkernels.core import Stream, Tensors, require
from beyondkernels.core.constraints import positive
from beyondkernels.core.fields import Checked
from beyondkernels.networks import Network


class ByOptimiser(Algorithm):
    """A rule of one stage whose steps an optimiser takes."""

    steps: int
    batch: int | None
    group: str

    @abstractmethod
    def rules(self) -> Chain:
        """The optimiser, from the rule's fields."""

    def with_rate_times(self, factor: float) -> ByOptimiser | None:
        """The same rule with its learning rate multiplied; None if this rule does not say how.

        Arguments:
            factor: by which.
        """
        return None

    @property
    def first_rate(self) -> float:
        """The learning rate of the first step."""
        return self.rule.parts[-1].hyper_of(range(1, 2))["rate"][0]

    @functools.cached_property
    def rule(self) -> Chain:
        """The optimiser, with all its parts as one chain."""
        return self.rules()

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("descent", self.steps, self.batch),)

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        return self.rule.state(params)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        return {name: values[0] for name, values in self.rule.hyper_of(range(step, step + 1)).items()}

    def hyper_of(self, stage: Stage, steps: range) -> dict[str, list[float]]:
        return self.rule.hyper_of(steps)

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        return self.rule.noise({name: params[name] for name in network.trained(self.group, params)}, stream)

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
        names = network.trained(self.group, params)
        loss, gradient, after = loss_and_gradient(network, params, buffers, batch, self.loss, names)
        alone = network.batching == "sequential"
        moved, kept = descend(self.rule, gradient, optimiser, params, hyper, noise, alone=alone)
        return StepResult(moved, after, kept, loss)


@dataclass(frozen=True)
class Descent(ByOptimiser, Checked):
    """Minimises a loss with any optimiser, on batches drawn epoch by epoch.

    Arguments:
        steps: how many.
        optimiser: rules from the gradient to the step, the last one a :class:`~.optimisers.Rate`.
        batch: points in a batch; None takes the whole sample.
        group: which parameters are trained, a group of the network.
        loss: what is minimised.

    >>> from beyondkernels.algorithms.optimisers import ClipNorm, Cosine, adamw
    >>> rule = Descent(steps=1000, optimiser=chain(ClipNorm(1.0), adamw(Cosine(1e-3, steps=1000))), batch=32)
    >>> [type(part).__name__ for part in rule.rule.parts]
    ['ClipNorm', 'Adam', 'Decay', 'Rate']
    """

    steps: Annotated[int, positive]
    optimiser: Optimiser
    batch: Annotated[int, positive] | None = None
    group: str = "all"
    loss: Loss = field(default_factory=Hinge)

    def __post_init__(self) -> None:
        last = type(self.rule.parts[-1]).__name__
        require(
            isinstance(self.rule.parts[-1], Rate),
            f"optimiser must end with its learning rate, as in chain(Adam(), Rate(0.001)), got a last rule {last}",
        )
        object.__setattr__(self, "optimiser", self.rule)  # a rule alone and a chain of it are one identity

    def rules(self) -> Chain:
        return chain(self.optimiser)

    def with_rate_times(self, factor: float) -> Descent:
        """The last rule of the optimiser is its rate.

        >>> from beyondkernels.algorithms.optimisers import adam
        >>> Descent(steps=10, optimiser=adam(0.001)).with_rate_times(5).first_rate
        0.005
        """
        *before, last = self.rule.parts
        assert isinstance(last, Rate), "checked when the rule was made"
        return replace(self, optimiser=chain(*before, Rate(schedule(last.value).times(factor))))

    def program(self, stage: Stage) -> Hashable:
        return type(self), stage, self.group, self.loss, self.rule.program()

    def compiled_rule(self, stage: Stage) -> CompiledRule | None:
        # Without the last, which is the rate (checked when the rule was made).
        tagged = self.rule.tagged()[:-1]
        kinds = [type(part) for _, part in tagged]
        names = [f"{tag}decay" for tag, _ in tagged]
        # The compiled steps have one decay for all parameters.
        if any(isinstance(part, Decay) and part.factors for _, part in tagged):
            return None
        if Adam in kinds:
            i = kinds.index(Adam)
            before, after = kinds[:i], kinds[i + 1 :]
            # L2 in front and decoupled decay behind are what the compiled Adam knows; clipping or noise between would
            # be ignored.
            if before not in ([], [Decay]) or after not in ([], [Decay]):
                return None
            return CompiledRule("adam", self.group, (names[0] if before else "", names[-1] if after else ""))
        momentum = next((part for _, part in tagged if isinstance(part, Momentum)), None)
        # The compiled step has v ← µv + ∇L + λθ: no look-ahead, and one decay, either the chain's or the momentum's
        # own.
        if momentum is not None and (momentum.nesterov or (momentum.decay is not None and len(kinds) > 1)):
            return None
        plain = kinds in ([], [Decay], [Momentum], [Decay, Momentum])
        return CompiledRule("descent", self.group) if plain else None
