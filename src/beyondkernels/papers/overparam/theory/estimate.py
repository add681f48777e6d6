"""Lemma 5.1, or resnet Lemma E.2, as a run: h is made for a function, and its expectation is computed in two ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
import torch

from beyondkernels.activations import Polynomial
from beyondkernels.activations.complexity import STAR, sample_complexity, smooth_complexity, width_complexity
from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress, later, require_between
from beyondkernels.core.constraints import at_least, between, positive
from beyondkernels.papers.overparam.problems.interval import IntervalFunction
from beyondkernels.papers.overparam.theory.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.papers.overparam.theory.indicator import (
    REACH,
    IndicatorFunction,
    indicator_function,
    least_constant,
    unbiased_indicator_function,
)


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

    Without biases h is that of ``resnet`` Lemma E.2. Then :math:`\mathfrak C_\varepsilon(\phi, 1)` bounds h and its
    slope, the condition is on :math:`\varepsilon\,\mathfrak C_s(\phi, 1)`, and ``moment_constant`` is the least C* for
    which :math:`E h^2 \le \mathfrak C_s(\phi, 1)^2`.

    Complexities are those of the Taylor polynomial that h is made from, which are at most those of φ.

    Arguments:
        epsilon: ε.
        reach: the constant in :math:`B_i` of Lemma 5.1; the paper's is 100.
        draws: of the Monte Carlo estimate.
        points: how many, evenly spaced, both ends among them.
        star: C, or C*.
        biased: whether neurons have biases, as in Lemma 5.1; without, φ may have no terms of even order but the
            constant.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.1; Allen-Zhu & Li (resnet), Lemma E.2.
    """

    epsilon: Annotated[float, between(0, 1, "()")]
    reach: Annotated[float, positive] = REACH
    draws: Annotated[int, at_least(2)] = 100_000
    points: Annotated[int, at_least(2)] = 21
    star: Annotated[float, positive] = STAR
    biased: bool = later(True)

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a function on [−1, 1] whose Taylor series converges there."""
        self._function(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
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
        found = self._biased_sizes(h) if self.biased else self._unbiased_sizes(h)
        return {"log_range": math.log10(h.most), "log_slope": math.log10(h.steepest), **found}

    def _biased_sizes(self, h: IndicatorFunction) -> dict[str, float]:
        radius, polynomial = math.sqrt(math.log(1 / self.epsilon)), Polynomial(h.coefficients)
        at_radius, at_one = (smooth_complexity(polynomial, each, star=self.star).log for each in (radius, 1.0))
        return {
            "log_complexity": at_radius / math.log(10),
            "least_constant": least_constant(h.coefficients, radius, max(h.most, h.steepest)),
            "log_hypothesis": (math.log(self.epsilon) + at_one) / math.log(10),
        }

    def _unbiased_sizes(self, h: IndicatorFunction) -> dict[str, float]:
        polynomial = Polynomial(h.coefficients)
        of_width = width_complexity(polynomial, self.epsilon, star=self.star).log
        of_samples = sample_complexity(polynomial, star=1.0).value
        return {
            "log_complexity": of_width / math.log(10),
            "least_constant": least_star(h.coefficients, self.epsilon, max(h.most, h.steepest)),
            "log_hypothesis": math.log10(self.epsilon * self.star * of_samples),
            "moment_constant": math.sqrt(second_moment(h)) / of_samples,
        }

    def _function(self, problem: Problem) -> IndicatorFunction:
        if not isinstance(problem, IntervalFunction):
            raise InputError(f"problem must be an IntervalFunction, got {type(problem).__name__}")
        if not self.biased:
            return unbiased_indicator_function(problem.function, self.epsilon)
        return indicator_function(problem.function, self.epsilon, self.reach)


def least_star(coefficients: Sequence[float], epsilon: float, bound: float) -> float:
    r"""The least C* for which the complexity :math:`\mathfrak C_\varepsilon(\phi, 1)` of ``resnet`` reaches a bound.

    .. math:: \sum_i \Bigl(1 + \Bigl(\frac{\sqrt{\log(1/\varepsilon)}}{\sqrt i}\Bigr)^i\Bigr) (C^*)^i |c_i|
              = \text{bound}

    Arguments:
        coefficients: :math:`c_0, c_1, \dots`.
        epsilon: ε, below one.
        bound: what the complexity is to reach, such as the range of h.

    >>> round(least_star((3.0, 1.0), math.exp(-4), bound=21.0), 6)  # 3·2 + C* + 2C* = 21
    5.0
    """
    require_between("epsilon", epsilon, 0, 1, "()")
    log = math.log(1 / epsilon)
    doubled = [c * (1 + (log / max(i, 1)) ** (i / 2)) for i, c in enumerate(coefficients)]
    return least_constant(doubled, 1.0, bound)
