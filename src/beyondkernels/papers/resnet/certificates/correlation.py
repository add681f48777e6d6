"""The theorem of the short version: the optimum of kernel regression with a correlation kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from beyondkernels.certificates.certificate import Certificate, Numbers, Verification
from beyondkernels.certificates.coefficients import degree_coefficients
from beyondkernels.certificates.degree_span import MOST_POINTS
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.universal import require_alpha, require_functions
from beyondkernels.core import InputError, Stream, require, require_positive, require_whole
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.data.inputs import corners, signs
from beyondkernels.kernels import Kernel
from beyondkernels.papers.resnet.problems.hard import HardInstance

THRESHOLD = 4
"""The theorem's risk is above α² divided by this."""

PROBABILITY = 0.99
"""The theorem's probability over the target and the training set."""

_ENUMERATED = 12
"""Up to so many coordinates, verification takes the mean over the whole cube."""

_TEST_POINTS = 20_000
"""From more coordinates on, verification takes the mean over so many random points."""


@dataclass(frozen=True)
class CorrelationCertificate(Certificate):
    r"""What kernel regression with a correlation kernel does not learn from few samples.

    For constant k ≥ 4, sufficiently large d, :math:`N \le O(d^{k/2} / \log^k d)` and
    :math:`\alpha \in [\Omega(d^{-k/4}), 1)`, the optimum of (3.2) on N random points has

    .. math:: E\|H(x) - \mathfrak K(x)\|^2 > \alpha^2/4

    with probability 0.99 over the target and the points. This is another statement than Theorem 2 of the long version:
    it is about the optimum of (3.2) alone, and its constant is larger. Its hidden constants are arguments here.
    "Sufficiently large" names no number, so it cannot be checked. Beside the hypotheses stand the exact risks of the
    optimum for some draws of target and points.

    Arguments:
        kernel: a correlation kernel: on the cube, any rotation-invariant kernel is one.
        problem: gives d, k, α and β.
        samples: N.
        risks: of the optimum, one for each draw.
        seed: of the draws.
        ridge: ρ, with the regulariser :math:`R(w) = \frac{\rho}{N} \sum_j w_j^\top K w_j` in (3.2).
        sample_constant: what stands for O(·) in the hypothesis on N.
        alpha_constant: what stands for Ω(·) in the hypothesis on α.

    Reference: Allen-Zhu & Li (resnet), short version, §7, Theorem 2.
    """

    kernel: Kernel
    problem: HardInstance
    samples: int
    risks: tuple[float, ...]
    seed: int
    ridge: float
    sample_constant: float
    alpha_constant: float

    @property
    def title(self) -> str:
        return "Theorem 2 of Allen-Zhu & Li (resnet), short version, for one correlation kernel"

    @property
    def setting(self) -> dict[str, str]:
        p = self.problem
        return {
            "kernel": str(self.kernel),
            "training set": f"N = {self.samples} random points, d = {p.dim}",
            "target": f"{p.beta:g}·x_i + αχ_S in k = {p.outputs} outputs, α = {p.alpha:g}, |S| = k at random",
            "predictor": f"the optimum of (3.2) with ridge {self.ridge:g}",
        }

    @property
    def claim(self) -> str:
        return (
            f"with probability at least {PROBABILITY} over target and training set, the optimum of (3.2) has risk "
            f"E‖H − f‖² above α²/{THRESHOLD}."
        )

    @property
    def threshold(self) -> float:
        """The theorem's α²/4."""
        return self.problem.alpha**2 / THRESHOLD

    @property
    def share_above(self) -> float:
        """The share of the draws with risk above the threshold."""
        return sum(risk > self.threshold for risk in self.risks) / len(self.risks)

    @property
    def numbers(self) -> Numbers:
        return {
            f"threshold α²/{THRESHOLD}": self.threshold,
            "draws of target and training set": len(self.risks),
            "smallest risk of the optimum": min(self.risks),
            "largest risk of the optimum": max(self.risks),
            "share of draws above the threshold": self.share_above,
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The theorem's conditions, its hidden constants as given."""
        d, k = self.problem.dim, self.problem.outputs
        most = self.sample_constant * d ** (k / 2) / math.log(d) ** k
        return (
            Hypothesis("k ≥ 4", k, 4),
            Hypothesis(f"N ≤ {self.sample_constant:g}·d^(k/2)/log^k d", self.samples, most, at_least=False),
            Hypothesis(
                f"α ≥ {self.alpha_constant:g}·d^(−k/4)", self.problem.alpha, self.alpha_constant * d ** (-k / 4)
            ),
            Hypothesis("α < 1", self.problem.alpha, 1, at_least=False, strict=True),
            Hypothesis("d₁ = d: the whole cube is uniform", self.problem.inputs.uniform, d),
        )

    @property
    def holds(self) -> bool:
        """Whether the conclusion is true for at least 99 % of the draws."""
        return self.share_above >= PROBABILITY

    @property
    def verdict(self) -> str:
        failing = [hypothesis.text for hypothesis in self.hypotheses if not hypothesis.holds]
        stand = (
            f"These conditions fail: {'; '.join(failing)}." if failing else "All conditions that can be checked hold."
        )
        return (
            f"{stand} (How large d must be, the theorem does not say.) {self.share_above:.2%} of the draws have risk "
            f"above α²/{THRESHOLD}."
        )

    def verify(self) -> Verification:
        """Take the mean over the whole cube, or over random test points with five standard errors as tolerance."""
        d = self.problem.dim
        worst, tolerance = 0.0, 1e-9
        x = corners(d) if d <= _ENUMERATED else signs(_TEST_POINTS, d, Stream(self.seed).child("test"))
        for draw, risk in enumerate(self.risks):
            S, a = drawn(self.problem, self.samples, self.seed, draw)
            w = optimum(self.kernel, self.problem, a, S, self.ridge)
            errors = (self.kernel(x / d**0.5, a / d**0.5) @ w - _labels(self.problem, x, S)).square().sum(1)
            worst = max(worst, abs(float(errors.mean()) - risk))
            if d > _ENUMERATED:
                tolerance = max(tolerance, 5 * float(errors.std()) / len(x) ** 0.5)
        route = "the mean over the cube" if d <= _ENUMERATED else f"the mean over {_TEST_POINTS} random points"
        return Verification(route, worst, tolerance).require()


def certify_correlation(
    kernel: Kernel,
    problem: HardInstance,
    *,
    n: int,
    draws: int = 20,
    seed: int = 0,
    ridge: float = 1e-6,
    sample_constant: float = 1.0,
    alpha_constant: float = 1.0,
) -> CorrelationCertificate:
    """The certificate of the short version's theorem, with the exact risks of some draws.

    Arguments:
        kernel: a rotation-invariant kernel.
        problem: gives d, k, α and β; its own target plays no part.
        n: N.
        draws: of target and training set.
        seed: of the draws.
        ridge: of the regression (3.2); the theorem leaves the regulariser open, this choice is ours.
        sample_constant: what stands for O(·) in the hypothesis on N.
        alpha_constant: what stands for Ω(·) in the hypothesis on α.

    >>> from beyondkernels.kernels import Arcsin
    >>> certificate = certify_correlation(Arcsin(), HardInstance(dim=60, outputs=4, alpha=0.5), n=12)
    >>> [hypothesis.holds for hypothesis in certificate.hypotheses], certificate.holds
    ([True, True, True, True, True], True)
    """
    require_functions(n, "kernel")
    require(n <= MOST_POINTS, f"n must be at most {MOST_POINTS}, got {n}")
    require_alpha(problem.alpha)
    require_whole("draws", draws)
    for name, value in (("ridge", ridge), ("sample_constant", sample_constant), ("alpha_constant", alpha_constant)):
        require_positive(name, value)
    if problem.inputs.uniform != problem.dim:
        raise InputError(f"uniform must be dim = {problem.dim} for this theorem, got {problem.inputs.uniform}")
    coefficients = degree_coefficients(kernel, problem.dim)
    risks = []
    for draw in range(draws):
        S, a = drawn(problem, n, seed, draw)
        w = optimum(kernel, problem, a, S, ridge)
        risks.append(exact_risk(problem, [float(value) for value in coefficients.values], a, S, w))
    return CorrelationCertificate(
        kernel, replace(problem, optimal_risk=0.0), n, tuple(risks), seed, ridge, sample_constant, alpha_constant
    )


def drawn(problem: HardInstance, n: int, seed: int, draw: int) -> tuple[list[int], torch.Tensor]:
    """A target S and training points as signs."""
    stream = Stream(seed).child("correlation").child(str(draw))
    S = stream.child("target").permutation(problem.dim)[: problem.outputs].tolist()
    return S, signs(n, problem.dim, stream.child("train"))


def optimum(kernel: Kernel, problem: HardInstance, a: torch.Tensor, S: list[int], ridge: float) -> torch.Tensor:
    """The weights (N, k) that minimise (3.2): (K + ρI)w = y."""
    gram = kernel(a / problem.dim**0.5)
    gram.diagonal().add_(ridge)
    return torch.linalg.solve(gram, _labels(problem, a, S))


def exact_risk(
    problem: HardInstance, coefficients: list[float], a: torch.Tensor, S: list[int], w: torch.Tensor
) -> float:
    r"""The risk of given weights in closed form.

    .. math:: \sum_r \bigl(\beta^2 + \alpha^2 - 2 w_r^\top(\beta\lambda_1\chi_{i_r} + \alpha\lambda_k\chi_S)(a)
              + w_r^\top \textstyle\sum_j \lambda_j^2 \mathcal K_j(h)\,w_r\bigr)

    Arguments:
        problem: gives d, k, α and β.
        coefficients: λ₀, …, λ_d.
        a: the training points as signs.
        S: the target.
        w: the weights, shape (N, k).
    """
    d, k, alpha, beta = problem.dim, problem.outputs, problem.alpha, problem.beta
    table = krawtchouk(d)
    by_distance = [math.fsum(c * c * table[j][h] for j, c in enumerate(coefficients)) for h in range(d + 1)]
    distances = ((d - a @ a.T) / 2).round().long()
    gram = torch.tensor(by_distance, dtype=torch.float64)[distances]
    b = beta * coefficients[1] * a[:, S] + alpha * coefficients[k] * a[:, S].prod(1, keepdim=True)
    return float(k * (beta**2 + alpha**2) - 2 * (w * b).sum() + (w * (gram @ w)).sum())


def _labels(problem: HardInstance, a: torch.Tensor, S: list[int]) -> torch.Tensor:
    return problem.beta * a[:, S] + problem.alpha * a[:, S].prod(1, keepdim=True)
