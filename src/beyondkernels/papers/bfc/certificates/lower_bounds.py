"""Which lower bound answers what is asked of a quadratic target."""

from __future__ import annotations

from typing import get_args

import torch

from beyondkernels.certificates import Certificate
from beyondkernels.core import InputError, require, shown
from beyondkernels.papers.bfc.certificates.neurons import NeuronCertificate
from beyondkernels.papers.bfc.certificates.sparse_targets import SparseTargetCertificate
from beyondkernels.papers.bfc.problems.hard import Shallow, even_target
from beyondkernels.papers.bfc.problems.target import QuadraticTarget


def certify_target(
    what: None,
    problem: QuadraticTarget,
    *,
    n: int | None = None,
    features: int | None = None,
    neurons: int | None = None,
) -> Certificate:
    """The certificate behind :meth:`bk.bfc.QuadraticTarget.certify`, which explains the arguments."""
    require(what is None, f"what must be None: the bounds hold for all predictors of a kind, got {shown(what)}")
    given = {name: each for name, each in (("n", n), ("features", features), ("neurons", neurons)) if each is not None}
    if len(given) != 1:
        raise InputError(f"one of n, features and neurons must be given, got {', '.join(given) or 'none'}")
    d, L, alpha = problem.dim, problem.depth, problem.alphas[-1]
    if neurons is None:
        require(
            is_sparse_target(problem),
            "problem must be a target that bk.bfc.sparse_target makes, on which Theorems I.1 and I.3 stand",
        )
        (functions,) = given.values()
        return SparseTargetCertificate(functions, d, L, alpha, "kernel" if features is None else "features")
    for theorem in get_args(Shallow):
        if problem == even_target(d, L, problem.alphas, theorem):
            return NeuronCertificate(neurons, d, L, alpha, theorem)
    raise InputError("problem must be a target that bk.bfc.even_target makes, on which Theorems I.6 and I.7 stand")


def is_sparse_target(problem: QuadraticTarget) -> bool:
    r"""Whether a target has one neuron in each layer, and rows with :math:`2^{L-1}` equal entries for the inputs."""
    p = 2 ** (problem.depth - 1)
    if problem.graph[0] != (1, 0) or set(problem.widths) != {1} or problem.relative or p > problem.dim:
        return False
    for (_, source), row in problem.weights.items():
        entries = row[row != 0]
        count = p if source < 2 else 1
        if len(entries) != count or not torch.allclose(entries, torch.full_like(entries, count**-0.5)):
            return False
    return True
