"""The first two steps of the learning process with the exact gradient, set beside Lemmas 15, 19 and 20."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, require
from beyondkernels.core.constraints import between, positive
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.theory.lemma6 import activation_shares, first_error, pattern_gradients
from beyondkernels.papers.features.theory.theorem26 import theorem26


@dataclass(frozen=True)
class ExactSteps(Learner):
    r"""T_j of every pattern after steps one and two, each set beside what the lemmas promise.

    Initial scales and rates are Theorem 26's, and :math:`\sigma_\xi = k^{-3/2}` as in Lemmas 18 and 20. Gradients are
    exact expectations, so the sample plays no part. Looked at is the first neuron of each pair; the other one mirrors
    it. For step t the outcome has

    - ``signal_t``: the mean over neurons of :math:`T_j\tilde\sigma/\gamma` over relevant j, which the lemmas put at β;
    - ``relevant_t``: the largest :math:`|T_j\tilde\sigma - \beta\gamma|` of a relevant pattern, and
      ``relevant_share_t``: as a share of the lemma's bound;
    - ``background_t``: the largest :math:`|T_j|\tilde\sigma` of a background pattern, and ``background_share_t``;
    - ``ratio_t``: the largest over neurons of the largest :math:`|T_j|` of a background pattern over the mean
      :math:`T_j` of the relevant ones;
    - ``least_beta_t``: the least β.

    ``largest_output`` bounds :math:`|g^{(1)}(x)|` over all x. While it is below one, :math:`T_j` of step two is exact.
    All hidden constants are taken as one, and terms exp(−Θ(k)) as zero. Arrays ``T1`` and ``T2`` have
    :math:`T_j\tilde\sigma/\gamma`, (m, D).

    Arguments:
        pairs: m.
        failure: δ, in the logarithms of ε_e.

    Reference: Shi, Wei & Liang (features), Lemmas 15, 18, 19 and 20.
    """

    pairs: Annotated[int, positive]
    failure: Annotated[float, between(0, 1, "()")] = 0.1

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = case.problem
        require(
            isinstance(problem, DictionaryProblem), f"problem must be a DictionaryProblem, got {type(problem).__name__}"
        )
        assert isinstance(problem, DictionaryProblem)
        process, exact, k = theorem26(problem, TwoLayer(self.pairs)), problem.moments, problem.relevant
        gamma, scale, eta, xi = exact.gamma, exact.scale, process.first.hidden_rate, k**-1.5
        # for orthonormal patterns the components ⟨w, M_j⟩ of a Gaussian w are Gaussian too
        params = process.initial.draw(self.pairs, problem.patterns, 1, case.stream)
        q, b = (params[name][: self.pairs].double() for name in ("hidden.weight", "hidden.bias"))
        a = params["output.weight"][0, : self.pairs].double()

        T, T_b = pattern_gradients(problem, q, b, xi)
        beta = activation_shares(problem, q, b, xi)
        progress(0.5)
        T_2, _ = pattern_gradients(problem, eta * a[:, None] * T, b + eta * a * T_b, xi)
        beta_2 = activation_shares(problem, torch.zeros_like(q), b, xi)  # Pr[b + ξ ∈ (0, 1)]

        epsilon = first_error(problem, self.pairs, self.failure)
        second = eta * a.abs() * k * (gamma + epsilon) / (scale**2 * xi)
        moved = eta * scale / xi + eta * a.abs() * epsilon / xi
        p_o = exact.background or 0.0
        errors = {1: torch.full_like(a, epsilon), 2: second}
        bounds = {1: errors[1], 2: errors[2] + moved}
        scalars: dict[str, float] = {"epsilon": epsilon}
        for step, found, share in ((1, T, beta), (2, T_2, beta_2)):
            spread = p_o * (1 - p_o) * errors[step]
            scalars |= _beside(problem, step, found * scale, share * gamma, bounds[step], spread)
        reach = torch.maximum(exact.means, 1 - exact.means) / scale  # the largest |φ_j|
        apart = 2 * eta * a.abs() * ((T.abs() * reach).sum(1) + T_b.abs())  # of a pair's pre-activations
        scalars["largest_output"] = float((2 * eta + a.abs() * apart).sum())
        arrays = {"T1": (T * scale / gamma).numpy(), "T2": (T_2 * scale / gamma).numpy()}
        progress(1.0)
        return Outcome("finished", scalars, arrays=arrays)


def _beside(
    problem: DictionaryProblem,
    step: int,
    T: torch.Tensor,
    aim: torch.Tensor,
    bound: torch.Tensor,
    background_bound: torch.Tensor,
) -> dict[str, float]:
    """What is found of a step, with T, βγ and both bounds of each neuron multiplied by σ̃."""
    A, rest, gamma = list(problem.relevant_set), problem.moments.background_indices, problem.moments.gamma
    off = (T[:, A] - aim[:, None]).abs().amax(1)
    background = T[:, rest].abs().amax(1)
    signal = T[:, A].mean(1)
    found = {
        "signal": signal.mean() / gamma,
        "relevant": off.max(),
        "relevant_share": (off / bound).max(),
        "background": background.max(),
        "background_share": (background / background_bound).max(),
        "ratio": (background / signal.abs()).max(),
        "least_beta": aim.min() / gamma,
    }
    return {f"{name}_{step}": float(value) for name, value in found.items()}
