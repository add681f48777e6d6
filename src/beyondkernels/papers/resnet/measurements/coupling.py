"""How far training leaves the random gates alone: sign changes and vanishing terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Ended, Measured, Stream, require_positive
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.point_blocks import blocks
from beyondkernels.papers.resnet.measurements.course import course, radii, scales
from beyondkernels.papers.resnet.networks import ResNetWeights, with_one


@dataclass(frozen=True)
class CouplingTerms:
    r"""The left sides of Lemma C.1 point by point, or its right sides; each tensor has an entry for every point.

    Arguments:
        first_flips: (a) :math:`\|D_{W^{(0)}} - D_W\|_0`, gates of the first layer that changed.
        first_vanishing: (b) :math:`\|A D_W W^{(0)}(x, 1)\|`, what is left of the start in out₁.
        first_output: (c) :math:`\|\mathrm{out}_1(x)\|`.
        second_flips: (d) :math:`\|D_{V^{(0)},W} - D_{V,W}\|_0`, both at the present out₁.
        second_vanishing: (e) :math:`\|A D_{V,W} V^{(0)}(\mathrm{out}_1(x), 1)\|`.
        second_matrix: (f) the spectral norm :math:`\|A D_{V,W} V^{(0)}\|_2`.
        second_output: (g) :math:`\|A D_{V,W} (V^{(0)} + V)(\mathrm{out}_1(x), 1)\|`.
    """

    first_flips: torch.Tensor
    first_vanishing: torch.Tensor
    first_output: torch.Tensor
    second_flips: torch.Tensor
    second_vanishing: torch.Tensor
    second_matrix: torch.Tensor
    second_output: torch.Tensor


def coupling_terms(initial: ResNetWeights, now: ResNetWeights, x: torch.Tensor) -> CouplingTerms:
    """The left sides of Lemma C.1.

    Arguments:
        initial: the weights at the start.
        now: the present ones; their A is the one used.
        x: points, (n, d).

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """
    A, x1 = now.A, with_one(x)
    D, out1 = now.first(x)
    D_start, _ = initial.first(x)
    D2, added = now.second(out1)
    D2_start, _ = initial.second(out1)
    m, k = now.width, now.outputs
    # A D V⁽⁰⁾ for every point at once: a sum over neurons of gate times a fixed k × (k + 1) matrix
    matrices = (D2 @ (A.T[:, :, None] * initial.V[:, None, :]).reshape(m, -1)).reshape(-1, k, k + 1)
    return CouplingTerms(
        first_flips=(D_start != D).sum(1),
        first_vanishing=((D * (x1 @ initial.W.T)) @ A.T).norm(dim=1),
        first_output=out1.norm(dim=1),
        second_flips=(D2_start != D2).sum(1),
        second_vanishing=torch.einsum("nkj,nj->nk", matrices, with_one(out1)).norm(dim=1),
        second_matrix=torch.linalg.matrix_norm(matrices, ord=2),
        second_output=added.norm(dim=1),
    )


def coupling_bounds(
    width: int,
    outputs: int,
    stds: tuple[float, float],
    radii: tuple[float, float],
    first_output: torch.Tensor,
) -> CouplingTerms:
    r"""The right sides of Lemma C.1 as its proof adds them up, every O(·) and Õ(·) read as 1.

    .. math::
        (a)\ (\tau_w/\sigma_w)^{2/3} m^{2/3},\quad (b)\ \tau_w(\tau_w/\sigma_w)^{1/3}/m^{1/6} + \sqrt k\,\sigma_w,\quad
        (c)\ \tau_w + \text{(b)},\quad (d)\ (\tau_v/\sigma_v)^{2/3} m,

        (e)\ \bigl(\tau_v(\tau_v/\sigma_v)^{1/3} + \sqrt{k/m}\,\sigma_v\bigr)(\|\mathrm{out}_1\| + 1),\quad
        (f)\ \tau_v(\tau_v/\sigma_v)^{1/3} + \sqrt{k/m}\,\sigma_v,\quad (g)\ \text{(e)} + \tau_v(\|\mathrm{out}_1\| + 1)

    The terms with :math:`\sqrt k` stand in the proof and are dropped in the statement, where Table 1's ranges make
    them small; they are the whole bound at the start of a run, where τ is zero.

    Arguments:
        width: m.
        outputs: k.
        stds: :math:`\sigma_w, \sigma_v`.
        radii: :math:`\tau_w, \tau_v`, which bound the spectral norms of what was learned.
        first_output: :math:`\|\mathrm{out}_1(x)\|` of each point.

    Reference: Allen-Zhu & Li (resnet), Lemma C.1 and its proof.
    """
    (sigma_w, sigma_v), (tau_w, tau_v), m, k = stds, radii, width, outputs
    for name, value in (("width", m), ("outputs", k), ("stds", sigma_w), ("stds", sigma_v)):
        require_positive(name, value)
    each, reach = torch.ones_like(first_output), first_output + 1
    start_w, start_v = k**0.5 * sigma_w, (k / m) ** 0.5 * sigma_v
    matrix = tau_v * (tau_v / sigma_v) ** (1 / 3) + start_v
    left = tau_w * (tau_w / sigma_w) ** (1 / 3) / m ** (1 / 6) + start_w
    return CouplingTerms(
        first_flips=each * ((tau_w / sigma_w) * m) ** (2 / 3),
        first_vanishing=each * left,
        first_output=each * (tau_w + left),
        second_flips=each * (tau_v / sigma_v) ** (2 / 3) * m,
        second_vanishing=matrix * reach,
        second_matrix=each * matrix,
        second_output=(matrix + tau_v) * reach,
    )


@dataclass(frozen=True)
class Coupling(Measurement):
    r"""Lemma C.1 along a run of a bottleneck ``ThreeLayerResNet``: sign changes, vanishing terms, and their bounds.

    Series over the snapshots, their names beginning with ``coupling/``: ``<term>`` and ``<term>_max``, mean and largest
    over points, with flips as fractions of the width; ``<term>_bound``, the mean of Lemma C.1's right side with
    constants 1, with the initial standard deviations and the present spectral norms as σ and τ; ``<term>_ratio``, the
    largest over points of left side over right side, which is the constant that the lemma would need here (zero where
    both are); ``first_radius`` and ``second_radius``, the norms; ``first_flips_each`` and ``second_flips_each``, the
    fraction for each point.

    Arguments:
        points: how many fresh points.
        seed: where they come from.

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """

    revision: ClassVar[int] = 2

    points: Annotated[int, positive] = 200
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        x = run.problem.sample(self.points, Stream(self.seed).child("coupling")).x
        weights = course(run.outcome)
        initial, rows = weights[0], []
        m, k, stds = initial.width, initial.outputs, scales(initial)
        for now in weights.values():
            taus = radii(initial, now)
            found = _joined([coupling_terms(initial, now, part) for part in blocks(x, m)])
            bounds = coupling_bounds(m, k, stds, taus, found.first_output)
            row: dict[str, object] = {"first_radius": taus[0], "second_radius": taus[1]}
            for term in (field.name for field in fields(CouplingTerms)):
                left, right = getattr(found, term).double(), getattr(bounds, term)
                unit = m if term.endswith("flips") else 1
                row[term] = float(left.mean()) / unit
                row[f"{term}_max"] = float(left.max()) / unit
                row[f"{term}_bound"] = float(right.mean()) / unit
                row[f"{term}_ratio"] = float(torch.where(left == 0, 0.0, left / right).max())
            for term in ("first_flips", "second_flips"):
                row[f"{term}_each"] = getattr(found, term).double().numpy() / m
            rows.append(row)
        return Measured(series=over_steps("coupling", weights, rows))


def _joined(parts: Sequence[CouplingTerms]) -> CouplingTerms:
    names = (field.name for field in fields(CouplingTerms))
    return CouplingTerms(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})
