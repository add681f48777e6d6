"""The best polynomials for a layered target: what a layer would learn alone from infinitely many points."""

from __future__ import annotations

import itertools

import torch

from beyondkernels.core import InputError, require
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.problems.polynomials import Polynomials

_ITERATIONS = 20_000
_TOLERANCE = 1e-13


def best_polynomial(problem: LayeredProblem, degree: int) -> Polynomials:
    r"""The polynomial of bounded degree that is closest to the target.

    .. math:: \arg\min_{\deg P \le D}\; E\bigl(P(x) - G^\star(x)\bigr)^2

    It is exact: both are expanded in the orthonormal polynomials of the inputs. The inputs must have independent
    coordinates of one law.

    Arguments:
        problem: the target with its inputs.
        degree: D.

    >>> from beyondkernels.papers.bfc.problems import FirstToy
    >>> best = best_polynomial(FirstToy(), 4)
    >>> {tuple(i.tolist()): round(c.item(), 6) for i, c in zip(best.exponents, best.coefficients) if i[2] == 4}
    {(0, 0, 4): 0.1}

    Reference: Allen-Zhu & Li (bfc), §1.2, "Insufficiency of forward feature learning".
    """
    d = problem.in_dim
    require(degree >= 0, f"degree must not be negative, got {degree}")
    exponents = [i for i in itertools.product(range(degree + 1), repeat=d) if sum(i) <= degree]
    monomials = Polynomials(torch.tensor(exponents, dtype=torch.uint8), torch.eye(len(exponents)).double())
    wanted = _target(problem)
    basis, target = _expanded(problem, monomials, wanted)
    found = torch.linalg.lstsq(basis, target[:, None]).solution
    there = found.abs().amax(1) > _TOLERANCE * found.abs().max()
    return Polynomials(monomials.exponents[there], found[there])


def best_second_layer(problem: LayeredProblem) -> torch.Tensor:
    r"""The quadratic form of :math:`G_1` that is closest to the target among those that layer 2 can have.

    .. math:: \arg\min_{A \succeq 0}\; E\bigl(G_1(x)^\top A\, G_1(x) - G^\star(x)\bigr)^2

    A second layer with at least d neurons is :math:`\mathrm{Sum}(G_2) = G_1^\top M^\top M G_1`, so this is what it
    learns alone from infinitely many points. The problem is convex, and alternating directions (ADMM) solve it.

    Arguments:
        problem: the target with its inputs.

    Returns:
        A, (d, d). The target's own is :math:`W^{\star\top}_{2,1} W^\star_{2,1}`.

    >>> from beyondkernels.papers.bfc.problems import FirstToy, UniformInputs
    >>> best_second_layer(FirstToy(inputs=UniformInputs(3**-0.5))).diagonal()
    tensor([1.0536, 2.3149, 0.0243], dtype=torch.float64)

    Reference: Allen-Zhu & Li (bfc), §1.2 and §6.1.
    """
    d = problem.in_dim
    i, j = torch.triu_indices(d, d).unbind()
    twice = 1.0 + (i != j).double()  # how often the form holds each entry
    basis, target = _expanded(problem, _products(problem, i, j).mixed(torch.diag(twice)), _target(problem))

    def matrix(entries: torch.Tensor) -> torch.Tensor:
        A = torch.zeros(d, d, dtype=torch.float64)
        A[i, j] = A[j, i] = entries
        return A

    def projected(entries: torch.Tensor) -> torch.Tensor:
        values, vectors = torch.linalg.eigh(matrix(entries))
        return (vectors @ torch.diag(values.clamp(min=0)) @ vectors.T)[i, j]

    gram, right = basis.T @ basis, basis.T @ target
    free = torch.linalg.solve(gram, right)
    found, dual = projected(free), torch.zeros_like(free)
    if torch.linalg.eigvalsh(matrix(free)).min() >= 0:
        return matrix(free)
    weight = torch.linalg.eigvalsh(gram).log().mean().exp() * torch.diag(twice)
    for _ in range(_ITERATIONS):
        near = torch.linalg.solve(gram + weight, right + weight @ (found - dual))
        before, found = found, projected(near + dual)
        dual = dual + near - found
        if max((found - before).abs().max(), (near - found).abs().max()) <= _TOLERANCE * found.abs().max():
            break
    return matrix(found)


def _products(problem: LayeredProblem, i: torch.Tensor, j: torch.Tensor) -> Polynomials:
    """The products G₁ᵢ G₁ⱼ as polynomials in x, from 4ab = (a + b)² − (a − b)²."""
    ground = Polynomials.variables(problem.in_dim).squared()
    ground = ground.plus_constants(-torch.tensor(problem.second_moments, dtype=torch.float64))
    eye = torch.eye(problem.in_dim, dtype=torch.float64)
    quarter = torch.eye(len(i), dtype=torch.float64) / 4
    sums, differences = (ground.mixed(rows).squared() for rows in (eye[i] + eye[j], eye[i] - eye[j]))
    return sums.mixed(quarter).plus(differences.mixed(-quarter))


def _target(problem: LayeredProblem) -> Polynomials:
    """G* as one polynomial in x."""
    parts = [
        features.squared_norm().mixed(torch.tensor([[scale]], dtype=torch.float64))
        for features, scale in zip(problem.polynomials().values(), problem.scales, strict=True)
    ]
    return parts[0].plus(*parts[1:])


def _expanded(problem: LayeredProblem, basis: Polynomials, target: Polynomials) -> tuple[torch.Tensor, torch.Tensor]:
    """Coefficients of the basis (terms, k) and the target (terms,) in the inputs' orthonormal polynomials."""
    part, *others = problem.inputs.parts(problem.in_dim) or (None,)
    kind = type(problem.inputs).__name__
    std = torch.ones(0) if part is None else part.root.diagonal()
    if part is None or others or not torch.equal(part.root, torch.diag(std)):
        raise InputError(f"inputs must have independent coordinates of one law, got {kind}")
    k = basis.coefficients.shape[1]
    wide = torch.eye(k + 1, dtype=torch.float64)
    both = basis.mixed(wide[:, :k]).plus(target.mixed(wide[:, k:]))
    sizes = (std ** both.exponents.double()).prod(1, keepdim=True)  # monomials of x = Σu as monomials of u
    found = Polynomials(both.exponents, both.coefficients * sizes).expanded(part.law).coefficients
    return found[:, :k], found[:, k]
