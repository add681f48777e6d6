"""What Figures 2, 3 and 4 share: their searches; and of 2 and 3 the target, the networks, and how they are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between, not_negative
from beyondkernels.lab.declaration.search_axes import check_axis

NetworkName = Literal["3resnet", "3layer", "2layer"]

CRITERIA = {"test": "test_loss", "validation": "validation_loss"}
"""The paper chooses by test error; the second choice does without test points."""

SEARCHED = {
    "width": lab.Quantity("width m", within=lab.NON_NEGATIVE, log=True, heading="Width"),
    "learning_rate": lab.Quantity("learning rate", "g", lab.NON_NEGATIVE, log=True, heading="Rate"),
    "weight_decay": lab.Quantity("weight decay", "g", lab.NON_NEGATIVE, log=True, heading="Decay"),
}

QUANTITIES = {
    **SEARCHED,
    "test_error": lab.Quantity(
        "test error E‖out − y‖²", ".3f", lab.NON_NEGATIVE, log=True, better="less", heading="Test error"
    ),
    "search_error": lab.Quantity("error in the search", ".3f", lab.NON_NEGATIVE, heading="In the search"),
}

_ON_TEST, _WITHOUT = {"choice": "test"}, {"choice": ("validation", "leave-one-out", "held out")}


@dataclass(frozen=True)
class SearchSettings(bk.core.Checked):
    batch: lab.Count = lab.setting(50, "paper")
    momentum: Annotated[float, between(0, 1, "[)")] = lab.setting(0.9, "paper")
    learning_rates: lab.Sizes = lab.setting(
        (0.01, 0.02, 0.05, 0.1, 0.2), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: lab.Sizes = lab.setting((0.001, 0.002, 0.005, 0.01, 0.02, 0.05), "ours", "to begin with")
    rate_limits: lab.Sizes = lab.setting((1e-3, 1.0), "ours", "the grid does not grow beyond")
    decay_limits: lab.Sizes = lab.setting((1e-4, 1.0), "ours", "the grid does not grow beyond")
    search_seeds: lab.Seeds = lab.setting(2, "ours", "1000, 1001, …: for the search alone; not stated in the paper")
    seeds: lab.Count = lab.setting(5, "ours", "0, 1, 2, …: for what is reported; not stated in the paper")
    validation_samples: lab.Count = lab.setting(1000, "ours", "fresh points for the second choice")
    test_samples: lab.Count = lab.setting(10_000, "ours", "not stated in the paper")
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        check_axis(self, "learning_rates", "rate_limits")
        check_axis(self, "weight_decays", "decay_limits")

    @property
    def axes(self) -> dict[str, lab.Axis]:
        decays = lab.Axis(self.weight_decays, self.decay_limits)
        return {"learning_rate": lab.Axis(self.learning_rates, self.rate_limits), "weight_decay": decays}


@dataclass(frozen=True)
class CompositeSettings(SearchSettings):
    dim: lab.Count = lab.setting(30, "paper")
    outputs: lab.Count = lab.setting(15, "paper")
    alpha: lab.Size = lab.setting(0.3, "paper")
    samples: lab.Count = lab.setting(500, "paper", "N")
    widths: lab.Counts = lab.setting(
        (20, 50, 100, 200, 500, 1000), "paper", "m; the paper goes on to what 16 GB of GPU memory hold"
    )
    epochs: lab.Count = lab.setting(800, "paper")
    decay_epoch: Annotated[int, not_negative] = lab.setting(400, "paper", "the learning rate falls by 10 after it")

    def __post_init__(self) -> None:
        super().__post_init__()
        bk.core.require_between("decay_epoch", self.decay_epoch, 0, self.epochs)
        batch, samples = self.batch, self.samples
        bk.core.require(batch <= samples, f"batch must not exceed samples ({samples}), got {batch}")

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


def columns(*more: lab.Shown) -> list[lab.Shown]:
    """What both tables show: the errors of either choice, what the search saw, and what it chose on test points."""
    return [
        lab.Shown("test_error", "Chosen on test points", where=_ON_TEST),
        lab.Shown("test_error", "Chosen without", where=_WITHOUT),
        lab.Shown("search_error", where=_ON_TEST, show="first"),
        *more,
        *(lab.Shown(name, where=_ON_TEST, show="first") for name in ("learning_rate", "weight_decay")),
    ]


def problem_of(s: CompositeSettings, beta: float = 1.0) -> bk.resnet.CompositeParity:
    """βF + αG(F) on uniform signs."""
    return bk.resnet.CompositeParity(s.dim, s.outputs, s.alpha, beta)


def network_of(name: NetworkName, width: int, form: Literal["full", "bottleneck"] = "bottleneck") -> Any:
    """A network of §8.1, its weights and hidden biases from N(0, 1/m)."""
    start = bk.networks.popular_initialisation(width)
    if name == "3resnet":
        return bk.networks.ThreeLayerResNet(width, form, parameterisation=start)
    return bk.networks.FullyConnected(width, int(name[0]), parameterisation=start)


def descent_of(s: CompositeSettings, at: lab.At, samples: int, group: str) -> bk.algorithms.GradientDescent:
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
    s: CompositeSettings, problem: Any, network: Any, rule: Any, samples: int, at: lab.At, *measured: Any
) -> bk.store.RunSpec:
    """A network trained on a sample; where something is measured, the ResNet's weights are kept for it."""
    end = sum(stage.steps for stage in rule.stages())
    kept = {"snapshot_at": (end,), "snapshot_names": bk.resnet.ResNetWeights.NAMES} if measured else {}
    learner = bk.engine.TrainedNetwork(network, rule, backend=s.backend, **kept)
    return bk.store.RunSpec(problem, learner, samples, s.test_samples, at.seed, measured, s.validation_samples)


def errors(s: Any, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    return {"train_error": outcome.scalars.get("train_loss"), "test_error": outcome.scalars.get("test_loss")}
