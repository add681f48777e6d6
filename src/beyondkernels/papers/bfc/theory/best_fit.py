"""The best polynomials for a layered target: what a layer would learn alone from infinitely many points."""

from __future__ import annotations

import functools
import itertools

import torch

from beyondkernels.core import InputError, Stream, require
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from beyondkernels.papers.bfc.problems.toys import SecondToy
from beyondkernels.papers.bfc.theory.procrustes import linear_error

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


@functools.lru_cache(maxsize=64)
def best_terms(problem: LayeredProblem, terms: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """Coefficients of products of squares in the best polynomial of degree 4, and in the best second layer.

    Arguments:
        problem: the target with its inputs, whose squares are not centred.
        terms: the products, named as in :class:`bk.bfc.SecondLayer`: ``1-3`` is that of x₁²x₃².

    >>> from beyondkernels.papers.bfc.problems import FirstToy, UniformInputs
    >>> best_terms(FirstToy(inputs=UniformInputs(3**-0.5)), ("1-1", "1-3"))
    ({'1-1': 1.2935..., '1-3': 0.1714...}, {'1-1': 1.0535..., '1-3': 0.1719...})

    Reference: Allen-Zhu & Li (bfc), §1.2.
    """
    polynomial, form = best_polynomial(problem, 4), best_second_layer(problem)
    by_power = {tuple(i.tolist()): c.item() for i, c in zip(polynomial.exponents, polynomial.coefficients, strict=True)}
    places = {name: tuple(int(digit) - 1 for digit in name.split("-")) for name in terms}
    powers = {name: tuple(2 * place.count(k) for k in range(problem.in_dim)) for name, place in places.items()}
    return (
        {name: by_power.get(power, 0.0) for name, power in powers.items()},
        {name: form[i, j].item() * (1 if i == j else 2) for name, (i, j) in places.items()},
    )


@functools.lru_cache(maxsize=64)
def rotated_part(problem: SecondToy) -> float:
    """What cannot be read off the paper's two neurons (x₁² + 2x₂²)/√5 and (2x₁² − x₂²)/√5, from a fixed sample.

    It is the part of x₁⁴, x₂⁴ outside the span of their squares, and does not depend on α.

    Arguments:
        problem: the example with its inputs.

    Reference: Allen-Zhu & Li (bfc), §6.1.
    """
    x = problem.sample(20_000, Stream(0).child("rotated")).x
    wanted = problem.outputs(x)[2]
    left = linear_error(wanted, problem.rotated_features(x).square())
    return left / float(wanted.square().sum(1).mean())


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
