"""Pseudo networks: the gates of one set of weights, the linear parts of another."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Tensors


def gates(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    r"""Which neurons are open, :math:`1[\langle w_i, x\rangle + b_i \ge 0]`, (n, m) boolean.

    Arguments:
        x: points, (n, d).
        W: weights, (m, d).
        b: biases, (m,).
    """
    return x @ W.T + b >= 0


def pseudo_two_layer(x: torch.Tensor, W: torch.Tensor, start: torch.Tensor, buffers: Tensors) -> torch.Tensor:
    r"""The pseudo network of two layers: the gates of the start and the weights of now.

    .. math:: g_r(x; W) = \sum_i a_{r,i}\,(\langle w_i, x\rangle + b_i)\,1[\langle w_i^{(0)}, x\rangle + b_i \ge 0]

    At W = W⁽⁰⁾ it is the network itself.

    Arguments:
        x: points, (n, d).
        W: weights, (m, d).
        start: W⁽⁰⁾, (m, d).
        buffers: ``b1`` (m,) and ``a`` (k, m) of a :class:`bk.overparam.TwoLayerLearner`.

    Reference: Allen-Zhu, Li & Liang (overparam), (403).
    """
    b = buffers["b1"]
    return (gates(x, start, b) * (x @ W.T + b)) @ buffers["a"].T


@dataclass(frozen=True)
class ThreeLayerGates:
    """The gates of both layers of a three-layer network at some points.

    Arguments:
        first: :math:`D_{w,x}` for each point, (n, m₁) boolean.
        second: :math:`D_{v,x}` for each point, (n, m₂) boolean.
    """

    first: torch.Tensor
    second: torch.Tensor


def three_layer_gates(x: torch.Tensor, W: torch.Tensor, V: torch.Tensor, buffers: Tensors) -> ThreeLayerGates:
    """The gates of a three-layer network.

    Arguments:
        x: points, (n, d).
        W: weights of the first layer, (m₁, d).
        V: weights of the second layer, (m₂, m₁).
        buffers: ``b1`` and ``b2`` of a :class:`bk.overparam.ThreeLayerLearner`.
    """
    hidden = torch.relu(x @ W.T + buffers["b1"])
    return ThreeLayerGates(gates(x, W, buffers["b1"]), gates(hidden, V, buffers["b2"]))


def pseudo_three_layer(
    x: torch.Tensor,
    W: torch.Tensor,
    V: torch.Tensor,
    fixed: ThreeLayerGates,
    buffers: Tensors,
    biases: tuple[bool, bool] = (True, True),
) -> torch.Tensor:
    r"""The pseudo network of three layers: gates that are given, and the weights of now.

    .. math:: g_r(x; W, V) = a_r D_v \bigl(V D_w (W x + b_1) + b_2\bigr)

    Without :math:`b_2` it is the paper's :math:`g^{(b)}`, without both :math:`g^{(b,b)}`.

    Arguments:
        x: points, (n, d).
        W: weights of the first layer, (m₁, d).
        V: weights of the second layer, (m₂, m₁).
        fixed: the gates.
        buffers: ``b1``, ``b2`` and ``a`` of a :class:`bk.overparam.ThreeLayerLearner`.
        biases: whether the first and the second layer have theirs.

    Reference: Allen-Zhu, Li & Liang (overparam), (33) to (35).
    """
    first = x @ W.T + (buffers["b1"] if biases[0] else 0.0)
    second = (fixed.first * first) @ V.T + (buffers["b2"] if biases[1] else 0.0)
    return (fixed.second * second) @ buffers["a"].T


def stronger_coupling(
    x: torch.Tensor, start: Tensors, moved: Tensors, buffers: Tensors, signs: torch.Tensor
) -> torch.Tensor:
    r"""What Lemma 5.8 leaves over, (n, k).

    .. math:: f_r(x; W^{(0)} + \Sigma W', V^{(0)} + V'\Sigma) - a_r D_v\bigl(V^{(0)} D_w (W^{(0)}x + b_1) + b_2\bigr)
              - a_r D_v V' D_w W' x

    with the gates :math:`D_w, D_v` of the start.

    Arguments:
        x: points, (n, d).
        start: W⁽⁰⁾ and V⁽⁰⁾, by the names ``W`` and ``V``.
        moved: W′ and V′.
        buffers: ``b1``, ``b2`` and ``a``.
        signs: the diagonal of Σ, (m₁,), of ±1.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.8.
    """
    W, V = start["W"] + signs[:, None] * moved["W"], start["V"] + moved["V"] * signs
    hidden = torch.relu(x @ W.T + buffers["b1"])
    real = torch.relu(hidden @ V.T + buffers["b2"]) @ buffers["a"].T
    fixed = three_layer_gates(x, start["W"], start["V"], buffers)
    first = pseudo_three_layer(x, start["W"], start["V"], fixed, buffers)
    return real - first - pseudo_three_layer(x, moved["W"], moved["V"], fixed, buffers, (False, False))


def smoothed_pseudo(
    x: torch.Tensor, now: Tensors, noise: Tensors, step: Tensors, eta: float, buffers: Tensors
) -> tuple[torch.Tensor, torch.Tensor]:
    r""":math:`P_{\rho,\eta}` and :math:`P'_{\rho,\eta}` of Lemma 5.7, each (n, k): gates after a step, and before it.

    .. math:: a_r D_v\bigl((V + V^\rho + \eta V'')\,D_w((W + W^\rho + \eta W'')x + b_1) + b_2\bigr)

    Arguments:
        x: points, (n, d).
        now: W and V, by these names.
        noise: :math:`W^\rho` and :math:`V^\rho`, likewise.
        step: W″ and V″, with Σ in them where it is meant.
        eta: η.
        buffers: ``b1``, ``b2`` and ``a``.

    Reference: Allen-Zhu, Li & Liang (overparam), (44) and (45).
    """
    before = {name: now[name] + noise[name] for name in ("W", "V")}
    after = {name: before[name] + eta * step[name] for name in ("W", "V")}
    open_after = three_layer_gates(x, after["W"], after["V"], buffers)
    open_before = three_layer_gates(x, before["W"], before["V"], buffers)
    return (
        pseudo_three_layer(x, after["W"], after["V"], open_after, buffers),
        pseudo_three_layer(x, after["W"], after["V"], open_before, buffers),
    )
