"""Definition B.3: the numbers of the proof of Theorem 1', as logarithms, because they leave the range of floats."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from beyondkernels.core import InputError, require, require_positive
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.papers.bfc.problems.graph import Graph, require_wiring
from beyondkernels.papers.bfc.theory.constants import DenseNetSettings, entering_width, require_layers, require_small

Logs = dict[int, float]
"""Natural logarithms, by layer."""


@dataclass(frozen=True)
class ProofConstants:
    r"""What stands for the constants that Definition B.3 leaves open.

    Arguments:
        exponent: :math:`c_0 \ge 2`, in the exponents of D and of the gap.
        truncation_power: the power of τ in B′ = poly(τ) · (…).
        truncation: in Ω(·) of B′.
        tails: :math:`c_4(q)` = tails · q, of the hyper-contractivity; for Gaussians it is O(q).

    :math:`c_1(q) = q!` and :math:`c_3(q) = (6q)!` are the paper's for Gaussian inputs.
    """

    exponent: float = 2.0
    truncation_power: float = 1.0
    truncation: float = 1.0
    tails: float = 1.0


@dataclass(frozen=True)
class ProofNumbers:
    r"""The numbers of Definition B.3, each as the natural logarithm by layer.

    Arguments:
        tau: :math:`\tau_\ell = (\bar B_\ell \bar k_\ell L \kappa)^4`.
        kappa: :math:`\tilde\kappa_\ell = (\bar k_\ell L \kappa)^4`.
        truncation: :math:`B'_\ell`, where the activation is truncated.
        factor: :math:`D_\ell`.
        product: :math:`\Upsilon_\ell`.
        join_at: :math:`\mathrm{Thres}_{\ell,\Delta}`, from the third layer on.
        distill_at: :math:`\mathrm{Thres}_{\ell,\nabla}`.
        cross: :math:`\lambda_{3,\ell}`.
        own: :math:`\lambda_{4,\ell}`.
        whole: :math:`\lambda_{5,\ell}`.
        decay: :math:`\lambda_{6,\ell} / \varepsilon^2`.
        error: ε itself.
        rank_cut: 1/(10κ²) itself.
        gap: the gap assumption, in logarithms: :math:`\log(\alpha_\ell/\alpha_{\ell+1})` against what is asked.
    """

    tau: Logs
    kappa: Logs
    truncation: Logs
    factor: Logs
    product: Logs
    join_at: Logs
    distill_at: Logs
    cross: Logs
    own: Logs
    whole: Logs
    decay: Logs
    error: float
    rank_cut: float
    gap: tuple[Hypothesis, ...]

    def settings(self) -> DenseNetSettings:
        """The numbers for Algorithm 1; an error if one of them is smaller than a float can be."""
        words = {
            "join_at": "Thres_Δ",
            "distill_at": "Thres_∇",
            "cross": "λ₃",
            "own": "λ₄",
            "whole": "λ₅",
            "decay": "λ₆/ε²",
        }
        found = {}
        for name, word in words.items():
            logs: Logs = getattr(self, name)
            for layer, log in logs.items():
                if log < math.log(1e-300):
                    raise InputError(
                        f"{word} of layer {layer} is 10^{log / math.log(10):.0f}, which no float holds; "
                        "take practical() or theorem1() instead"
                    )
            found[name] = tuple(math.exp(log) for log in logs.values())
        found["join_at"] = (math.inf, *found["join_at"])
        return DenseNetSettings(
            **found, rank_cut=(self.rank_cut,) * len(self.factor), error=self.error, hypotheses=self.gap
        )


def definition_b3(
    dim: int,
    graph: Graph,
    alphas: tuple[float, ...],
    widths: tuple[int, ...],
    bounds: tuple[float, ...],
    *,
    error: float,
    kappa: float = 1.0,
    constants: ProofConstants | None = None,
) -> ProofNumbers:
    r"""The numbers of Definition B.3, with which Theorem 1' is proved.

    .. math::
        D_\ell &= \bigl(\tau_\ell\, \kappa^{2^\ell} (2^\ell)^{2^\ell} c_1(2^\ell)\, c_3(2^\ell)\bigr)^{c_0 \ell}, \qquad
        \Upsilon_\ell = \prod_{j=\ell}^L D_j^{20 \cdot 2^{6(j-\ell)}}, \qquad
        \frac{\alpha_{\ell+1}}{\alpha_\ell} \le \frac{1}{\Upsilon_{\ell+1}^6 \bar B'_{\ell+1}} \\
        \mathrm{Thres}_{\ell,\Delta} &= \Bigl(\frac{\alpha_{\ell-1}}{D_{\ell-1}^9 \Upsilon_{\ell-1}}\Bigr)^2, \qquad
        \mathrm{Thres}_{\ell,\nabla} = \frac14 \Bigl(\frac{\alpha_\ell}{D_\ell^3 \sqrt{\Upsilon_\ell}}\Bigr)^2 \\
        \lambda_{3,\ell} &= \frac{\alpha_\ell^2}{D_\ell \Upsilon_\ell}, \qquad
        \lambda_{4,\ell} = \frac{\alpha_\ell^2}{D_\ell^7 \Upsilon_\ell^2}, \qquad
        \lambda_{5,\ell} = \frac{\alpha_\ell^2}{D_\ell^{13} \Upsilon_\ell^3}, \qquad
        \lambda_{6,\ell} = \frac{\varepsilon^2}{\tilde\kappa_\ell^2}

    :math:`\bar k_\ell` and :math:`\bar B_\ell` are the largest among the sources of layer ℓ from the second layer on;
    where there are none they are 1 (ours).

    Arguments:
        dim: d.
        graph: 𝒥₂, 𝒥₃, …
        alphas: α₂, α₃, …
        widths: k₂, k₃, …
        bounds: B₂, B₃, …
        error: ε.
        kappa: κ.
        constants: what stands for the constants that the definition leaves open.

    >>> numbers = definition_b3(10, ((1,), (2, 0)), (1.0, 0.1), (2, 2), (4.0, 40.0), error=0.01)
    >>> numbers.settings()
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: Thres_Δ of layer 3 is 10^-1211757, which no float holds; take practical() or
    theorem1() instead

    Reference: Allen-Zhu & Li (bfc), App. B.1, Definition B.3.
    """
    require_wiring(graph)
    require_layers(alphas, widths=widths, bounds=bounds)
    require(len(graph) == len(alphas), f"graph must hold {len(alphas)} sets, one for each α, got {len(graph)}")
    for name, value in (("dim", dim), ("error", error), ("kappa", kappa)):
        require_positive(name, value)
    require_small(error)
    c, L = constants or ProofConstants(), len(alphas) + 1
    layers = range(2, L + 1)
    k_bar, b_bar = ({i: math.log(entering_width(values, graph[i - 2])) for i in layers} for values in (widths, bounds))
    alpha = {i: math.log(a) for i, a in zip(layers, alphas, strict=True)}
    tilde = {i: 4 * (k_bar[i] + math.log(L * kappa)) for i in layers}
    tau = {i: 4 * (b_bar[i] + k_bar[i] + math.log(L * kappa)) for i in layers}
    D = {i: c.exponent * i * (tau[i] + 2**i * math.log(kappa) + _degree(2**i)) for i in layers}
    Y = {i: math.fsum(20 * 2 ** (6 * (j - i)) * D[j] for j in range(i, L + 1)) for i in layers}
    cut = {i: c.truncation_power * tau[i] + _tail(c, dim * L / error, 2**i) for i in layers}
    gap = []
    for low, high in itertools.pairwise(layers):
        above = max((cut[j] for j in graph[high - 2] if j >= 2), default=0.0)
        asked = 6 * Y[high] + above
        text = f"log(α_{low}/α_{high}) ≥ log(Υ_{high}⁶ B̄′_{high})"
        gap.append(Hypothesis(text, alpha[low] - alpha[high], asked))
    return ProofNumbers(
        tau=tau,
        kappa=tilde,
        truncation=cut,
        factor=D,
        product=Y,
        join_at={i: 2 * (alpha[i - 1] - 9 * D[i - 1] - Y[i - 1]) for i in range(3, L + 1)},
        distill_at={i: 2 * (alpha[i] - 3 * D[i] - Y[i] / 2) - math.log(4) for i in layers},
        cross={i: 2 * alpha[i] - D[i] - Y[i] for i in layers},
        own={i: 2 * alpha[i] - 7 * D[i] - 2 * Y[i] for i in layers},
        whole={i: 2 * alpha[i] - 13 * D[i] - 3 * Y[i] for i in layers},
        decay={i: -2 * tilde[i] for i in layers},
        error=error,
        rank_cut=1 / (10 * kappa**2),
        gap=tuple(gap),
    )


def _degree(q: int) -> float:
    """The logarithm of q^q c₁(q) c₃(q)."""
    return q * math.log(q) + math.lgamma(q + 1) + math.lgamma(6 * q + 1)


def _tail(c: ProofConstants, size: float, q: int) -> float:
    """The logarithm of Ω(c₄(q) log(dL/ε))^c₄(q)."""
    c4 = c.tails * q
    return c4 * math.log(c.truncation * c4 * math.log(size))
