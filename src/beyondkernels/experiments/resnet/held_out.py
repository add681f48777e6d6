"""What a search may see and what it may not: seeds of its own, and validation points apart from the test points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

_FIRST_SEARCH_SEED = 1000


class SearchSettings(Protocol):
    """The numbers of a search; each is a setting of the experiment."""

    @property
    def search_seeds(self) -> int:
        """How many seeds it has."""
        ...

    @property
    def validation_samples(self) -> int:
        """Points for the choice that does without test points."""
        ...

    @property
    def test_samples(self) -> int:
        """Points of the test."""
        ...


def search_seeds(settings: SearchSettings) -> range:
    """The seeds of the search."""
    return range(_FIRST_SEARCH_SEED, _FIRST_SEARCH_SEED + settings.search_seeds)


def points_of(settings: SearchSettings) -> int:
    """Validation and test points together: a run's test sample begins with the former."""
    return settings.validation_samples + settings.test_samples


def search_errors(outcome: Outcome, settings: SearchSettings) -> tuple[float, float]:
    """Test and validation error of a run of the search, on disjoint points; infinite if it diverged."""
    if outcome.status != "finished":
        return float("inf"), float("inf")
    n, v = points_of(settings), settings.validation_samples
    whole, validation = outcome.scalars["test_loss"], float(outcome.series["test_loss"][-1])
    return (n * whole - v * validation) / (n - v), validation
