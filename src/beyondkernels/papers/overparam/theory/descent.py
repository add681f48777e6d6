"""Lemmas 5.3 and 5.6: the direction that a ground truth gives, and what it does to first order."""

from __future__ import annotations

import torch

from beyondkernels.core import Stream, Tensors, require_positive
from beyondkernels.papers.overparam.problems import ThreeLayerTruth
from beyondkernels.papers.overparam.theory.pseudo import ThreeLayerGates


def truth_direction(
    truth: ThreeLayerTruth, x: torch.Tensor, gates: ThreeLayerGates, a: torch.Tensor, ridge: float, stream: Stream
) -> Tensors:
    r"""W* and V* of Lemma 5.6, with which fixed gates give the ground truth, by the names ``W`` and ``V``.

    .. math:: V^* = \sum_{r,i} \alpha^{(r,i)} v^{(r,i)\top}, \quad
              W^* = \sum_{r,i} \operatorname{diag}(v^{(r,i)})\,\beta^{(i)} e_d^\top, \qquad
              a_r D_v V^* D_w W^* x \approx \sum_i (a_r D_v \alpha^{(r,i)})\,\tfrac12 (1^\top D_w \beta^{(i)})

    The form is that of the proof: random signs v for each output r and term i, and increments of W along :math:`e_d`.
    So the gates of the second layer give the first factor of a term,
    :math:`a^*_{r,i} \Phi_i(\sum_j v^*_{1,i,j} \phi_{1,j})`, and the gates of the first layer give the second factor. In
    the proof :math:`\alpha` and :math:`\beta` are values of the functions h of Lemma 5.1, divided by the width. They
    are so large that no width at hand gives a small error. Here ridge regression on the gates finds them (ours).

    Arguments:
        truth: the ground truth.
        x: points for the regression, (n, d).
        gates: :math:`D_w` and :math:`D_v` at these points.
        a: the readout, (k, m₂).
        ridge: how much the squared length of a coefficient vector counts, as a part of the trace of the features'
            second moments.
        stream: where signs come from.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.6 and App. B.3, (234), (235).
    """
    require_positive("ridge", ridge)
    outer, inner = truth.factors(x)
    readout = truth.matrices()["a"]
    first, second = gates.first.double(), gates.second.double()
    beta = _ridge(first / 2, inner, ridge)
    W, V = x.new_zeros(first.shape[1], x.shape[1]), x.new_zeros(second.shape[1], first.shape[1])
    for r in range(len(a)):
        alpha = _ridge(second * a[r], outer * readout[r], ridge)
        for i in range(outer.shape[1]):
            v = 2 * stream.child(str(r), str(i)).bernoulli(0.5, len(W)).double() - 1
            V += torch.outer(alpha[:, i], v)
            W[:, -1] += v * beta[:, i]
    return {"W": W, "V": V}


def crossing_terms(
    x: torch.Tensor, at: Tensors, star: Tensors, gates: ThreeLayerGates, buffers: Tensors
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""What of a step with random signs is linear in them, for each sign, with fixed gates; each (n, k, m₁).

    .. math:: a_r D_v V^* \Sigma D_w (W x + b_1) = \sum_i \Sigma_{ii}\,s_i, \qquad
              a_r D_v V D_w \Sigma W^* x = \sum_i \Sigma_{ii}\,t_i

    Returns s and t. With them the pseudo network after a step is exactly

    .. math:: g_r(x; W + \sqrt\eta\,\Sigma W^*, V + \sqrt\eta\,V^*\Sigma) = g_r(x; W, V)
              + \sqrt\eta \sum_i \Sigma_{ii} (s_i + t_i) + \eta\,g_r^{(b,b)}(x; W^*, V^*)

    Arguments:
        x: points, (n, d).
        at: W and V, with smoothing noise in them where it is meant.
        star: W* and V*.
        gates: fixed at these points.
        buffers: ``b1`` and ``a``.

    Reference: Allen-Zhu, Li & Liang (overparam), App. C.1.2, (273).
    """
    first = gates.first * (x @ at["W"].T + buffers["b1"])
    readout = gates.second[:, None, :] * buffers["a"]  # (n, k, m₂)
    pushed = gates.first * (x @ star["W"].T)
    return readout @ star["V"] * first[:, None, :], readout @ at["V"] * pushed[:, None, :]


def penalty(moved: Tensors, penalties: tuple[float, float]) -> float:
    r"""The regulariser :math:`R(W, V) = \lambda_w \|W\|_{2,4}^4 + \lambda_v \|V\|_F^2`.

    Arguments:
        moved: the increments W and V.
        penalties: :math:`\lambda_w, \lambda_v`.
    """
    w, v = penalties
    return float(w * moved["W"].square().sum(1).square().sum() + v * moved["V"].square().sum())


def penalty_growth(moved: Tensors, star: Tensors, penalties: tuple[float, float]) -> tuple[float, float]:
    r"""By how much a step with random signs raises the regulariser on average, to first order in η, by matrix.

    .. math:: \lambda_w \sum_i \bigl(4 \langle W_i, W^*_i\rangle^2 + 2 \|W_i\|^2 \|W^*_i\|^2\bigr), \qquad
              \lambda_v \|V^*\|_F^2

    Arguments:
        moved: the increments W and V.
        star: W* and V*.
        penalties: :math:`\lambda_w, \lambda_v`.

    Reference: Allen-Zhu, Li & Liang (overparam), App. D.1, (333) and (336).
    """
    w, v = penalties
    W, S = moved["W"], star["W"]
    rows = 4 * (W * S).sum(1).square() + 2 * W.square().sum(1) * S.square().sum(1)
    return float(w * rows.sum()), float(v * star["V"].square().sum())


def smoothed_coupling_bound(
    widths: tuple[int, int], longest: tuple[float, float], smoothing: tuple[float, float]
) -> float:
    r"""The right side of Lemma 5.7 without :math:`O_p(\eta)`, with its Õ(·) read as 1.

    .. math:: m_1 \frac{\tau_{w,\infty}^2}{\sigma_w} + \frac{m_2 \tau_{w,\infty}^2}{\sigma_v}
              + \frac{m_2}{m_1} \frac{\tau_{v,\infty}^2}{\sigma_v}

    Arguments:
        widths: :math:`m_1, m_2`.
        longest: :math:`\tau_{w,\infty}, \tau_{v,\infty}`, the lengths of the longest rows of W″ and V″.
        smoothing: :math:`\sigma_w, \sigma_v`, positive.

    >>> round(smoothed_coupling_bound((100, 100), (0.1, 0.2), (0.5, 0.5)), 9)  # 2 + 2 + 0.08
    4.08

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.7, (46).
    """
    (m1, m2), (w, v), (std_w, std_v) = widths, longest, smoothing
    require_positive("smoothing", min(smoothing))
    return m1 * w**2 / std_w + m2 * w**2 / std_v + m2 / m1 * v**2 / std_v


def _ridge(features: torch.Tensor, targets: torch.Tensor, ridge: float) -> torch.Tensor:
    """Coefficients (m, targets) of least mean square error plus the ridge."""
    n, m = features.shape
    moments = features.T @ features / n
    moments += ridge * moments.trace() * torch.eye(m, dtype=features.dtype)
    return torch.linalg.solve(moments, features.T @ targets / n)
