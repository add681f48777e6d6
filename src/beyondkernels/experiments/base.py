"""What an experiment is: a declaration that sees no store, executor, path or command line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from beyondkernels.core import Reference, unknown
from beyondkernels.reports import Claim, Column, Figure
from beyondkernels.runs import RunSpec, StoredRun

Label = tuple[str | int, ...]
"""What an experiment calls one of its runs."""

Finished = Mapping[Label, StoredRun]
"""The runs that are there, by label."""

Rows = list[dict[str, Any]]

SCALES = ("smoke", "laptop", "paper")
"""``smoke`` runs in seconds, ``laptop`` in minutes on two cores, ``paper`` is the paper's own setting."""


class Experiment(ABC):
    """A figure, table or theorem of a paper: the runs it needs at each scale, its claims, the published values.

    ``plan`` is called in rounds: it is given what is finished and returns all the runs it knows it needs so far. When
    it asks for nothing new, the experiment is done. ``rows``, ``claims``, ``table`` and ``figures`` are pure functions
    of what finished. ``examples/own_experiment.py`` is a whole one in forty lines.

    A subclass sets ``id`` (such as ``mine/first``), ``title`` and ``summary``, and ``reference`` where there is one.
    Its settings have a field ``seeds``, which says how many. A finished run holds ``run.outcome.scalars``, ``series``
    and ``arrays``.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[Reference] = Reference("own", "an experiment of one's own")
    notes: ClassVar[tuple[str, ...]] = ()
    seconds_per_run: ClassVar[Mapping[str, float]] = {}
    """By scale, what one run takes on one core, roughly: for ``--dry-run``."""

    @abstractmethod
    def settings(self, scale: str) -> Any:
        """The numbers at a scale: a frozen dataclass of :func:`setting` fields, ``seeds`` among them."""

    @abstractmethod
    def plan(self, settings: Any, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """The runs needed, as far as they are known."""

    @abstractmethod
    def rows(self, settings: Any, finished: Finished) -> Rows:
        """Plain data, a row for each run or each setting."""

    @abstractmethod
    def claims(self, settings: Any, rows: Rows, scale: str) -> list[Claim]:
        """What the paper says, and whether it holds here."""

    def table(self, settings: Any, rows: Rows) -> tuple[Sequence[Column], Rows]:
        """The table a reader sees: its columns and rows. By default the rows as they are."""
        return (), rows

    def figures(self, settings: Any, finished: Finished) -> list[Figure]:
        """The pictures."""
        return []

    def remarks(self, settings: Any) -> list[str]:
        """Notes that depend on the settings, such as how a theorem's hypotheses stand."""
        return []

    def settings_at(self, scale: str) -> Any:
        """The settings at a scale; an unknown scale is bad input."""
        if scale not in SCALES:
            unknown("scale", scale, SCALES)
        return self.settings(scale)
