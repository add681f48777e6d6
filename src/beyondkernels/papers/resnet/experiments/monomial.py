"""What Figure 4 is made of: its settings, W* in closed form and by descent, and SGD on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.core.constraints import at_least, at_most, between, even, not_empty, positive
from beyondkernels.lab import At, Count, Counts, Seeds, Size, Sizes, scale, setting
from beyondkernels.papers.resnet.experiments.searching import SearchSettings
from beyondkernels.papers.resnet.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Learner, Outcome

Start = Literal["1/m", "1/d"]

DEGREE = 6
"""q, the degree of the monomial."""

_NOT_STATED = "not stated in the paper"
_TRAINED = "layer1.weight"


@dataclass(frozen=True)
class Fig4Settings(SearchSettings):
    """The numbers of Figure 4(a); the defaults are the paper's."""

    dim: Annotated[int, at_least(DEGREE)] = setting(40, "paper", "d")
    samples: Count = setting(5000, "paper", "N")
    widths: Annotated[Counts, even] = setting(
        (200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000), "paper", "m, each even"
    )
    epochs: Annotated[Counts, even] = setting(
        (800, 3200), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800"
    )
    batch: Count = setting(50, "ours", f"that of §8.1; {_NOT_STATED}")
    momentum: Annotated[float, between(0, 1, "[)")] = setting(0.9, "ours", f"that of §8.1; {_NOT_STATED}")
    start: Start = setting("1/m", "ours", f"variance of the weights, that of §8.1; {_NOT_STATED}")
    learning_rates: Sizes = setting(
        (0.5, 1.0, 2.0, 5.0, 10.0), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: Sizes = setting((5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4), "ours", "to begin with")
    rate_limits: Sizes = setting((0.05, 50.0), "ours", "the grid does not grow beyond")
    decay_limits: Sizes = setting((1e-7, 1e-2), "ours", "the grid does not grow beyond")
    search_seeds: Seeds = setting(1, "ours", f"1000, 1001, …: for the search alone; {_NOT_STATED}")
    seeds: Count = setting(3, "ours", f"0, 1, 2, …: for the chosen ones and W*; {_NOT_STATED}")
    construction_width: Annotated[int, at_least(64), even, at_most(100_000)] = setting(200, "paper", "m of W*")
    construction_steps: Count = setting(
        10_000, "ours", "of gradient descent on all 64 points; the rate falls by 10 half-way"
    )
    construction_rate: Size = setting(10.0, "ours")
    construction_decays: Annotated[tuple[float, ...], positive, not_empty] = setting(
        (1.5e-3, 1.2e-3, 1e-3, 9e-4, 8e-4, 7e-4, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4, 5e-5), "ours", "the path of W*"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")

    @property
    def other_start(self) -> Start:
        """The start that is not searched."""
        return "1/d" if self.start == "1/m" else "1/m"


@dataclass(frozen=True)
class Fig4bSettings(Fig4Settings):
    """The numbers of Figure 4(b)."""

    dim: Annotated[int, at_least(DEGREE)] = setting(100, "paper", "d")
    samples: Count = setting(50_000, "paper", "N")
    widths: Annotated[Counts, even] = setting(
        (200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000), "paper", "m, each even"
    )
    epochs: Annotated[Counts, even] = setting(
        (200, 800), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800"
    )
    batch: Count = setting(100, "paper")
    weight_decays: Sizes = setting(
        (1e-8, 1e-7, 1e-6, 1e-5, 5e-5, 2e-4), "ours", "to begin with; a wide network fits the sample from 10⁻⁷ down"
    )
    decay_limits: Sizes = setting((1e-8, 1e-2), "ours", "the grid does not grow beyond")


SMOKE = scale(
    dim=8,
    samples=200,
    widths=(8, 16),
    epochs=(4, 8),
    batch=20,
    learning_rates=(0.1, 0.5),
    weight_decays=(1e-4, 1e-3),
    rate_limits=(0.1, 1.0),
    decay_limits=(1e-4, 2e-3),
    seeds=2,
    validation_samples=100,
    test_samples=200,
    construction_width=64,
    construction_steps=400,
    construction_decays=(1e-3, 3e-4),
)
"""What differs at smoke scale in both parts."""


def targets() -> list[tuple[float, float]]:
    """The paper's errors and norms of W*.

    >>> targets()
    [(0.12, 9.7), (0.037, 12.5), (0.011, 13.8)]
    """
    printed = PAPER.printed("figure4")
    return list(zip(printed["error"], printed["norm_over_sqrt_d"], strict=True))


def closed_form_spec(s: Fig4Settings, at: At) -> RunSpec:
    """The closed form at the figure's dimension; the seed only draws the points it is looked at."""
    learner = bk.resnet.ClosedForm(at.width, at.aim)
    return RunSpec(bk.resnet.Monomial(s.dim), learner, 1, s.test_samples, at.seed)


def descent_spec(s: Fig4Settings, at: At) -> RunSpec:
    """W trained by gradient descent on all points of the six relevant inputs, as in footnote 16."""
    steps = s.construction_steps
    learner = _trained(s, at, DEGREE, s.start, steps, steps // 2)
    return RunSpec(bk.resnet.AllPoints(DEGREE), learner, 2**DEGREE, 2**DEGREE, at.seed)


def sgd_spec(s: Fig4Settings, at: At) -> RunSpec:
    """W trained by SGD on a sample."""
    in_epoch = s.samples // s.batch
    learner = _trained(s, at, s.dim, at.start, at.epochs * in_epoch, at.epochs // 2 * in_epoch, s.batch)
    problem = bk.resnet.Monomial(s.dim)
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (), s.validation_samples)


def _trained(
    s: Fig4Settings, at: At, dim: int, start: Start, steps: int, drop: int, batch: int | None = None
) -> Learner:
    """aᵀσ(Wx) with a of ±1/√m, half of each sign, and W, the part that is trained, from N(0, 1/m) or N(0, 1/d)."""
    variance = 1 / at.width if start == "1/m" else 1 / dim
    scales = bk.networks.Parameterisation("standard", weight_variance=variance, input_fan_in=1)
    network = bk.networks.FullyConnected(at.width, depth=2, parameterisation=scales, readout="signs")
    loss = bk.algorithms.Squared()
    rule = bk.algorithms.GradientDescent(
        steps, at.learning_rate, batch, s.momentum, at.weight_decay, "hidden", loss, (drop,)
    )
    return bk.measure.NormedNetwork(network, rule, snapshot_at=(steps,), snapshot_names=(_TRAINED,), backend=s.backend)


def closed_form_row(s: Fig4Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Its errors are on points of the figure's dimension, where all points have the same."""
    found = outcome.scalars
    return _made(s, f"W* in closed form, R = {at.aim:g}", outcome, found.get("risk"), found.get("norm"))


def descent_row(s: Fig4Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Training and test error are the risk."""
    return _made(s, "W* by descent", outcome, outcome.scalars.get("test_loss"), norm_of(outcome, DEGREE))


def sgd_row(s: Fig4Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Errors and norm of a network trained by SGD on a sample."""
    what = "SGD" if at.start == s.start else "SGD from the other start"
    return {"what": what, **_errors(outcome, "train", "test", "validation"), "norm": norm_of(outcome, s.dim)}


def _made(s: Fig4Settings, what: str, outcome: Outcome, risk: float | None, norm: float | None) -> dict[str, Any]:
    errors = _errors(outcome, "train", "test")
    return {"what": what, "role": "made", "risk": risk, **errors, "norm": norm, "start": s.start}


def _errors(outcome: Outcome, *names: str) -> dict[str, float | None]:
    return {f"{name}_error": outcome.scalars.get(f"{name}_loss") for name in names}


def norm_of(outcome: Outcome, dim: int) -> float | None:
    """‖W‖_F/√d at the end; None if the run diverged."""
    if outcome.status != "finished":
        return None
    return outcome.at(f"norm/{_TRAINED}", int(outcome.scalars["steps"])) / dim**0.5
