"""Lemma G.1: weights near the start with which the pseudo network is the ground truth, written down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Activation, Polynomial, sample_complexity, smooth_complexity
from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress, Tensors
from beyondkernels.core.constraints import between, positive
from beyondkernels.papers.overparam.networks import TwoLayerLearner
from beyondkernels.papers.overparam.problems import TwoLayerTruth
from beyondkernels.papers.overparam.theory.estimate import least_star
from beyondkernels.papers.overparam.theory.indicator import (
    REACH,
    IndicatorFunction,
    indicator_function,
    least_constant,
    unbiased_indicator_function,
)

_BLOCK = 2**22  # gates at once


def existing_weights(
    truth: TwoLayerTruth,
    W: torch.Tensor,
    buffers: Tensors,
    functions: Sequence[IndicatorFunction],
    output_std: float = 1.0,
) -> torch.Tensor:
    r"""The weights W̃ of Lemma G.1, (m, d) float64.

    .. math:: \tilde w_j = \frac{1}{m \varepsilon_a^2} \sum_r a_{r,j} \sum_i a^*_{r,i}\,
              h^{(i)}\bigl(\sqrt m \langle w_j^{(0)}, w^*_{1,i}\rangle, \sqrt m\,b_j\bigr)\,w^*_{2,i}

    The paper leaves out :math:`a^*_{r,i}` where it writes this down, (415), and the 1/m, which it adds in the end.
    Without biases these are the weights of ``resnet`` Lemma E.1, up to the norm of x.

    Arguments:
        truth: the ground truth.
        W: W⁽⁰⁾, with entries N(0, 1/m).
        buffers: ``b1`` and ``a`` at the start.
        functions: h⁽¹⁾, …, h⁽ᵖ⁾ of Lemma 5.1 for the functions of the truth.
        output_std: :math:`\varepsilon_a`, the standard deviation of a.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.1, (415); Allen-Zhu & Li (resnet), Lemma E.1.
    """
    stars, m = truth.matrices(), len(W)
    alpha = (m**0.5 * W.double() @ stars["w1"].T).numpy()
    bias = (m**0.5 * buffers["b1"].double()).numpy()
    h = torch.stack([torch.from_numpy(h(alpha[:, i], bias)) for i, h in enumerate(functions)], 1)
    weights = (buffers["a"].double().T @ stars["a"]) * h  # (m, p): for every neuron and term the sum over outputs
    return weights @ stars["w2"] / (m * output_std**2)


@dataclass(frozen=True)
class ExistingNetwork(Learner):
    r"""The pseudo network with the weights of Lemma G.1, which are made from the ground truth and not learned.

    Scalars, means over the test points: ``error``, :math:`E \sum_r |f^*_r - g_r(x; \tilde W)|` of (404);
    ``start_error``, the same at W⁽⁰⁾ + W̃, as in Corollary G.2; ``real_error``, that of the real network there;
    ``expected_error``, what the law of large numbers leaves of (404) at this width, from the variance of the neurons'
    terms. Norms: ``row_norm``, :math:`\|\tilde W\|_{2,\infty}`; ``frobenius_norm``; ``row_bound``, the first of these
    as the proof bounds it, :math:`\frac{1}{m\varepsilon_a^2} \max_j \sum_{r,i} |a_{r,j} a^*_{r,i}| \max |h^{(i)}|`.

    Arguments:
        network: whose start is taken.
        epsilon: ε of the functions h.
        reach: the constant in :math:`B_i`.
        biased: whether neurons have their biases; without, as in ``resnet`` Lemma E.1, they are zero.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.1 and Corollary G.2.
    """

    network: TwoLayerLearner
    epsilon: Annotated[float, between(0, 1, "()")]
    reach: Annotated[float, positive] = REACH
    biased: bool = True

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a ground truth of two layers whose functions can be written by gates."""
        self._functions(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        functions, truth = self._functions(case.problem), case.problem
        assert isinstance(truth, TwoLayerTruth)
        params, buffers = self.network.init(truth.in_dim, truth.out_dim, case.stream.child("init"))
        W, buffers = params["W"].double(), {name: value.double() for name, value in buffers.items()}
        if not self.biased:
            buffers["b1"] = torch.zeros_like(buffers["b1"])
        star = existing_weights(truth, W, buffers, functions, self.network.output_std)
        x = case.test.x.double()
        target = truth.target(x)
        totals: dict[str, float] = {}
        size = max(1, _BLOCK // len(W))
        for points, wanted in zip(x.split(size), target.split(size), strict=True):
            for name, value in _errors(points, wanted, W, star, buffers).items():
                totals[name] = totals.get(name, 0.0) + value
            progress(len(points) / len(x))
        rows = star.norm(dim=1)
        return Outcome(
            scalars={name: total / len(x) for name, total in totals.items()}
            | {
                "row_norm": float(rows.max()),
                "frobenius_norm": float(rows.norm()),
                "row_bound": self._row_bound(truth, buffers["a"], functions),
            }
        )

    def _row_bound(self, truth: TwoLayerTruth, a: torch.Tensor, functions: Sequence[IndicatorFunction]) -> float:
        most = torch.tensor([h.most for h in functions], dtype=torch.float64)
        largest = (a.abs().T @ (truth.matrices()["a"].abs() @ most)).max()
        return float(largest) / (a.shape[1] * self.network.output_std**2)

    def _functions(self, problem: Problem) -> list[IndicatorFunction]:
        if not isinstance(problem, TwoLayerTruth):
            raise InputError(f"problem must be a TwoLayerTruth, got {type(problem).__name__}")
        made = {
            function: indicator_function(function, self.epsilon, self.reach)
            if self.biased
            else unbiased_indicator_function(function, self.epsilon)
            for function in problem.functions
        }
        return [made[function] for function in problem.functions]


def _errors(
    x: torch.Tensor, target: torch.Tensor, W: torch.Tensor, star: torch.Tensor, buffers: Tensors
) -> dict[str, float]:
    """The sums over points of what is measured."""
    b, a = buffers["b1"], buffers["a"]
    at_start, added = x @ W.T + b, x @ star.T
    is_open = (at_start >= 0).double()
    written = (is_open * added) @ a.T
    squares = (is_open * added).square() @ a.square().T
    spread = (squares - written.square() / len(W)).clamp(min=0).sqrt()  # of the sum of m independent terms
    outputs = {
        "error": written + (is_open * b) @ a.T,
        "start_error": written + (is_open * at_start) @ a.T,
        "real_error": torch.relu(at_start + added) @ a.T,
    }
    found = {name: float((value - target).abs().sum()) for name, value in outputs.items()}
    return found | {"expected_error": float(spread.sum()) * math.sqrt(2 / math.pi)}


def biased_constants(
    function: Activation, epsilon: float, reach: float, star: float, rows: tuple[float, float]
) -> dict[str, float]:
    r"""Lemma G.1: with which C its bound on rows holds, and log₁₀ of ε over its limit.

    The proof's bound on rows has :math:`\mathfrak C(\phi, \sqrt{\log(1/\varepsilon)})` in the place of the largest |h|.

    Arguments:
        function: φ.
        epsilon: ε.
        reach: the constant in :math:`B_i`.
        star: C of the complexity in the condition on ε.
        rows: ``row_norm`` and ``row_bound`` of :class:`ExistingNetwork`.
    """
    h = indicator_function(function, epsilon, reach)
    complexity = smooth_complexity(Polynomial(h.coefficients), 1.0, star=star)
    return {
        "rows_constant": least_constant(h.coefficients, math.sqrt(math.log(1 / epsilon)), h.most * rows[0] / rows[1]),
        "log_hypothesis": math.log10(epsilon) + complexity.log / math.log(10),
    }


def unbiased_constants(
    function: Activation, epsilon: float, many: int, star: float, norms: tuple[float, float]
) -> dict[str, float]:
    r"""``resnet`` Lemma E.1: with which C* its bounds on norms hold, and log₁₀ of ε over its limit.

    .. math:: m \|\tilde W\|_{2,\infty} \le kp\,\mathfrak C_\varepsilon(\phi), \qquad
              \sqrt m\,\|\tilde W\|_F \le kp\,\mathfrak C_s(\phi)

    Arguments:
        function: φ.
        epsilon: ε.
        many: kp, outputs times terms.
        star: C* of the complexity in the condition on ε.
        norms: the two left sides.
    """
    complexity = sample_complexity(function, star=1.0).value
    h = unbiased_indicator_function(function, epsilon)
    return {
        "rows_constant": least_star(h.coefficients, epsilon, norms[0] / many),
        "frobenius_constant": norms[1] / (many * complexity),
        "log_hypothesis": math.log10(epsilon * many * star * complexity),
    }
