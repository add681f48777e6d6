"""Networks fitted to a quadratic target under the whole distribution of inputs: no sample, and an exact risk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.optimize
import torch

from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress, Tensors, require
from beyondkernels.core.constraints import at_most, positive
from beyondkernels.papers.bfc.networks import PolynomialTwoLayer, QuadraticDenseNet
from beyondkernels.papers.bfc.problems import GaussianInputs, QuadraticTarget

MOST_POINTS = 200_000
"""The most points of a grid."""

_MEMORY = 20  # past steps that L-BFGS keeps
_ABSENT = 1e-12  # directions of outputs below this, relative to the largest, are left out


@dataclass(frozen=True)
class PopulationFit(Learner):
    r"""Fits a polynomial network to a target under standard Gaussian inputs by L-BFGS on the exact risk.

    .. math:: E\bigl(h(x) - G^*(x)\bigr)^2 = \sum_{t} \omega_t \bigl(h(x_t) - G^*(x_t)\bigr)^2

    Target and network are polynomials, so a grid of Gauss–Hermite nodes with their weights gives the risk exactly. For
    a two-layer network, the coefficients of the outputs are the best ones at every step (a linear least-squares
    problem), and L-BFGS moves the hidden weights alone. The sample of the run is not used; its seed selects the start.

    Scalars: ``test_loss``, the exact risk at the end; ``iterations``, how many steps L-BFGS took; ``variance``, that of
    the target.

    Arguments:
        network: a two-layer polynomial network, or a quadratic DenseNet.
        iterations: the most steps.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.papers.bfc.problems import even_target
    >>> problem, stream = even_target(dim=3, depth=2, alphas=(1.0,)), Stream(0)
    >>> case = Case(problem, problem.sample(1, stream), problem.sample(1, stream), stream)
    >>> learner = PopulationFit(PolynomialTwoLayer(width=3, degree=2), iterations=100)
    >>> learner.fit(case, lambda _: None).scalars["test_loss"] < 1e-6
    True
    """

    network: PolynomialTwoLayer | QuadraticDenseNet
    iterations: Annotated[int, positive, at_most(100_000)] = 300

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a quadratic target with standard Gaussian inputs and that the grid is small."""
        self._nodes(problem)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem, nodes = case.problem, self._nodes(case.problem)
        assert isinstance(problem, QuadraticTarget)
        x, weights = hermite_grid(problem.in_dim, nodes)
        y, root = problem.target(x), weights.sqrt()
        variance = float(weights @ (y - weights @ y).square())
        params, buffers = self.network.init(problem.in_dim, 1, case.stream.child("init"))
        free = [name for name in params if not name.startswith("output.")]
        sizes = [params[name].numel() for name in free]

        def placed(flat: torch.Tensor) -> Tensors:
            parts = zip(free, flat.split(sizes), strict=True)
            return params | {name: part.view_as(params[name]) for name, part in parts}

        def completed(flat: torch.Tensor) -> Tensors:
            """The parameters, with the best outputs for these hidden weights where they are linear."""
            network, hidden = self.network, placed(flat)
            if isinstance(network, QuadraticDenseNet):
                return hidden
            with torch.no_grad():
                basis = _basis(network, hidden, buffers, x)
                best = _best_outputs(basis * root[:, None], y * root)
            return hidden | {"output.bias": best[:1], "output.weight": best[None, 1:]}

        def risk(flat: torch.Tensor) -> torch.Tensor:
            return weights @ (self.network.apply(completed(flat), buffers, x)[0][:, 0] - y).square() / variance

        start = torch.cat([params[name].flatten() for name in free])
        found, steps = _minimised(risk, start, self.iterations, progress)
        with torch.no_grad():
            ended, left = completed(found), float(risk(found)) * variance
        return Outcome(
            "finished" if math.isfinite(left) else "diverged",
            {"test_loss": left, "iterations": float(steps), "variance": variance},
            predictor=lambda points: self.network.apply(ended, buffers, points)[0],
        )

    def _nodes(self, problem: Problem) -> int:
        if not isinstance(problem, QuadraticTarget) or problem.inputs != GaussianInputs():
            raise InputError(f"problem must be a QuadraticTarget with standard Gaussian inputs, got {problem}")
        network = self.network
        if isinstance(network, QuadraticDenseNet):
            degree = 2**network.depth
        else:
            degree = network.degree * (2 if network.squares else 1)
        nodes = max(degree, 2**problem.depth) + 1
        require(
            nodes**problem.in_dim <= MOST_POINTS,
            f"dim must give a grid of at most {MOST_POINTS} points for an exact risk, got {nodes}^{problem.in_dim}",
        )
        return nodes


def hermite_grid(dim: int, nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Points and weights that integrate polynomials under the standard Gaussian, of degree 2·nodes − 1 in each entry.

    Arguments:
        dim: d.
        nodes: in each coordinate.

    Returns:
        Points (nodes^d, d) and weights (nodes^d,), float64.

    >>> x, weights = hermite_grid(2, 3)
    >>> round(float(weights @ (x[:, 0] ** 4 * x[:, 1] ** 2)), 12)
    3.0
    """
    line, masses = np.polynomial.hermite_e.hermegauss(nodes)
    masses = masses / masses.sum()
    points = torch.tensor(list(itertools.product(line.tolist(), repeat=dim)), dtype=torch.float64)
    weights = torch.tensor(list(itertools.product(masses.tolist(), repeat=dim)), dtype=torch.float64).prod(1)
    return points, weights


def _basis(network: PolynomialTwoLayer, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
    """One, and every polynomial of every neuron: the network with each output weight set to one in turn."""
    count = network.width * network.degree
    each = {"output.weight": torch.eye(count, dtype=x.dtype), "output.bias": torch.zeros(count, dtype=x.dtype)}
    return torch.cat([torch.ones(len(x), 1, dtype=x.dtype), network.apply(params | each, buffers, x)[0]], 1)


def _best_outputs(basis: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The least-squares coefficients; columns are scaled first, because degrees differ in size."""
    norms = torch.linalg.vector_norm(basis, dim=0).clamp(min=1e-300)
    found = torch.linalg.lstsq(basis / norms, wanted[:, None], rcond=_ABSENT, driver="gelsd").solution
    return found[:, 0] / norms


def _minimised(
    value: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor, iterations: int, progress: Progress
) -> tuple[torch.Tensor, int]:
    """Where L-BFGS ends, and after how many steps."""
    taken = itertools.count(1)

    def both(flat: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.from_numpy(flat.copy()).requires_grad_()
        out = value(at)
        (gradient,) = torch.autograd.grad(out, at)
        return (out.item(), gradient.numpy()) if math.isfinite(out.item()) else (1e300, np.zeros_like(flat))

    options = {"maxiter": iterations, "maxfun": 4 * iterations, "maxcor": _MEMORY, "ftol": 1e-15, "gtol": 1e-12}
    told = lambda _: progress(min(1.0, next(taken) / iterations))  # noqa: E731
    found = scipy.optimize.minimize(both, start.numpy(), jac=True, method="L-BFGS-B", callback=told, options=options)
    return torch.from_numpy(found.x), int(found.nit)
