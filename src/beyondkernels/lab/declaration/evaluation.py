"""From an experiment's declaration and its finished runs to rows, claims, table and figures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import InputError
from beyondkernels.lab.declaration.experiment import Experiment
from beyondkernels.lab.declaration.rows import Rows, tabulate, tidy
from beyondkernels.lab.declaration.runs import Finished, Label
from beyondkernels.lab.report import Claim, Column, Figure

if TYPE_CHECKING:
    from beyondkernels.store import RunSpec


def specs_of(experiment: Experiment, settings: Any, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
    """All runs that an experiment knows it needs so far; asked again in rounds, as runs finish."""
    specs: dict[Label, RunSpec] = {}
    for runs in experiment.runs(settings):
        for label, spec in runs.specs(settings, seeds, finished).items():
            if label in specs and specs[label] != spec:
                raise InputError(f"{experiment.id} gives two different runs the same coordinates: {label}")
            specs[label] = spec
    return specs


def expected(experiment: Experiment, settings: Any, seeds: Sequence[int]) -> tuple[int, int]:
    """How many runs are certain, and how many more are likely."""
    pairs = [runs.expected(seeds) for runs in experiment.runs(settings)]
    return sum(first for first, _ in pairs), sum(later for _, later in pairs)


def stated(experiment: Experiment, settings: Any, scale: str) -> list[Claim]:
    """The claims before anything is measured; quick, since no run is read."""
    speaks = experiment.speaks(scale)
    return [statement.claim(None, speaks, experiment.declared) for statement in experiment.claims(settings)]


def judge(experiment: Experiment, settings: Any, rows: Rows, scale: str) -> list[Claim]:
    """The claims with what the rows say; no run is needed, so rows that were kept can be judged again.

    Arguments:
        experiment: the declaration.
        settings: its numbers.
        rows: the tidy table.
        scale: the scale it was run at.
    """
    speaks, quantities = experiment.speaks(scale), experiment.declared
    sets = experiment.sets_of(sorted(set(rows["seed"]))) if speaks and "seed" in rows else []
    several = sets if len(sets) > 1 else []
    return [statement.claim(rows, speaks, quantities, several) for statement in experiment.claims(settings)]


def table_of(experiment: Experiment, settings: Any, rows: Rows) -> tuple[list[Column], list[dict[str, Any]]]:
    """The columns and lines that a reader sees.

    Arguments:
        experiment: the declaration.
        settings: its numbers.
        rows: the tidy table.
    """
    declared = experiment.table(settings)
    if declared is None:
        return [], tidy(rows).to_dict("records")
    lines = declared.lines(rows)
    return declared.headed(lines, experiment.declared), lines


@dataclass(frozen=True)
class Reading:
    """What the finished runs say, each part computed once.

    Arguments:
        experiment: the declaration.
        settings: its numbers.
        seeds: the reported seeds.
        finished: the runs that are there.
        scale: the scale they were run at.
    """

    experiment: Experiment
    settings: Any
    seeds: Sequence[int]
    finished: Finished
    scale: str

    @functools.cached_property
    def rows(self) -> Rows:
        """The tidy table, with each row's run in the column ``outcome``."""
        return tabulate(
            record
            for runs in self.experiment.runs(self.settings)
            for record in runs.records(self.settings, self.seeds, self.finished)
        )

    @functools.cached_property
    def claims(self) -> list[Claim]:
        """The claims with what was measured."""
        return judge(self.experiment, self.settings, self.rows, self.scale)

    @functools.cached_property
    def table(self) -> tuple[list[Column], list[dict[str, Any]]]:
        """The columns and lines that a reader sees."""
        return table_of(self.experiment, self.settings, self.rows)

    @functools.cached_property
    def finding(self) -> str:
        """What was found, in a few sentences; nothing while no run is there."""
        return self.experiment.finding(self.settings, self.rows) if len(self.rows) else ""

    @functools.cached_property
    def opening(self) -> str:
        """What a reader has to know before anything else; nothing while no run is there."""
        return self.experiment.opening(self.settings, self.rows) if len(self.rows) else ""

    @functools.cached_property
    def figures(self) -> list[Figure]:
        quantities = self.experiment.declared
        pictures = self.experiment.pictures(self.settings)
        return [figure for picture in pictures for figure in picture.draw(self.rows, quantities)]
