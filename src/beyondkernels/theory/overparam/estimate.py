"""Lemma 5.1 as a run: h is made for a function, and its expectation is computed in two ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
import torch

from beyondkernels.activations import Polynomial
from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress
from beyondkernels.core.constraints import at_least, between, positive
from beyondkernels.problems.overparam.interval import IntervalFunction
from beyondkernels.theory.complexity import STAR, smooth_complexity
from beyondkernels.theory.overparam.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.theory.overparam.indicator import REACH, IndicatorFunction, indicator_function, least_constant


@dataclass(frozen=True)
class IndicatorEstimate(Learner):
    r"""What gates and the function h of Lemma 5.1 make of a function, at points of [−1, 1].

    It learns nothing: h is made from the problem's own φ. Arrays ``x``, ``target``, ``mean`` (by quadrature),
    ``sampled`` (by Monte Carlo) and ``standard_error``. Scalars:

    - ``error`` and ``sampled_error``: the largest distance from φ over the points; ``deviation``: the largest distance
      of the two ways from each other, in standard errors;
    - ``log_range`` and ``log_slope``: decimal logarithms of bounds on |h| and on its slope in α; ``log_complexity``:
      that of :math:`\mathfrak C(\phi, \sqrt{\log(1/\varepsilon)})`, which the lemma says bounds both;
      ``least_constant``: the least C with which it does;
    - ``log_hypothesis``: that of :math:`\varepsilon\,\mathfrak C(\phi, 1)`, negative where the lemma's condition on ε
      holds; ``root_mean_square``: of h.

    Complexities are those of the Taylor polynomial that h is made from, which are at most those of φ.

    Arguments:
        epsilon: ε.
        reach: the constant in :math:`B_i`; the paper's is 100.
        draws: of the Monte Carlo estimate.
        points: how many, evenly spaced, both ends among them.
        star: C.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.1.
    """

    epsilon: Annotated[float, between(0, 1, "()")]
    reach: Annotated[float, positive] = REACH
    draws: Annotated[int, at_least(2)] = 100_000
    points: Annotated[int, at_least(2)] = 21
    star: Annotated[float, positive] = STAR

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a function on [−1, 1] whose Taylor series converges there."""
        self._function(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Make h, and compare."""
        h, x = self._function(case.problem), np.linspace(-1, 1, self.points)
        function = cast(IntervalFunction, case.problem).function
        target = function.value(torch.from_numpy(x)).numpy()
        mean = gated_mean(h, x)
        progress(0.5)
        sampled, error = sampled_mean(h, x, self.draws, case.stream.child("draws"))
        scalars = {
            "error": float(np.abs(mean - target).max()),
            "sampled_error": float(np.abs(sampled - target).max()),
            "deviation": float((np.abs(sampled - mean) / error).max()),
            "root_mean_square": math.sqrt(second_moment(h)),
            **self._sizes(h),
        }
        progress(1.0)
        arrays = {"x": x, "target": target, "mean": mean, "sampled": sampled, "standard_error": error}
        return Outcome(scalars=scalars, arrays=arrays)

    def _sizes(self, h: IndicatorFunction) -> dict[str, float]:
        radius, polynomial = math.sqrt(math.log(1 / self.epsilon)), Polynomial(h.coefficients)
        at_radius, at_one = (smooth_complexity(polynomial, each, star=self.star).log for each in (radius, 1.0))
        return {
            "log_range": math.log10(h.most),
            "log_slope": math.log10(h.steepest),
            "log_complexity": at_radius / math.log(10),
            "least_constant": least_constant(h.coefficients, radius, max(h.most, h.steepest)),
            "log_hypothesis": (math.log(self.epsilon) + at_one) / math.log(10),
        }

    def _function(self, problem: Problem) -> IndicatorFunction:
        if not isinstance(problem, IntervalFunction):
            raise InputError(f"problem must be an IntervalFunction, got {type(problem).__name__}")
        return indicator_function(problem.function, self.epsilon, self.reach)
