"""Rademacher complexities of pseudo networks near the start: suprema in closed form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch

from beyondkernels.core import Stream, Tensors, require, require_between, require_whole
from beyondkernels.papers.overparam.theory.pseudo import gates, three_layer_gates

EVERY = 12
"""Up to so many points every choice of signs is listed; with more, signs are drawn."""


def sign_vectors(points: int, draws: int, stream: Stream) -> torch.Tensor:
    """Signs ξ, one choice in a row: all :math:`2^N` for few points, otherwise random ones.

    Arguments:
        points: N.
        draws: how many, where they are drawn.
        stream: where they come from.

    >>> sign_vectors(3, 100, Stream(0)).shape
    torch.Size([8, 3])
    """
    if points <= EVERY:
        return torch.tensor(list(itertools.product((1.0, -1.0), repeat=points)), dtype=torch.float64)
    return 2 * stream.child("signs").bernoulli(0.5, draws, points).double() - 1


def two_layer_suprema(
    x: torch.Tensor, start: torch.Tensor, buffers: Tensors, signs: torch.Tensor, power: float = math.inf
) -> torch.Tensor:
    r"""For every choice of signs and every output the supremum over pseudo networks near the start, (S, k).

    .. math:: \sup_{\|W'\|_{2,q} \le 1} \sum_i \xi_i \bigl(g_r(x_i; W^{(0)} + W') - g_r(x_i; W^{(0)})\bigr)
              = \Bigl\| \Bigl(|a_{r,j}|\,\bigl\|\textstyle\sum_i \xi_i D_{i,j} x_i\bigr\|_2\Bigr)_j \Bigr\|_{q^*},
              \qquad \frac1q + \frac1{q^*} = 1

    with the gates D of the start: the sum is linear in W′. It is proportional to the radius. What the start itself
    gives has mean zero over signs, so that the mean of this, over N, is the Rademacher complexity of the class.

    Arguments:
        x: points, (N, d).
        start: W⁽⁰⁾, (m, d).
        buffers: ``b1`` and ``a``.
        signs: ξ, (S, N).
        power: q of the norm; infinite in Lemma G.5.

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma G.5.
    """
    require(power >= 1, f"power must be at least 1, got {power}")
    dual = 1.0 if power == math.inf else math.inf if power == 1 else power / (power - 1)
    every = _neuron_sums(x, gates(x, start, buffers["b1"]), signs)
    lengths = (buffers["a"].abs() * sums.norm(dim=1) for sums in every)
    return torch.stack([torch.linalg.vector_norm(each, ord=dual, dim=1) for each in lengths])


def real_at_maximum(
    x: torch.Tensor, start: torch.Tensor, buffers: Tensors, signs: torch.Tensor, radius: float
) -> torch.Tensor:
    r"""The real network at the weights where the pseudo network has its supremum, (S, k).

    .. math:: \sum_i \xi_i \bigl(f_r(x_i; W^{(0)} + W'_\xi) - f_r(x_i; W^{(0)})\bigr)

    with the maximiser :math:`W'_\xi` over :math:`\|W'\|_{2,\infty} \le \tau`. The supremum over real networks, of which
    Lemma G.5 speaks, is at least this.

    Arguments:
        x: points, (N, d).
        start: W⁽⁰⁾.
        buffers: ``b1`` and ``a``.
        signs: ξ, (S, N).
        radius: τ.
    """
    b, a = buffers["b1"], buffers["a"]
    before = torch.relu(x @ start.T + b)
    found = []
    for xi, sums in zip(signs, _neuron_sums(x, gates(x, start, b), signs), strict=True):
        unit = sums / sums.norm(dim=1, keepdim=True).clamp(min=1e-300)
        row = []
        for r in range(len(a)):
            moved = start + radius * a[r].sign()[:, None] * unit
            row.append(xi @ ((torch.relu(x @ moved.T + b) - before) @ a[r]))
        found.append(torch.stack(row))
    return torch.stack(found)


def two_layer_bound(points: int, width: int, radius: float, largest: float) -> float:
    r"""Lemma G.5 with its constant written out, :math:`B\,m\tau/\sqrt N` with :math:`B = \max |a_{r,i}|`.

    Arguments:
        points: N.
        width: m.
        radius: τ, which bounds :math:`\|W'\|_{2,\infty}`.
        largest: B.

    Reference: Allen-Zhu, Li & Liang (overparam), (433).
    """
    _require_sizes(points, (width,), radius=radius, largest=largest)
    return largest * width * radius / math.sqrt(points)


def three_layer_suprema(x: torch.Tensor, start: Tensors, buffers: Tensors, signs: torch.Tensor) -> torch.Tensor:
    r"""For every choice of signs and every output the supremum of the bilinear part of Lemma 5.8, (S, k).

    .. math:: \sup_{\|W'\|_{2,4} \le 1,\ \|V'\|_F \le 1} \sum_i \xi_i\,a_r D_{v,x_i} V' D_{w,x_i} W' x_i
              = \Bigl(\sum_q \|A_q\|_2^4\Bigr)^{1/4}, \qquad
              A_q = \sum_i \xi_i\,[D_{w,x_i}]_{q,q}\,D_{v,x_i} a_r\,x_i^\top

    For fixed W′ the best V′ gives the Frobenius norm of a matrix whose q-th column is :math:`A_q w'_q`. The best
    :math:`w'_q` is along the first singular vector of :math:`A_q`, and Cauchy and Schwarz share out the lengths. It is
    proportional to both radii.

    Arguments:
        x: points, (N, d).
        start: ``W`` and ``V`` at the start.
        buffers: ``b1``, ``b2`` and ``a``.
        signs: ξ, (S, N).

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.9 and App. E.
    """
    fixed = three_layer_gates(x, start["W"], start["V"], buffers)
    first, second = fixed.first.double(), fixed.second.double()
    n, d = x.shape
    found = []
    for a in buffers["a"]:
        together = (second * a.square()) @ second.T  # ⟨D_v a, D_v a⟩ for every pair of points
        row = []
        for xi in signs:
            columns = (xi[:, None] * first)[:, :, None] * x[:, None, :]  # (N, m₁, d)
            grams = torch.einsum("nqd,nqe->qde", columns, (together @ columns.reshape(n, -1)).view(n, -1, d))
            row.append(torch.linalg.eigvalsh(grams)[:, -1].clamp(min=0).square().sum().pow(0.25))
        found.append(torch.stack(row))
    return torch.stack(found, 1)


def three_layer_bound(
    points: int, widths: tuple[int, int], radii: tuple[float, float], *, output_std: float = 1.0
) -> float:
    r"""Lemma 5.9 with Õ(·) read as 1, :math:`\varepsilon_a (\tau_w \tau_v m_1^{1/4} \sqrt{m_2} + 1)/\sqrt N`.

    The lemma has no :math:`\varepsilon_a`, which is at most 1. Both terms are proportional to the readout, so the
    factor is ours and makes the bound smaller.

    Arguments:
        points: N.
        widths: :math:`m_1, m_2`.
        radii: :math:`\tau_w, \tau_v`.
        output_std: :math:`\varepsilon_a`.

    Reference: Allen-Zhu, Li & Liang (overparam), (50).
    """
    _require_sizes(points, widths, radii=min(radii), output_std=output_std)
    return output_std * (radii[0] * radii[1] * widths[0] ** 0.25 * math.sqrt(widths[1]) + 1) / math.sqrt(points)


def spectral_bound(points: int, width: int, radii: tuple[float, float], *, output_std: float = 1.0) -> float:
    r"""The Rademacher bound in the proof of Theorem 4.2, where increments carry no random signs.

    .. math:: \frac{\varepsilon_a \sqrt m}{\sqrt N} \Bigl(\bigl(m^{3/4} \tau_w\bigr)^{2/3}
              + \bigl(\sqrt m\,\tau_v\bigr)^{2/3}\Bigr)^{3/2}

    It is the spectral bound of footnote 14 with :math:`m_1 = m_2 = m`. All constants are read as 1, and so are the
    spectral norms of :math:`W^{(0)} + W` and :math:`V^{(0)} + V`, which are Θ(1). That of the readout is
    :math:`\varepsilon_a \sqrt m`. The sums of the rows' lengths are at most :math:`m^{3/4} \|W\|_{2,4}` and
    :math:`\sqrt m\,\|V\|_F`.

    Arguments:
        points: N.
        width: m.
        radii: :math:`\tau_w, \tau_v`.
        output_std: :math:`\varepsilon_a`.

    Reference: Allen-Zhu, Li & Liang (overparam), App. F, footnote 14.
    """
    _require_sizes(points, (width,), radii=min(radii), output_std=output_std)
    rows = radii[0] * width**0.75, radii[1] * math.sqrt(width)
    return output_std * math.sqrt(width / points) * sum(each ** (2 / 3) for each in rows) ** 1.5


def _require_sizes(points: int, widths: tuple[int, ...], **sizes: float) -> None:
    """Ask for whole numbers of points and neurons, and for lengths that are not negative."""
    require_whole("points", points)
    require_whole("width" if len(widths) == 1 else "widths", min(widths))
    for name, value in sizes.items():
        require_between(name, value, 0, math.inf, "[)")


def _neuron_sums(x: torch.Tensor, is_open: torch.Tensor, signs: torch.Tensor) -> Iterator[torch.Tensor]:
    r"""For every choice of signs :math:`\sum_i \xi_i D_{i,j} x_i` of all neurons, (m, d)."""
    opened = is_open.to(x.dtype)
    for xi in signs:
        yield opened.T @ (xi[:, None] * x)
