"""What the searches of Figures 2, 3 and 4 share: their settings, and the errors that choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from beyondkernels.core import Checked
from beyondkernels.core.constraints import between
from beyondkernels.lab import Axis, Backend, Count, Seeds, Sizes, setting
from beyondkernels.lab.declaration.search_axes import check_axis


@dataclass(frozen=True)
class SearchSettings(Checked):
    """The numbers of a search over learning rate and weight decay."""

    batch: Count = setting(50, "paper")
    momentum: Annotated[float, between(0, 1, "[)")] = setting(0.9, "paper")
    learning_rates: Sizes = setting(
        (0.01, 0.02, 0.05, 0.1, 0.2), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: Sizes = setting((0.001, 0.002, 0.005, 0.01, 0.02, 0.05), "ours", "to begin with")
    rate_limits: Sizes = setting((1e-3, 1.0), "ours", "the grid does not grow beyond")
    decay_limits: Sizes = setting((1e-4, 1.0), "ours", "the grid does not grow beyond")
    search_seeds: Seeds = setting(2, "ours", "1000, 1001, …: for the search alone; not stated in the paper")
    seeds: Count = setting(5, "ours", "0, 1, 2, …: for what is reported; not stated in the paper")
    validation_samples: Count = setting(1000, "ours", "fresh points for the second choice")
    test_samples: Count = setting(10_000, "ours", "not stated in the paper")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        check_axis(self, "learning_rates", "rate_limits")
        check_axis(self, "weight_decays", "decay_limits")

    @property
    def axes(self) -> dict[str, Axis]:
        """Learning rates and weight decays to begin with."""
        return axes_of(self.learning_rates, self.rate_limits, self.weight_decays, self.decay_limits)


def axes_of(rates: Any, rate_limits: Any, decays: Any, decay_limits: Any) -> dict[str, Axis]:
    """Learning rates and weight decays as axes of a search."""
    return {"learning_rate": Axis(rates, rate_limits), "weight_decay": Axis(decays, decay_limits)}


CRITERIA: Mapping[str, str] = {"test": "test_loss", "validation": "validation_loss"}
"""The paper chooses by test error; the second choice does without test points."""
