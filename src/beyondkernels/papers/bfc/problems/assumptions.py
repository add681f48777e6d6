"""The paper's assumptions on the inputs, with their constants. A violated assumption is reported, not raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from beyondkernels.core import Stream, require, require_whole
from beyondkernels.papers.bfc.problems.coordinates import expansion
from beyondkernels.papers.bfc.problems.inputs import QuadraticInputs
from beyondkernels.papers.bfc.problems.preservation import MOST_MONOMIALS, leading_ratio, values_of_monomials

_DRAWS = 2**17
_BLOCK = 2**13
_STARTS, _ASCENTS = 8, 30


@dataclass(frozen=True)
class Constant:
    """A constant of §5 for one distribution.

    Arguments:
        name: as the paper calls it.
        degree: q, None where the constant does not depend on a degree.
        value: the constant. It is infinite if the assumption does not hold.
        kind: ``exact``, the smallest constant that will do; ``bound``, one that will do by a theorem; ``estimate``,
            from draws.
        reason: where the value comes from.

    >>> print(Constant("c1", 4, 1.0, "exact", "Hermite expansion"))
    c1(4) = 1 (exact: Hermite expansion)
    """

    name: str
    degree: int | None
    value: float
    kind: Literal["exact", "bound", "estimate"]
    reason: str

    @property
    def holds(self) -> bool:
        """Whether there is such a constant."""
        return math.isfinite(self.value)

    def __str__(self) -> str:
        of = "" if self.degree is None else f"({self.degree})"
        return f"{self.name}{of} = {self.value:.6g} ({self.kind}: {self.reason})"


def check_inputs(inputs: QuadraticInputs, dim: int, degrees: Sequence[int] = (1, 2, 4)) -> tuple[Constant, ...]:
    """All constants of §5: isotropy c₆; then hypercontractivity c₂, c₃, c₄ and degree-preservation c₁ for each degree.

    The paper asks for all degrees up to 2^L.

    Arguments:
        inputs: the distribution.
        dim: d.
        degrees: the degrees q.

    >>> from beyondkernels.papers.bfc.problems import GaussianInputs
    >>> for constant in check_inputs(GaussianInputs(), dim=8, degrees=[2]):
    ...     print(constant)
    c6 = 2 (exact: second and fourth moments)
    c2 = 7.38906 (bound: hypercontractivity of polynomials)
    c3(2) = 3.13843e+12 (bound: hypercontractivity of polynomials)
    c4(2) = 7.38906 (bound: hypercontractivity of polynomials)
    c1(2) = 1 (exact: expansion in orthogonal polynomials)

    Reference: Allen-Zhu & Li (bfc), §5, eqs. (5.1)–(5.4).
    """
    found = [isotropy(inputs, dim), spread_constant(inputs)]
    for q in degrees:
        found += [moment_constant(inputs, dim, q), tail_constant(inputs, dim, q), degree_constant(inputs, dim, q)]
    return tuple(found)


def isotropy(inputs: QuadraticInputs, dim: int) -> Constant:
    r"""The smallest c₆ with :math:`E\langle w, x\rangle^2, E\langle w, S_1(x)\rangle^2 \le c_6 \|w\|^2` for every w.

    Arguments:
        inputs: the distribution.
        dim: d.

    Reference: Allen-Zhu & Li (bfc), eq. (5.1).
    """
    require_whole("dim", dim)
    s = torch.tensor(inputs.second_moments(dim), dtype=torch.float64)
    parts = inputs.parts(dim)
    if parts is None:
        x = inputs.draw(_DRAWS, dim, Stream(0).child("isotropy"))
        first, second = (z.T @ z / _DRAWS for z in (x, x.square() - s))
    else:
        first, second = torch.zeros(dim, dim).double(), -torch.outer(s, s)
        for part in parts:
            excess = float(expansion(part.law, 4)[4, 0]) - 3
            covariance, a = part.root @ part.root.T, part.root.square()
            squares = torch.outer(covariance.diagonal(), covariance.diagonal()) + 2 * covariance.square()
            first += part.weight * covariance
            second += part.weight * (squares + excess * a @ a.T)
    value = max(float(torch.linalg.eigvalsh(moments)[-1]) for moments in (first, second))
    if parts is None:
        return Constant("c6", None, value, "estimate", f"mean over {_DRAWS} draws")
    return Constant("c6", None, value, "exact", "second and fourth moments")


def spread_constant(inputs: QuadraticInputs) -> Constant:
    r"""The constant c₂ that belongs to :func:`tail_constant`: :math:`e^2 \rho`, or :math:`e^2` where ρ is unknown."""
    rho = inputs.hypercontractivity
    if rho is None:
        return Constant("c2", None, math.e**2, "estimate", "the value for Gaussians")
    return Constant("c2", None, math.e**2 * rho, "bound", _THEOREM)


def moment_constant(inputs: QuadraticInputs, dim: int, degree: int) -> Constant:
    r"""A constant c₃(q) with :math:`E f^{2p} \le c_3(q) (E f^2)^p` for p ≤ 6 and all polynomials f of degree q.

    Hypercontractivity gives :math:`\|f\|_r \le (r - 1)^{q/2} \rho^{1/2 - 1/r} \|f\|_2`, so :math:`c_3(q) = 11^{6q}
    \rho^5` will do: the case p = 6 is the largest. For other inputs, polynomials with large ratios are sought by ascent
    on some draws and measured on others. c₃(q) cannot be less than what they show.

    Arguments:
        inputs: the distribution.
        dim: d.
        degree: q.

    Reference: Allen-Zhu & Li (bfc), eq. (5.3).
    """
    require_whole("degree", degree)
    rho = inputs.hypercontractivity
    if rho is not None:
        return Constant("c3", degree, _exp(6 * degree * math.log(11) + 5 * math.log(rho)), "bound", _THEOREM)
    f = _extreme_polynomials(inputs, dim, degree)
    ratios = f.pow(12).mean(0) / f.square().mean(0).pow(6)
    return Constant("c3", degree, max(1.0, float(ratios.max())), "estimate", _SOUGHT)


def tail_constant(inputs: QuadraticInputs, dim: int, degree: int) -> Constant:
    r"""A constant c₄(q) ≥ q for the tails of all polynomials f of degree q, with c₂ from :func:`spread_constant`.

    .. math:: \Pr[|f - E f| \ge \lambda] \le c_4(q) \exp\Bigl(-\Bigl(\frac{\lambda^2}{c_2 \operatorname{Var} f}
              \Bigr)^{1/c_4(q)}\Bigr)

    Let :math:`t^2 = \lambda^2 / (\rho \operatorname{Var} f)`. Markov's inequality for the moment of order
    :math:`r = t^{2/q}/e` gives :math:`\Pr \le \min(1, e^q \exp(-\frac{q}{2e} t^{2/q}))`. This is at most its own power
    θ ≤ 1. With :math:`\theta = 2 e^{1 - 2/q} / q` and :math:`c_2 = e^2 \rho`, the constant
    :math:`c_4(q) = \max(q, e, \exp(2 e^{1 - 2/q}))` will do. It equals q from q = 219 on. The derivation is ours; the
    paper says O(q). For other inputs, c₄ is the smallest number that fits the tails of the polynomials of
    :func:`moment_constant`.

    Arguments:
        inputs: the distribution.
        dim: d.
        degree: q.

    Reference: Allen-Zhu & Li (bfc), eq. (5.2), Lemma J.2.
    """
    require_whole("degree", degree)
    if inputs.hypercontractivity is not None:
        value = max(degree, math.e, math.exp(2 * math.exp(1 - 2 / degree)))
        return Constant("c4", degree, value, "bound", _THEOREM)
    f = _extreme_polynomials(inputs, dim, degree)
    ranks = torch.tensor(sorted({int(1.02**i) for i in range(int(math.log(len(f), 1.02)) + 1)}))
    t2 = ((f - f.mean(0)).square() / f.var(0)).sort(0, descending=True).values[ranks - 1]
    share = ranks[:, None].double() / len(f)  # of the points that lie at least so far out
    low, high = float(degree), 1e6

    def fits(c4: float) -> bool:
        return bool((share <= c4 * torch.exp(-((t2 / math.e**2) ** (1 / c4)))).all())

    while high - low > 1e-6 * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Constant("c4", degree, high, "estimate", _SOUGHT)


def degree_constant(inputs: QuadraticInputs, dim: int, degree: int) -> Constant:
    r"""The smallest c₁(q) ≥ 1 with :math:`\mathcal C_x(P_q) \le c_1(q)\,E P^2` for all polynomials P of degree q.

    Arguments:
        inputs: the distribution.
        dim: d.
        degree: q.

    Reference: Allen-Zhu & Li (bfc), eq. (5.4).
    """
    ratio, exact = leading_ratio(inputs, dim, degree)
    if exact:
        return Constant("c1", degree, max(1.0, ratio), "exact", "expansion in orthogonal polynomials")
    return Constant("c1", degree, max(1.0, ratio), "estimate", "second moments of monomials from draws")


_THEOREM = "hypercontractivity of polynomials"
_SOUGHT = "polynomials sought by ascent, measured on other draws"


def _extreme_polynomials(inputs: QuadraticInputs, dim: int, degree: int) -> torch.Tensor:
    """Values of polynomials that an ascent on E f¹² at E f² = 1 has found, at draws it has not seen, (n, starts)."""
    require_whole("dim", dim)
    count = math.comb(dim + degree, degree)
    require(
        count <= MOST_MONOMIALS,
        f"degree must leave at most {MOST_MONOMIALS} monomials in dimension {dim}, got {count} for degree {degree}",
    )
    stream = Stream(0).child("hypercontractivity")
    seen = values_of_monomials(inputs.draw(max(_BLOCK, 20 * count), dim, stream.child("seen")), degree)
    q, r = torch.linalg.qr(seen)
    keep = r.diagonal().abs() > 1e-9 * r.norm(dim=0)  # monomials that the ones before them determine are left out
    q, r = torch.linalg.qr(seen[:, keep])
    a = stream.child("starts").normal(q.shape[1], _STARTS, dtype=torch.float64)
    for _ in range(_ASCENTS):  # the objective is convex, so each step increases it
        f = q @ a
        a = q.T @ (f / f.abs().amax(0)).pow(11)
        a = a / a.norm(dim=0)
    a = torch.linalg.solve_triangular(r, a, upper=True)
    unseen = (inputs.draw(_BLOCK, dim, stream.child("unseen").at(step)) for step in range(_DRAWS // _BLOCK))
    return torch.cat([values_of_monomials(x, degree)[:, keep] @ a for x in unseen])


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709 else math.inf
