"""What a search may see and what it may not: seeds of its own, and validation points apart from the test points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from beyondkernels.core import require
from beyondkernels.experiments.resnet.search import Axis, Point, Search, searched

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.experiments.base import Finished, Label

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


def require_unseen(seeds: Sequence[int], settings: SearchSettings) -> None:
    """Refuse to report what the search has seen."""
    common = sorted({*seeds} & {*search_seeds(settings)})
    require(not common, f"seeds must not be those of the search, got {common}")


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


def search_of(
    axes: tuple[Axis, Axis], label: Callable[[Point, int], Label], finished: Finished, settings: SearchSettings
) -> Search:
    """A search as far as what is finished carries it: by the mean over its seeds of test and of validation error.

    Arguments:
        axes: learning rates and weight decays to begin with.
        label: what its run with a learning rate, weight decay and seed is called.
        finished: the runs that are done.
        settings: the numbers of the search.
    """

    def scores(point: Point) -> tuple[float, ...] | None:
        runs = [finished.get(label(point, seed)) for seed in search_seeds(settings)]
        errors = [search_errors(run.outcome, settings) for run in runs if run is not None]
        if len(errors) < len(runs):
            return None
        return tuple(sum(each) / len(each) for each in zip(*errors, strict=True))

    return searched(*axes, scores)
