"""The numbers of Figure 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from beyondkernels.core import require, require_between, require_positive
from beyondkernels.experiments.resnet.fig2.methods import Method
from beyondkernels.experiments.resnet.search import Axis, position
from beyondkernels.experiments.settings import setting


@dataclass(frozen=True)
class Fig2Settings:
    """The numbers of Figure 2; the defaults are the paper's."""

    dim: int = setting(30, "paper")
    outputs: int = setting(15, "paper")
    alpha: float = setting(0.3, "paper")
    samples: int = setting(500, "paper", "N")
    widths: tuple[int, ...] = setting(
        (20, 50, 100, 200, 500, 1000), "paper", "m; the paper goes on to what 16 GB of GPU memory hold"
    )
    epochs: int = setting(800, "paper")
    decay_epoch: int = setting(400, "paper", "the learning rate falls by 10 after it")
    batch: int = setting(50, "paper")
    momentum: float = setting(0.9, "paper")
    learning_rates: tuple[float, ...] = setting(
        (0.01, 0.02, 0.05, 0.1, 0.2), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: tuple[float, ...] = setting((0.001, 0.002, 0.005, 0.01, 0.02, 0.05), "ours", "to begin with")
    rate_limits: tuple[float, ...] = setting((1e-3, 1.0), "ours", "the grid does not grow beyond")
    decay_limits: tuple[float, ...] = setting((1e-4, 1.0), "ours", "the grid does not grow beyond")
    search_seeds: int = setting(2, "ours", "1000, 1001, …: for the search alone; not stated in the paper")
    seeds: int = setting(5, "ours", "0, 1, 2, …: for the chosen ones and the kernels; not stated in the paper")
    validation_samples: int = setting(1000, "ours", "fresh points for the second choice")
    test_samples: int = setting(10_000, "ours", "not stated in the paper")
    backend: Literal["compiled", "eager"] = setting(
        "compiled", "ours", "needs a C++ compiler; eager does without, more slowly"
    )

    def __post_init__(self) -> None:
        for name in ("samples", "epochs", "batch", "search_seeds", "validation_samples", "test_samples"):
            require_positive(name, getattr(self, name))
        require_between("decay_epoch", self.decay_epoch, 0, self.epochs)
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        _check_rising(self, "widths")
        _check_axis(self, "learning_rates", "rate_limits")
        _check_axis(self, "weight_decays", "decay_limits")

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Learning rates and weight decays to begin with."""
        return _axis(self.learning_rates, self.rate_limits), _axis(self.weight_decays, self.decay_limits)

    @property
    def threshold(self) -> float:
        """kα², what learning F alone leaves: the problem's own number, known without loading it."""
        return self.outputs * self.alpha**2


@dataclass(frozen=True)
class Fig2aSettings(Fig2Settings):
    """The numbers of Figure 2(a): those of its kernels too."""

    kernel_rates: tuple[float, ...] = setting(
        (0.005, 0.01, 0.02, 0.05, 0.1), "ours", "for kernels trained by SGD, to begin with"
    )
    kernel_decays: tuple[float, ...] = setting(
        (0.01, 0.02, 0.05, 0.1, 0.2), "ours", "for kernels trained by SGD, to begin with"
    )

    kernel_rate_limits: tuple[float, ...] = setting((1e-5, 1.0), "ours", "the kernels' grid does not grow beyond")
    kernel_decay_limits: tuple[float, ...] = setting((1e-4, 10.0), "ours", "the kernels' grid does not grow beyond")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_axis(self, "kernel_rates", "kernel_rate_limits")
        _check_axis(self, "kernel_decays", "kernel_decay_limits")

    def axes_of(self, method: Method) -> tuple[Axis, Axis]:
        """Learning rates and weight decays to begin with, for one method."""
        if not method.kernel:
            return self.axes
        return _axis(self.kernel_rates, self.kernel_rate_limits), _axis(self.kernel_decays, self.kernel_decay_limits)


@dataclass(frozen=True)
class Fig2bSettings(Fig2aSettings):
    """The numbers of Figure 2(b)."""

    samples: int = setting(1000, "paper", "N")


def _check_rising(settings: Fig2Settings, name: str) -> None:
    values = getattr(settings, name)
    rising = len(values) > 0 and list(values) == sorted(set(values))
    require(rising, f"{name} must hold increasing numbers, each once, got {values}")
    require_positive(name, values[0])


def _check_axis(settings: Fig2Settings, name: str, limits_name: str) -> None:
    _check_rising(settings, name)
    ends = getattr(settings, limits_name)
    two = len(ends) == 2 and 0 < ends[0] <= ends[1]
    require(two, f"{limits_name} must be two increasing numbers, got {ends}")
    for value in getattr(settings, name):
        position(value)
        require_between(name, value, *ends)


def _axis(values: tuple[float, ...], ends: tuple[float, ...]) -> Axis:
    return Axis(values, (ends[0], ends[1]))
