"""One training rule in stages that train different groups of parameters."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from beyondkernels.algorithms.base import Stage
from beyondkernels.algorithms.by_rule import ByRule
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import Checked, require, shown
from beyondkernels.core.constraints import not_empty, positive


@dataclass(frozen=True)
class Staged(ByRule, Checked):
    r"""Trains by one rule, and in each stage another group of parameters.

    .. math:: \theta_{g_s} \leftarrow \theta_{g_s} - \eta_t u_t, \qquad
              \text{all parameters outside of the group } g_s \text{ of stage } s \text{ fixed}

    The stages together are one training: the order of the batches, the schedule and the state of the optimiser go on
    from stage to stage. If all stages train the same group, that is the rule itself, bit by bit.

    A parameter that is fixed does not change. Running statistics, as batch normalisation has, are no parameters and go
    on.

    Arguments:
        rule: the rule, such as the model's own. Its number of steps and its group do not count.
        groups: the group of parameters that each stage trains.
        steps: how many steps each stage has.
        fresh: whether each stage begins anew: the schedule counts from the stage's start, the optimiser's state starts
            as at first, and the batches have an order of their own.

    >>> from beyondkernels.algorithms import Descent
    >>> from beyondkernels.algorithms.optimisers import adam
    >>> rule = Staged.frozen_after(Descent(steps=100, optimiser=adam(0.01), batch=10), steps=30)
    >>> [(stage.steps, group) for stage, group in zip(rule.stages(), rule.groups)]
    [(30, 'all'), (70, 'last')]
    """

    rule: ByOptimiser
    groups: Annotated[tuple[str, ...], not_empty]
    steps: Annotated[tuple[int, ...], positive, not_empty]
    fresh: bool = False

    def __post_init__(self) -> None:
        require(
            len(self.groups) == len(self.steps),
            f"groups and steps must have one value for each stage, got {shown(self.groups)} and {shown(self.steps)}",
        )

    @classmethod
    def frozen_after(cls, rule: ByOptimiser, steps: int, group: str = "last") -> Staged:
        """The rule with all parameters for some steps, and with one group for the rest of its steps.

        Arguments:
            rule: the rule.
            steps: after how many steps all other parameters are fixed; fewer than the rule has.
            group: what is still trained then.
        """
        require(
            0 < steps < rule.steps, f"steps must lie between 0 and the {rule.steps} of the rule, got {shown(steps)}"
        )
        return cls(rule, ("all", group), (steps, rule.steps - steps))

    def stages(self) -> tuple[Stage, ...]:
        return self._stages

    @functools.cached_property
    def _stages(self) -> tuple[Stage, ...]:
        return tuple(
            Stage(f"stage {i} of {len(self.steps)}", steps, self.rule.batch, continues=i > 1 and not self.fresh)
            for i, steps in enumerate(self.steps, 1)
        )

    @functools.cached_property
    def _rules(self) -> dict[Stage, ByOptimiser]:
        rule = cast(Any, self.rule)
        return {stage: replace(rule, group=group) for stage, group in zip(self._stages, self.groups, strict=True)}

    def descent(self, stage: Stage) -> ByOptimiser:
        return self._rules[stage]

    def transition(self, view: MemberView) -> Transition:
        """On to the next stage, with the optimiser as it is unless stages begin anew."""
        after = super().transition(view)
        # The state has the slots of all parameters, also of those that a stage leaves fixed, so it fits the next stage.
        return after if self.fresh else after._replace(optimiser=view.optimiser)

    def before(self, stage: Stage) -> int:
        return sum(self.steps[: self._stages.index(stage)]) if self.fresh else 0
