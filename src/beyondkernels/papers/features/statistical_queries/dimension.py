"""The statistical-query dimension of a class of functions, by its definition."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch

from beyondkernels.core import InputError, require, require_whole
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.statistical_queries.population import listed

LARGEST_CLASS = 2000
"""The most functions whose correlations are listed."""

_ROUNDING = 1e-12
_EFFORT = 200_000
"""How many branches a search for a clique may follow."""

_DEEPEST = 400
"""The most nodes of a clique that a search looks for branch by branch."""


@dataclass(frozen=True)
class Dimension:
    """What is known of a statistical-query dimension.

    Arguments:
        lower: it is at least this: so many functions were found.
        upper: it is at most this.
        functions: which were found, as rows of the class.
    """

    lower: int
    upper: int
    functions: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether both bounds agree."""
        return self.lower == self.upper

    def __str__(self) -> str:
        return f"{self.lower}" if self.exact else f"between {self.lower} and {self.upper}"


def class_correlations(problem: DictionaryProblem) -> torch.Tensor:
    r"""The correlations of the labels of all sets A of k patterns, under one distribution of patterns.

    .. math:: \Pr[c_i(x) = c_j(x)] - \Pr[c_i(x) \ne c_j(x)] = E[c_i(x) c_j(x)], \qquad c \in \{-1, 1\}

    Arguments:
        problem: gives k, the label set P and the distribution, in which all patterns must be alike. The structured
            mixture depends on A, so the definition does not apply to it.

    >>> from beyondkernels.papers.features.problems import DictionaryParity
    >>> class_correlations(DictionaryParity(4, 4, relevant=2).without_structure()).sum().item()
    6.0
    """
    D, k = problem.patterns, problem.relevant
    require(
        math.comb(D, k) <= LARGEST_CLASS,
        f"the class must have at most {LARGEST_CLASS} functions to list their correlations, got {math.comb(D, k)} sets "
        f"of {k} out of {D} patterns",
    )
    for part in problem.hidden.products(D, problem.relevant_set):
        require(
            bool((part.probabilities == part.probabilities[0]).all()),
            "problem must have one distribution of patterns for all sets A, since the dimension is defined for one; "
            f"got {type(problem.hidden).__name__}, try problem.without_structure()",
        )
    sample, weights = listed(problem)
    present, signs = sample.hidden["patterns"].double(), problem.labels.signs(k)
    values = torch.stack([signs[present[:, list(A)].sum(1).long()] for A in itertools.combinations(range(D), k)])
    return (values * weights) @ values.T


def dimension(correlations: torch.Tensor, effort: int = _EFFORT) -> Dimension:
    r"""SQ-DIM: the largest d such that the class has d functions with all correlations at most :math:`1/d^3`.

    .. math:: |\Pr[c_i = c_j] - \Pr[c_i \ne c_j]| \le 1/d^3 \qquad (i \ne j)

    For each d the functions are the nodes of a graph, and nearly uncorrelated ones are joined. A branch-and-bound
    search looks for d nodes that are all joined. If d works, so does d − 1, so halving finds the largest. An upper
    bound without search is the rank of the matrix: d such functions are linearly independent, because
    :math:`(d - 1)/d^3 < 1`.

    Arguments:
        correlations: of all pairs, a symmetric matrix with a diagonal of ones.
        effort: how many branches a search may follow before the answer is left open.

    >>> print(dimension(torch.eye(5, dtype=torch.float64)))
    5
    >>> print(dimension(torch.tensor([[1.0, 0.12, 0.2], [0.12, 1.0, 0.0], [0.2, 0.0, 1.0]])))
    2

    Reference: Blum et al. (1994), Definition 2; Shi, Wei & Liang (features), Definition 31.
    """
    C = _checked(correlations)
    require_whole("effort", effort)
    upper = int(torch.linalg.matrix_rank(C, hermitian=True))
    sizes = C.abs()
    sizes.fill_diagonal_(math.inf)
    found: tuple[int, ...] = (0,)
    works, fails, d = 1, upper + 1, upper
    while fails - works > 1:
        clique = _clique((sizes <= d**-3.0 + _ROUNDING).tolist(), d, effort)
        if clique is None:
            return Dimension(works, fails - 1, found)
        if clique:
            works, found = d, clique
        else:
            fails = d
        d = (works + fails) // 2
    return Dimension(works, works, found)


def _checked(correlations: torch.Tensor) -> torch.Tensor:
    if not isinstance(correlations, torch.Tensor) or correlations.ndim != 2:
        raise InputError("correlations must be a matrix, a tensor with two dimensions")
    C = correlations.double()
    require(
        0 < len(C) <= LARGEST_CLASS and C.shape[0] == C.shape[1],
        f"correlations must be a square matrix of 1 to {LARGEST_CLASS} functions, got shape {tuple(C.shape)}",
    )
    symmetric = torch.allclose(C, C.T, rtol=0, atol=1e-9)
    require(
        symmetric and torch.allclose(C.diagonal(), torch.ones(len(C), dtype=C.dtype), rtol=0, atol=1e-9),
        "correlations must be symmetric with a diagonal of ones",
    )
    return C


def _clique(joined: list[list[bool]], wanted: int, effort: int) -> tuple[int, ...] | None:
    """So many nodes that are all joined; an empty tuple if there are none; None where the effort does not suffice.

    Taking the first node that fits again and again often finds them. Otherwise all branches are followed.
    Nodes are coloured so that no two of a colour are joined. A clique has at most one node of each colour, which bounds
    what a branch can reach (Tomita & Seki, 2003).
    """
    near = [sum(1 << j for j, edge in enumerate(row) if edge) for row in joined]
    greedy: tuple[int, ...] = ()
    common = (1 << len(joined)) - 1
    while common and len(greedy) < wanted:
        node = (common & -common).bit_length() - 1
        greedy, common = (*greedy, node), common & near[node]
    if len(greedy) == wanted:
        return greedy
    if wanted > _DEEPEST:
        return None
    left = effort

    def search(chosen: tuple[int, ...], among: int) -> tuple[int, ...] | None:
        nonlocal left
        left -= 1
        if left < 0:
            return None
        if len(chosen) == wanted:
            return chosen
        for node, colours in reversed(_coloured(near, among)):
            if len(chosen) + colours < wanted:
                return ()
            found = search((*chosen, node), among & near[node])
            if found is None or found:
                return found
            among &= ~(1 << node)
        return ()

    return search((), (1 << len(joined)) - 1)


def _coloured(near: list[int], among: int) -> list[tuple[int, int]]:
    """The nodes in the order of their colours, each with the number of colours up to its own."""
    order, colour = [], 0
    while among:
        colour += 1
        free = among
        while free:
            node = (free & -free).bit_length() - 1
            order.append((node, colour))
            among &= ~(1 << node)
            free &= ~(1 << node) & ~near[node]
    return order
