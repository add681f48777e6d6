"""What Theorems 2 and 3 share: their settings, exact best risks, and networks on the same targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, rising
from beyondkernels.lab import At, Backend, Count, Seeds, Size, setting
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.kernels import Kernel, RandomFeatures
    from beyondkernels.networks import ThreeLayerResNet
    from beyondkernels.papers.resnet.problems import HardInstance

NETWORK = "network"

PAPER_SHARE, PAPER_TARGETS, THRESHOLD = 1000, 0.99, 16
"""The theorems: for N or D up to C/1000, at least 99 % of the targets have a risk above α²/16."""

MOST_FUNCTIONS = 5000
"""The most points or features of one run."""

Dim = Annotated[int, at_least(2), at_most(500)]
Outputs = Annotated[int, at_least(2), at_most(500)]


@dataclass(frozen=True)
class ExactRiskSettings(Checked):
    """The numbers that both theorems have."""

    alpha: Annotated[float, between(0.001, 1, "[)")] = setting(0.3, "ours", "α, as in §8.1")
    shares: Annotated[tuple[float, ...], between(0, 1, "(]"), rising, not_empty] = setting(
        (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0), "ours", "N/C or D/C, rounded down, at least one"
    )
    targets: Annotated[int, at_least(1), at_most(20_000)] = setting(
        2000, "ours", "whose risks are listed; all, if there are no more"
    )
    rate: Size = setting(0.05, "ours", "learning rate; chosen with instances and seeds 100 to 103")
    decay: Size = setting(0.003, "ours", "weight decay; chosen likewise")
    momentum: Annotated[float, between(0, 1, "[)")] = setting(0.9, "ours", "as in §8.1")
    batch: Count = setting(50, "ours", "as in §8.1; all points, where there are fewer")
    steps: Annotated[int, at_least(2)] = setting(8000, "ours", "of SGD; the rate falls by 10 after half of them")
    exact_seeds: Seeds = setting(3, "ours", "how many of the seeds have exact risks too: they differ little")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: of target, points and start")
    test_samples: Count = setting(10_000, "ours", "fresh points for the network's risk")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    @property
    def threshold(self) -> float:
        """The theorems' risk, α²/16."""
        return self.alpha**2 / THRESHOLD


def class_size(dim: int, outputs: int) -> int:
    """The number C of targets."""
    require(outputs <= dim, f"outputs must not exceed the dimension {dim}, got {outputs}")
    return math.comb(dim, outputs)


def numbers_of(shares: Sequence[float], targets: int) -> tuple[int, ...]:
    """N or D for these shares of C, each once.

    >>> numbers_of((0.001, 0.1, 1.0), 364)
    (1, 36, 364)
    """
    found = tuple(dict.fromkeys(max(1, math.floor(share * targets + 1e-9)) for share in shares))
    require(
        found[-1] <= MOST_FUNCTIONS,
        f"shares of the {targets} targets must be at most {MOST_FUNCTIONS} points or features, got {found[-1]}; a "
        "smaller dimension would do",
    )
    return found


def problem_of(s: ExactRiskSettings, dim: int, outputs: int, at: At) -> HardInstance:
    """The hard instance (7.1) on uniform signs, each seed with a target of its own."""
    return bk.resnet.HardInstance(dim, outputs, s.alpha, instance=at.seed)


def network_of(width: int) -> ThreeLayerResNet:
    """The three-layer ResNet of §8.1."""
    start = bk.networks.popular_initialisation(width)
    return bk.networks.ThreeLayerResNet(width, "bottleneck", parameterisation=start)


def network_spec(s: ExactRiskSettings, problem: HardInstance, width: int, samples: int, at: At) -> RunSpec:
    """The three-layer ResNet trained by SGD in all layers."""
    rule = bk.algorithms.GradientDescent(
        s.steps, s.rate, min(s.batch, samples), s.momentum, s.decay, "all", bk.algorithms.Squared(), (s.steps // 2,)
    )
    learner = bk.engine.TrainedNetwork(network_of(width), rule, backend=s.backend)
    return RunSpec(problem, learner, samples, s.test_samples, at.seed)


def exact_spec(
    s: ExactRiskSettings, problem: HardInstance, what: Kernel | RandomFeatures, samples: int, at: At, route: Any = None
) -> RunSpec:
    """The best risk of a kernel on the training points, or of features."""
    learner = bk.resnet.BestRisk(what, s.targets, at.seed, route)
    return RunSpec(problem, learner, samples, 0, at.seed)


def row(s: ExactRiskSettings, functions: int, dim: int, outputs: int, outcome: Outcome) -> dict[str, Any]:
    """Risk and share of targets beside their bounds, which are those of all kernels and feature maps.

    The share of a network's run is 1 if its risk is α²/16 or less, and 0 otherwise.
    """
    targets = class_size(dim, outputs)
    bounds = bk.certificates.UniversalCertificate(functions, dim, outputs, s.alpha)
    risk = outcome.scalars.get("risk", outcome.scalars.get("test_loss"))
    found: dict[str, Any] = {
        "risk": risk,
        "bound": bounds.mean_risk,
        "bound_share": bounds.learnable_share,
        "in_theorem": functions * PAPER_SHARE <= targets,
    }
    if "learnt_share" not in outcome.scalars:
        return {**found, "learnt_share": None if risk is None else float(risk <= s.threshold)}
    exact = outcome.scalars
    return {
        **found,
        "own_risk": exact["own_risk"],
        "smallest_risk": exact["smallest_risk"],
        "own_excess": exact["own_risk"] / s.threshold,
        "smallest_excess": exact["smallest_risk"] / s.threshold,
        "room": exact["risk"] - bounds.mean_risk,
        "learnt_share": exact["learnt_share"],
        "unlearnt_share": 1 - exact["learnt_share"],
        "share_room": bounds.learnable_share - exact["learnt_share"],
        "dimension": exact["dimension"],
        "left_out": exact["left_out"],
        "numerical_error": exact["numerical_error"],
    }
