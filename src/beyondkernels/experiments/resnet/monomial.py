"""What Figure 4 is made of: the two-layer network, W* in closed form, and the problem of all points at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import beyondkernels as bk
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Sample, require, require_between

if TYPE_CHECKING:
    import torch

    from beyondkernels.core import Stream
    from beyondkernels.networks import FullyConnected

DEGREE = 6
"""q, the degree of the monomial."""

_TRAINED = "layer1.weight"


@dataclass(frozen=True)
class AllPoints(Problem):
    """The monomial of all its inputs, whose sample is every point of the cube once: its error is the risk itself.

    Arguments:
        degree: how many inputs.

    >>> AllPoints(2).sample(4, None).y.tolist()
    [1.0, -1.0, -1.0, 1.0]
    """

    identity: ClassVar[str] = "beyondkernels.experiments.resnet.fig4.specs:AllPoints"

    degree: int = DEGREE

    @property
    def in_dim(self) -> int:
        """As many as the degree."""
        return self.degree

    @property
    def out_dim(self) -> int:
        """One."""
        return 1

    def sample(self, n: int, stream: Stream | None) -> Sample:
        """All points; n must be their number, and nothing is drawn."""
        require(n == 2**self.degree, f"n must be {2**self.degree}, the number of all points, got {n}")
        problem = bk.problems.Monomial(self.degree, self.degree)
        x = problem.inputs.points(n)
        assert x is not None, "the cube can be listed"
        return Sample(x.float(), problem.target(x)[:, 0].float())


@dataclass(frozen=True)
class ClosedForm(Learner):
    """The least network of a given risk on the six relevant inputs, made wider, and padded to the problem's inputs.

    At widths that are no multiple of 64 some rows are repeated more often than others, and the norm is slightly larger.

    Its outcome has ``risk``, the mean over all points of the six inputs, the errors on both samples of the problem it
    is given, and ``norm``, ‖W‖_F/√d of the padded weights.

    Arguments:
        width: m, even, at least 64.
        risk: from 0 to 1.

    >>> run = bk.fit(ClosedForm(width=200, risk=0.12), bk.problems.Monomial(40), n=1, test=10)
    >>> {name: round(value, 4) for name, value in run.outcome.scalars.items()}
    {'risk': 0.12, 'train_loss': 0.12, 'test_loss': 0.12, 'norm': 8.5773}
    """

    identity: ClassVar[str] = "beyondkernels.experiments.resnet.fig4.construction:ClosedForm"

    width: int
    risk: float

    def __post_init__(self) -> None:
        require_between("risk", self.risk, 0, 1)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Make it, and measure it."""
        from beyondkernels.problems import Monomial

        problem = case.problem
        require(isinstance(problem, Monomial), f"problem must be a Monomial, got a {type(problem).__name__}")
        assert isinstance(problem, Monomial)
        W, a = closed_form(self.width, self.risk)
        padded = problem.padded(W)

        def error(sample: Sample) -> float:
            y = sample.y.double()
            x = y.new_tensor(1 / math.sqrt(problem.dim)) * sample.x.double().sign()  # a float32 input is not exactly it
            return float((_apply(padded, a, x) - y).square().mean())

        exact = Monomial(DEGREE).risk(lambda x: _apply(W, a, x), dtype=W.dtype)
        scalars = {
            "risk": exact.value,
            "train_loss": error(case.train),
            "test_loss": error(case.test),
            "norm": float(padded.norm()) / math.sqrt(problem.dim),
        }
        return Outcome("finished", scalars)


def network_of(width: int, in_dim: int, start: Literal["1/m", "1/d"]) -> FullyConnected:
    """aᵀσ(Wx) with a of ±1/√m, half of each sign, and W from N(0, 1/m) or N(0, 1/d)."""
    variance = 1 / width if start == "1/m" else 1 / in_dim
    scales = bk.networks.Parameterisation("standard", weight_variance=variance, input_fan_in=1)
    return bk.networks.FullyConnected(width, depth=2, parameterisation=scales, readout="signs")


def closed_form(width: int, risk: float) -> tuple[torch.Tensor, torch.Tensor]:
    """W (m, 6) and a (m,) of the least network of that risk, its rows repeated up to the width."""
    from beyondkernels.problems.resnet import widened
    from beyondkernels.theory.resnet.minimal_norm import minimal_network

    return widened(*minimal_network(DEGREE, 1 - math.sqrt(risk)), width)


def least_norm(risk: float) -> float:
    """A lower bound on ‖W‖_F/√d of any network with that risk, attained where 64 divides the width.

    >>> round(least_norm(0.12), 2)
    8.54
    """
    from beyondkernels.theory.resnet.minimal_norm import least_norm as bound

    return bound(risk, DEGREE)


def norm_of(outcome: Outcome, dim: int) -> float | None:
    """‖W‖_F/√d at the end; None if the run diverged."""
    if outcome.status != "finished":
        return None
    return outcome.at(f"norm/{_TRAINED}", int(outcome.scalars["steps"])) / dim**0.5


def _apply(W: torch.Tensor, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (x @ W.T).relu() @ a
