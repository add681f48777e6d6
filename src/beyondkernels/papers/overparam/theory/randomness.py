"""Lemma 5.2: the input to a random second-layer neuron holds a Gaussian multiple of any smooth function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from beyondkernels.activations.taylor import Array
from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress
from beyondkernels.core.constraints import at_least, between, positive
from beyondkernels.papers.overparam.problems.inputs import LAST, REST
from beyondkernels.papers.overparam.problems.interval import IntervalFunction
from beyondkernels.papers.overparam.theory.expectation import gated_mean, sloped_mean
from beyondkernels.papers.overparam.theory.indicator import BIAS_STD, IndicatorFunction, indicator_function
from beyondkernels.papers.overparam.theory.intervals import IntervalPartition


@dataclass(frozen=True)
class Decomposition:
    r"""The parts of :math:`n_1(x) = \rho\,\phi_\varepsilon(x) + B(x) + R(x)` for one draw of the first layer.

    Arguments:
        rho: ρ.
        outside: :math:`B_1(x)` at each point, what neurons outside of 𝒮 add to :math:`n_1`, (n,).
        inside: what neurons in 𝒮 add to it.
        kept: :math:`B_2(x)`, the part of B that 𝒮′ makes.
        chosen: how many neurons are in 𝒮.
        lost: how many of them are not in 𝒮′.
    """

    rho: float
    outside: Array
    inside: Array
    kept: Array
    chosen: int
    lost: int

    @property
    def whole(self) -> Array:
        """:math:`n_1(x)`."""
        return self.outside + self.inside

    @property
    def background(self) -> Array:
        """:math:`B(x)`."""
        return self.outside + self.kept

    def rest(self, signal: Array) -> Array:
        r""":math:`R(x) = n_1(x) - \rho\,\phi_\varepsilon(x) - B(x)`.

        Arguments:
            signal: :math:`\phi_\varepsilon(x)` at each point.
        """
        return self.inside - self.rho * signal - self.kept


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

    and B is made of the neurons outside of 𝒮, and of β and the neurons of 𝒮′, which is 𝒮 made with β in the place of
    W. Since β and W differ in the rows of 𝒮 alone, 𝒮′ is a part of 𝒮. It is all of 𝒮 if w* has no last coordinate.
    Everything is in units in which :math:`m_2 = 1`. The proof does not say what u is if 𝒮 is empty, which happens with
    probability :math:`(1 - \tau)^{m_1}`: here it is the first unit vector (ours), independent of W as well.

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

    def signs(weights: Array, bias: Array, second: Array) -> Array:
        return partition.signs(2 * h(root * weights @ direction, root * bias) / C, second)

    s = signs(W, b, v)
    chosen = s != 0
    u = s[chosen] / math.sqrt(max(chosen.sum(), 1))
    alpha = float(u @ W[chosen, -1] if chosen.any() else W[0, -1])
    rho = math.sqrt(partition.probability) * root / C * alpha
    beta, bias, second = W[chosen], b[chosen], v[chosen]
    inside = np.maximum(x @ beta.T + bias, 0) @ second
    beta[:, -1] -= alpha * u
    again = signs(beta, bias, second) != 0
    return Decomposition(
        rho,
        outside=np.maximum(x @ W.T + b, 0) @ (v * ~chosen),
        inside=inside,
        kept=np.maximum(x @ beta.T + bias, 0) @ (second * again),
        chosen=len(again),
        lost=int((~again).sum()),
    )


def slope_excess(h: IndicatorFunction, inner: Array, last: float) -> Array:
    r"""By how much the slope of :math:`n_1(x)` on ρ exceeds :math:`\phi_\varepsilon(x)` (ours).

    By Stein's identity in the last column of W⁽⁰⁾,

    .. math:: \frac{E[\rho\,n_1(x)]}{E[\rho^2]} = \phi_\varepsilon(x)
              + 2 w^*_d\,E\bigl[\partial_\alpha h(\alpha, b)\,\sigma(\alpha t + \beta\sqrt{1 - t^2} + b)\bigr],
              \qquad t = \langle w^*, x\rangle,

    up to the factor by which the mean of :math:`\sqrt{|\mathcal S|}` is below :math:`\sqrt{\tau m_1}`. The second
    term is left out in the proof. It does not depend on :math:`m_1`, so that with this ρ no B is independent of ρ and
    leaves a rest that vanishes, unless :math:`w^*_d = 0`.

    Arguments:
        h: of Lemma 5.1 for φ.
        inner: t at each point, (n,).
        last: :math:`w^*_d`.

    >>> h = IndicatorFunction((0.0, 1.0), reaches=(100.0,))  # φ(z) = z: h is √(8π)α where b = 0, E[h'σ] = 1
    >>> slope_excess(h, np.array([0.3]), last=0.5).round(9).tolist()
    [1.0]
    """
    return 2 * last * sloped_mean(h, inner)


@dataclass(frozen=True)
class RandomFirstLayers(Learner):
    r"""Lemma 5.2 for many draws of a first layer. Nothing is learned: h is made from the problem's own φ.

    Scalars, in units in which :math:`m_2 = 1`:

    - ``whole``, ``signal`` and ``rest``: root mean squares over draws and points of :math:`n_1`,
      :math:`\rho\,\phi_\varepsilon` and R;
    - ``variance``: the mean of ρ² over the lemma's :math:`\tau/C^2`;
    - ``carried``: the slope of :math:`n_1 - B` on ρ, as a multiple of :math:`\phi_\varepsilon`; one, by the lemma;
    - ``leak``: the slope of :math:`B_2` on ρ in the same unit; zero, by the lemma. :math:`B_1` is left out, because it
      is independent of ρ whatever 𝒮′ is, and much larger;
    - ``excess``: by how much the sum of these two exceeds one on average, see :func:`slope_excess`;
    - ``lost``: the mean of :math:`|\mathcal S \triangle \mathcal S'|`.

    A function s(x) of the points is :math:`\sum_x s\,\phi_\varepsilon / \sum_x \phi_\varepsilon^2` times
    :math:`\phi_\varepsilon`, by least squares. The first coordinates of the points are −√3/2, …, √3/2, evenly spaced.

    Arguments:
        width: m₁.
        draws: how many first layers.
        epsilon: ε.
        reach: the constant in :math:`B_i` of Lemma 5.1.
        probability: τ.
        dim: d, at least 3.
        points: how many.
        tilt: the last coordinate of w*; the first is :math:`\sqrt{1 - \text{tilt}^2}`, and all others are zero.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.2.
    """

    revision: ClassVar[int] = 2

    width: Annotated[int, positive]
    draws: Annotated[int, at_least(3)] = 100
    epsilon: Annotated[float, between(0, 1, "()")] = 0.1
    reach: Annotated[float, positive] = 1.0
    probability: Annotated[float, between(0, 0.01, "(]")] = 0.01
    dim: Annotated[int, at_least(3)] = 3
    points: Annotated[int, at_least(2)] = 7
    tilt: Annotated[float, between(-1, 1, "()")] = 0.0

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a function on [−1, 1] whose Taylor series converges there."""
        self._function(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        h, partition = self._function(case.problem), IntervalPartition(self.probability)
        at = np.linspace(-REST, REST, self.points)
        x = np.zeros((self.points, self.dim))
        x[:, 0], x[:, 1], x[:, -1] = at, np.sqrt(REST**2 - at**2), LAST
        direction = np.zeros(self.dim)
        direction[0], direction[-1] = math.sqrt(1 - self.tilt**2), self.tilt
        inner = x @ direction
        signal, m, random = gated_mean(h, inner), self.width, case.stream.child("layers").generator()
        found = []
        for i in range(self.draws):
            W = random.standard_normal((m, self.dim)) / math.sqrt(m)
            b = np.where(random.random(m) < 0.5, 0.0, BIAS_STD / math.sqrt(m) * random.standard_normal(m))
            found.append(decompose(h, direction, W, b, random.standard_normal(m), x, partition))
            progress((i + 1) / self.draws)
        rho = np.array([each.rho for each in found])

        def multiple(values: Array) -> float:
            return float(values @ signal / (signal @ signal))

        def slope(parts: list[Array]) -> float:
            return multiple(rho @ np.array(parts) / (rho @ rho))

        return Outcome(
            scalars={
                "whole": _root_mean_square(np.array([each.whole for each in found])),
                "signal": _root_mean_square(rho[:, None] * signal),
                "rest": _root_mean_square(np.array([each.rest(signal) for each in found])),
                "variance": float(np.square(rho).mean()) * scale_of(h) ** 2 / self.probability,
                "carried": slope([each.inside - each.kept for each in found]),
                "leak": slope([each.kept for each in found]),
                "excess": multiple(slope_excess(h, inner, self.tilt)),
                "lost": float(np.mean([each.lost for each in found])),
            }
        )

    def _function(self, problem: Problem) -> IndicatorFunction:
        if not isinstance(problem, IntervalFunction):
            raise InputError(f"problem must be an IntervalFunction, got {type(problem).__name__}")
        return indicator_function(problem.function, self.epsilon, self.reach)


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.square(values).mean()))
