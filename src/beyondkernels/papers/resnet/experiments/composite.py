"""What Figures 2 and 3 share: the composite parity, the networks, and how they are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels.core import require, require_between
from beyondkernels.core.constraints import not_negative
from beyondkernels.lab import Count, Counts, Size, setting
from beyondkernels.papers.resnet.experiments.searching import SearchSettings
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import GradientDescent
    from beyondkernels.core import Outcome
    from beyondkernels.lab import At, setting
    from beyondkernels.papers.resnet.problems import CompositeParity

NetworkName = Literal["3resnet", "3layer", "2layer"]


@dataclass(frozen=True)
class CompositeSettings(SearchSettings):
    """The numbers of §8.1; the defaults are the paper's."""

    dim: Count = setting(30, "paper")
    outputs: Count = setting(15, "paper")
    alpha: Size = setting(0.3, "paper")
    samples: Count = setting(500, "paper", "N")
    widths: Counts = setting(
        (20, 50, 100, 200, 500, 1000), "paper", "m; the paper goes on to what 16 GB of GPU memory hold"
    )
    epochs: Count = setting(800, "paper")
    decay_epoch: Annotated[int, not_negative] = setting(400, "paper", "the learning rate falls by 10 after it")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between("decay_epoch", self.decay_epoch, 0, self.epochs)
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")

    @property
    def threshold(self) -> float:
        """kα², what learning F alone leaves: the problem's own number, known without loading it."""
        return self.outputs * self.alpha**2


SMOKE: dict[str, Any] = {
    "dim": 8,
    "outputs": 4,
    "samples": 100,
    "epochs": 10,
    "decay_epoch": 5,
    "batch": 20,
    "learning_rates": (0.005, 0.01),
    "weight_decays": (0.002, 0.01),
    "search_seeds": 1,
    "seeds": 2,
    "validation_samples": 100,
    "test_samples": 200,
}
"""What differs at smoke scale in both figures."""


def problem_of(s: CompositeSettings, beta: float = 1.0) -> CompositeParity:
    """βF + αG(F) on uniform signs."""
    return bk.resnet.CompositeParity(s.dim, s.outputs, s.alpha, beta)


def network_of(name: NetworkName, width: int, form: Literal["full", "bottleneck"] = "bottleneck") -> Any:
    """A network of §8.1, its weights and hidden biases from N(0, 1/m)."""
    start = bk.networks.popular_initialisation(width)
    if name == "3resnet":
        return bk.networks.ThreeLayerResNet(width, form, parameterisation=start)
    return bk.networks.FullyConnected(width, int(name[0]), parameterisation=start)


def descent_of(s: CompositeSettings, at: At, samples: int, group: str) -> GradientDescent:
    """SGD with the learning rate and weight decay of a place."""
    in_epoch = samples // s.batch
    return bk.algorithms.GradientDescent(
        s.epochs * in_epoch,
        at.learning_rate,
        s.batch,
        s.momentum,
        at.weight_decay,
        group,
        bk.algorithms.Squared(),
        (s.decay_epoch * in_epoch,),
    )


def trained(
    s: CompositeSettings, problem: Any, network: Any, rule: Any, samples: int, at: At, *measured: Any
) -> RunSpec:
    """A network trained on a sample; where something is measured, the ResNet's weights are kept for it."""
    end = sum(stage.steps for stage in rule.stages())
    kept = {"snapshot_at": (end,), "snapshot_names": bk.resnet.ResNetWeights.NAMES} if measured else {}
    learner = bk.engine.TrainedNetwork(network, rule, backend=s.backend, **kept)
    return RunSpec(problem, learner, samples, s.test_samples, at.seed, measured, s.validation_samples)


def errors(s: Any, at: At, outcome: Outcome) -> dict[str, Any]:
    """Training and test error of a trained network."""
    return {"train_error": outcome.scalars.get("train_loss"), "test_error": outcome.scalars.get("test_loss")}


def solved(outcome: Outcome, other: str, edge: str) -> list[dict[str, Any]]:
    """A kernel's two rows: with what is best on the test points, and with what was chosen without them.

    Arguments:
        outcome: of the run.
        other: how the second was chosen.
        edge: the column that says whether the choice sits on an edge.
    """
    if outcome.status != "finished":
        return [{"choice": choice} for choice in ("test", other)]
    path, found = outcome.arrays, outcome.scalars
    at = int(path["path_test_loss"].argmin())
    best = {name: path[f"path_{name}"][at] for name in ("train_loss", "test_loss", "ridge")}
    ends = bool(found["ridge_on_edge"] or found.get("weight_on_edge", False))
    return [
        {
            "choice": choice,
            "train_error": float(numbers["train_loss"]),
            "test_error": float(numbers["test_loss"]),
            edge: at_end,
            "ridge": float(numbers["ridge"]),
            "tried": len(path["path_ridge"]),
        }
        for choice, numbers, at_end in (("test", best, on_edge(path, at)), (other, found, ends))
    ]


def on_edge(path: Any, at: int) -> bool:
    """Whether a place on a path has the first or last of several ridges, or of several weights."""
    weights = path["path_weight"] if "path_weight" in path else [0] * len(path["path_ridge"])
    ridges = sum(weight == weights[0] for weight in weights)  # the path goes through all ridges at each weight
    places = (at // ridges, len(weights) // ridges), (at % ridges, ridges)
    return any(count > 1 and place in (0, count - 1) for place, count in places)
