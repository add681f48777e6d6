"""Lemma 5.2: the input to a random second-layer neuron holds a Gaussian multiple of any smooth function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress
from beyondkernels.core.constraints import at_least, between, positive
from beyondkernels.problems.overparam.inputs import LAST, REST
from beyondkernels.problems.overparam.interval import IntervalFunction
from beyondkernels.theory.overparam.expectation import gated_mean
from beyondkernels.theory.overparam.indicator import BIAS_STD, IndicatorFunction, indicator_function
from beyondkernels.theory.overparam.intervals import IntervalPartition
from beyondkernels.theory.taylor import Array


@dataclass(frozen=True)
class Decomposition:
    r"""The parts of :math:`n_1(x) = \rho\,\phi_\varepsilon(x) + B(x) + R(x)` for one draw of the first layer.

    Arguments:
        rho: ρ.
        whole: :math:`n_1(x)` at each point, (n,).
        background: :math:`B(x)`, independent of ρ.
    """

    rho: float
    whole: Array
    background: Array

    def rest(self, signal: Array) -> Array:
        r""":math:`R(x) = n_1(x) - \rho\,\phi_\varepsilon(x) - B(x)`.

        Arguments:
            signal: :math:`\phi_\varepsilon(x)` at each point.
        """
        return self.whole - self.rho * signal - self.background


def scale_of(h: IndicatorFunction) -> float:
    r"""The constant C by which h is divided, so that :math:`|2h/C| \le 1`; the paper takes the complexity of φ.

    The factor 2 makes up for the last coordinate of x, which is 1/2.
    """
    return 2 * h.most


def decompose(
    h: IndicatorFunction,
    direction: Array,
    W: Array,
    b: Array,
    v: Array,
    x: Array,
    partition: IntervalPartition,
) -> Decomposition:
    r"""The decomposition of Lemma 5.2, as its proof constructs it.

    Neurons i whose :math:`g_i = \sqrt{m_2} v_i` lies in :math:`I(2h(\cdot)/C)` form the set 𝒮. Their signs
    :math:`s_i` are independent of W, and so is the unit vector :math:`u = s/\sqrt{|\mathcal S|}`. Hence

    .. math:: \alpha = u^\top W e_d \sim N(0, 1/m_1), \qquad \beta = W - \alpha u e_d^\top, \qquad
              \rho = \frac{\sqrt{\tau m_1}}{C \sqrt{m_2}}\,\alpha

    and B is made of β and of the neurons outside of 𝒮. Everything is in units in which :math:`m_2 = 1`. The proof does
    not say what u is if 𝒮 is empty, which happens with probability :math:`(1 - \tau)^{m_1}`: here it is the first
    unit vector (ours), which is independent of W as well, and all of ρφ is in the rest.

    Arguments:
        h: of Lemma 5.1 for φ.
        direction: w*, a unit vector, (d,).
        W: W⁽⁰⁾, with entries N(0, 1/m₁), (m₁, d).
        b: the biases, (m₁,).
        v: standard normal numbers, :math:`\sqrt{m_2} v_{1,i}`, (m₁,).
        x: unit vectors with last coordinate 1/2, (n, d).
        partition: the sets I(y).

    Reference: Allen-Zhu, Li & Liang (overparam), App. B.2.
    """
    m, C = len(W), scale_of(h)
    root = math.sqrt(m)

    def signs(weights: Array) -> Array:
        return partition.signs(2 * h(root * weights @ direction, root * b) / C, v)

    s = signs(W)
    chosen = s != 0
    u = s / math.sqrt(chosen.sum()) if chosen.any() else np.eye(1, m)[0]
    alpha = float(u @ W[:, -1])
    beta = W.copy()
    beta[:, -1] -= alpha * u
    again = signs(beta) != 0
    inputs, without = x @ W.T + b, x @ beta.T + b
    background = np.maximum(inputs, 0) @ (v * ~chosen) + np.maximum(without, 0) @ (v * again)
    rho = math.sqrt(partition.probability) * root / C * alpha
    return Decomposition(rho, np.maximum(inputs, 0) @ v, background)


@dataclass(frozen=True)
class RandomFirstLayers(Learner):
    r"""Lemma 5.2 for many draws of a first layer. Nothing is learned: h is made from the problem's own φ.

    Scalars, in units in which :math:`m_2 = 1`: ``whole``, ``signal`` and ``rest``, root mean squares over draws and
    points of :math:`n_1`, :math:`\rho\,\phi_\varepsilon` and R; ``variance``, that of ρ over the lemma's
    :math:`\tau/C^2`; ``correlation``, the largest over points of that of ρ and B, without its sign. Points have the
    inner products −√3/2, …, √3/2 with w* = e₁, evenly spaced.

    Arguments:
        width: m₁.
        draws: how many first layers.
        epsilon: ε.
        reach: the constant in :math:`B_i` of Lemma 5.1.
        probability: τ.
        dim: d, at least 3.
        points: how many.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.2.
    """

    width: Annotated[int, positive]
    draws: Annotated[int, at_least(3)] = 100
    epsilon: Annotated[float, between(0, 1, "()")] = 0.1
    reach: Annotated[float, positive] = 1.0
    probability: Annotated[float, between(0, 0.01, "(]")] = 0.01
    dim: Annotated[int, at_least(3)] = 3
    points: Annotated[int, at_least(2)] = 7

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a function on [−1, 1] whose Taylor series converges there."""
        self._function(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Draw, decompose, and take moments."""
        h, partition = self._function(case.problem), IntervalPartition(self.probability)
        at = np.linspace(-REST, REST, self.points)
        x = np.zeros((self.points, self.dim))
        x[:, 0], x[:, 1], x[:, -1] = at, np.sqrt(REST**2 - at**2), LAST
        signal, m, random = gated_mean(h, at), self.width, case.stream.child("layers").generator()
        direction = np.eye(self.dim)[0]
        rho, parts = np.zeros(self.draws), np.zeros((3, self.draws, self.points))
        for i in range(self.draws):
            W = random.standard_normal((m, self.dim)) / math.sqrt(m)
            b = np.where(random.random(m) < 0.5, 0.0, BIAS_STD / math.sqrt(m) * random.standard_normal(m))
            found = decompose(h, direction, W, b, random.standard_normal(m), x, partition)
            rho[i], parts[:, i] = found.rho, (found.whole, found.background, found.rest(signal))
            progress((i + 1) / self.draws)
        whole, background, rest = parts
        correlations = [abs(np.corrcoef(rho, background[:, n])[0, 1]) for n in range(self.points)]
        return Outcome(
            scalars={
                "whole": _root_mean_square(whole),
                "signal": _root_mean_square(rho[:, None] * signal),
                "rest": _root_mean_square(rest),
                "variance": float(rho.var(ddof=1)) * scale_of(h) ** 2 / self.probability,
                "correlation": float(max(correlations)),
            }
        )

    def _function(self, problem: Problem) -> IndicatorFunction:
        if not isinstance(problem, IntervalFunction):
            raise InputError(f"problem must be an IntervalFunction, got {type(problem).__name__}")
        return indicator_function(problem.function, self.epsilon, self.reach)


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.square(values).mean()))
