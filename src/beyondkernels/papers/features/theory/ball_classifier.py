"""The best linear model on given features with bounded weights, with what is known of its loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import torch

from beyondkernels.certificates.span import require_enumerable
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, accuracy, require, shown
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.data.inputs import corners
from beyondkernels.kernels import FeatureOperator, FeatureSource
from beyondkernels.papers.features.theory.fixed_maps import FixedMap, require_parity
from beyondkernels.papers.features.theory.hinge_ball import least_hinge_loss

_ROUNDING = 1e-9
"""By how much a feature may exceed 1."""

_COPIES = 4
"""How many copies of the features are held at once."""


@dataclass(frozen=True)
class BallClassifier(Learner):
    r"""For each B, the linear model :math:`\langle\Psi(x), w\rangle` with :math:`|w| \le B` and the least hinge loss.

    Arrays of the outcome, with a number for each B: ``upper`` and ``lower``, the primal and the dual value of the
    convex problem; ``used``, the norm of w; ``test_loss`` and ``test_error``, hinge loss and standard error of w on the
    test sample; for a :class:`FixedMap` ``floor``, a dual value of the whole distribution in closed form
    (:func:`population_floor`); and if ``exact`` also ``mean_floor`` (:func:`mean_floor`). Its scalars are losses and
    accuracies at the largest B, ``features`` (N) and ``largest``, the largest feature on the training sample.

    Over a sample, the least loss may lie below that over the distribution: w fits the points. So ``lower`` says
    nothing of the distribution, unless ``exact``. What does are ``floor`` and ``test_loss``: no model in the ball has a
    loss below the first, and this one has the second, up to its standard error.

    Arguments:
        features: Ψ.
        norms: B, in rising order.
        exact: whether to solve the problem over all patterns with their probabilities, not over the training sample.
        rescaled: whether to divide the features by their largest value on the training sample, for features that were
            learned. Others must lie in [−1, 1].
        tolerance: the largest duality gap.
        memory: bytes that the features may take.

    >>> import beyondkernels as bk
    >>> learner = BallClassifier(bk.features.FixedNeurons(8), norms=(1.0, 2.0), exact=True)
    >>> run = bk.fit(learner, bk.features.DictionaryParity(6, 6, relevant=3), n=10, test=100, progress=False)
    >>> bool((run.outcome.arrays["lower"] >= run.outcome.arrays["floor"] - 1e-9).all())
    True

    Reference: Shi, Wei & Liang (features), Theorem 2.
    """

    features: FeatureSource
    norms: Annotated[tuple[float, ...], positive, rising, not_empty]
    exact: bool = False
    rescaled: bool = False
    tolerance: Annotated[float, positive] = 1e-3
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Whether features fit the problem, all patterns can be listed where they must, and the memory suffices."""
        require(samples > 0 and test_samples > 0, f"samples must be at least 1, got {samples} and {test_samples}")
        if not isinstance(self.features, FixedMap):
            require(not self.exact, f"features must be a FixedMap for an exact solution, got {shown(self.features)}")
            return
        size = self.features.size(require_parity(problem)[0].patterns)
        if self.exact:
            require_enumerable(require_parity(problem)[0].patterns, size)
        needed = _COPIES * 8 * (samples + test_samples) * size
        require(
            needed <= self.memory,
            f"memory must be at least {needed} bytes for {size} features of {samples + test_samples} points, "
            f"got {self.memory}",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Solve the problem for every B, each from the solution of the one before."""
        make = self.features.feature_map(case)
        train, test = (_matrix(make(sample.x)) for sample in (case.train, case.test))
        largest = float(train.abs().max())
        if self.rescaled and largest > 0:
            train, test = train / largest, test / largest
        require(
            self.rescaled or largest <= 1 + _ROUNDING, f"features must lie in [−1, 1], got {largest:.4g} as the largest"
        )
        solved, labels, weights = train, case.train.y, None
        if self.exact:
            z, labels, weights = every_pattern(case.problem)
            assert isinstance(self.features, FixedMap)
            solved = self.features.values(z)
        found: dict[str, list[float]] = {name: [] for name in ("upper", "lower", "used", "test_loss", "test_error")}
        w = None
        for i, norm in enumerate(self.norms):
            best = least_hinge_loss(solved, labels, norm, probabilities=weights, tolerance=self.tolerance, start=w)
            w = best.weights
            losses = (1 - case.test.y.double() * (test @ w)).clamp(min=0)
            error = float(losses.std()) / len(losses) ** 0.5 if len(losses) > 1 else float("nan")
            for name, value in zip(
                found, (best.upper, best.lower, float(w.norm()), float(losses.mean()), error), strict=True
            ):
                found[name].append(value)
            progress((i + 1) / len(self.norms))
        assert w is not None
        scalars = {
            "train_loss": float((1 - case.train.y.double() * (train @ w)).clamp(min=0).mean()),
            "test_loss": found["test_loss"][-1],
            "train_accuracy": accuracy(train @ w, case.train.y),
            "test_accuracy": accuracy(test @ w, case.test.y),
            "features": float(train.shape[1]),
            "largest": largest,
        }
        if isinstance(self.features, FixedMap):
            found["floor"] = population_floor(self.features, case.problem, self.norms)
        if self.exact:
            found["mean_floor"] = mean_floor(solved, case.problem, self.norms)
        return Outcome("finished", scalars, arrays={name: np.array(values) for name, values in found.items()})


def population_floor(features: FixedMap, problem: Problem, norms: tuple[float, ...]) -> list[float]:
    r"""What no linear model with :math:`|w| \le B` falls below on the whole distribution, for each B.

    .. math:: \max\bigl(p_o(1 - B|c_A|),\ 1 - B\,|p_o c_A + (1 - p_o) e_A|\bigr)

    :math:`c_A` and :math:`e_A` are E[yΨ] over the two parts of the mixture. Both are dual values: the first with α = 1
    on the uniform part alone, the second with α = 1 everywhere.

    Arguments:
        features: Ψ.
        problem: of App. C.
        norms: B.
    """
    known, share = require_parity(problem)
    first, second = features.correlations(known)
    both = float((share * first + (1 - share) * second).norm())
    return [max(share * (1 - norm * float(first.norm())), 1 - norm * both) for norm in norms]


def mean_floor(values: torch.Tensor, problem: Problem, norms: tuple[float, ...]) -> list[float]:
    r"""The mean over all A of :math:`p_o(1 - B|c_A|)`, the dual value that Theorem 2 bounds, for each B.

    The correlations :math:`c_A` with all parities come from one Walsh–Hadamard transform.

    Arguments:
        values: Ψ at all sign vectors, in the order of :func:`every_pattern`, shape (2^D, N).
        problem: gives D, k and :math:`p_o`.
        norms: B.
    """
    known, share = require_parity(problem)
    mean = float(parity_norms(values, known.relevant).mean())
    return [share * (1 - norm * mean) for norm in norms]


def parity_norms(values: torch.Tensor, relevant: int) -> torch.Tensor:
    """The norm of the correlations c_A for every set A of k patterns, shape (C,).

    Arguments:
        values: Ψ at all sign vectors, in the order of :func:`every_pattern`, shape (2^D, N).
        relevant: k.
    """
    patterns = len(values).bit_length() - 1
    found = values / len(values)
    for j in range(patterns):
        pairs = found.reshape(-1, 2, 2**j, values.shape[1])
        found = torch.stack([pairs[:, 1] + pairs[:, 0], pairs[:, 1] - pairs[:, 0]], 1).reshape(values.shape)
    chosen = (torch.arange(len(values))[:, None] >> torch.arange(patterns) & 1).sum(1) == relevant
    return found[chosen].norm(dim=1)


def every_pattern(problem: Problem) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All sign vectors z (2^D, D), their labels and their probabilities.

    Arguments:
        problem: gives D, A and the distribution of the patterns.
    """
    known, _ = require_parity(problem)
    z = corners(known.patterns)
    present = z > 0
    probabilities = torch.zeros(len(z), dtype=torch.float64)
    for part in known.hidden.products(known.patterns, known.relevant_set):
        p = part.probabilities
        probabilities += part.weight * torch.where(present, p, 1 - p).prod(1)
    return z, known.label_of({"patterns": present.to(torch.int8)}).double(), probabilities


def _matrix(operator: FeatureOperator) -> torch.Tensor:
    matrix = operator.matrix()
    require(matrix is not None, "features must be given as a matrix, got an operator without one")
    assert matrix is not None
    return matrix.double()
