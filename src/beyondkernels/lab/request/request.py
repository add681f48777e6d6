"""What is asked of an experiment: which one, at which scale, with which seeds and settings."""

from __future__ import annotations

import dataclasses
import functools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beyondkernels.core import require, require_positive, require_whole
from beyondkernels.core.errors import shown
from beyondkernels.lab.catalogue import find
from beyondkernels.lab.declaration import (
    Experiment,
    Finished,
    Label,
    Rows,
    as_word,
    changed,
    departures,
    judge,
    table_of,
)
from beyondkernels.lab.declaration.power import noticed
from beyondkernels.lab.declaration.user_files import name_in_file
from beyondkernels.lab.report import Claim, Column
from beyondkernels.lab.request.checks import checked_specs, require_declared, require_experiment, settings_of
from beyondkernels.store import PROCESSOR, RunSpec, require_device_name

MOST_SEEDS = 100_000


@dataclass(frozen=True, repr=False)
class Request:
    """An experiment at a scale, with seeds, settings and a device; :func:`ask` makes one."""

    name: str
    experiment: Experiment
    scale: str
    seeds: tuple[int, ...]
    settings: Any
    device: str = PROCESSOR

    def __repr__(self) -> str:
        return f"<Request {self.words()}>"

    def words(self) -> str:
        """What is asked, in a line: ``features/table1 · laptop scale · 2 seeds · samples=500``."""
        seeds = f"{len(self.seeds)} seed{'' if len(self.seeds) == 1 else 's'}"
        device = [] if self.device == PROCESSOR else [f"on {self.device}"]
        scale = [f"{self.scale} scale"] if self.experiment.scaled else []
        return " · ".join([self.experiment.id, *scale, seeds, *self.variant, *device])

    @functools.cached_property
    def first_round(self) -> dict[Label, RunSpec]:
        """The runs that are needed to begin with; asking for it finds out what is impossible or wrongly declared."""
        require_declared(self.experiment, self.settings)
        return self.specs({})

    def specs(self, finished: Finished) -> dict[Label, RunSpec]:
        """The runs that are needed, as far as the finished ones tell; on the device, where they can be."""
        planned = checked_specs(self.experiment, self.settings, self.seeds, finished)
        return {label: _moved(spec, self.device) for label, spec in planned.items()}

    @functools.cached_property
    def changes(self) -> dict[str, Any]:
        """The settings that are not those of the scale, the number of seeds aside."""
        usual = settings_of(self.experiment, self.scale)
        names = [field.name for field in dataclasses.fields(self.settings) if field.name != "seeds"]
        now = {name: getattr(self.settings, name) for name in names}
        return {name: value for name, value in now.items() if value != getattr(usual, name)}

    @property
    def variant(self) -> tuple[str, ...]:
        """Those settings as ``--set`` takes them; nothing for the experiment as it is declared."""
        return tuple(f"{name}={as_word(value)}" for name, value in self.changes.items())

    @property
    def differences(self) -> dict[str, Any]:
        """What tells it from the standard request at its scale: changed settings, and seeds or device not the usual."""
        count = len(self.seeds)
        device = {} if self.device == PROCESSOR else {"device": self.device}
        if self.seeds == self._usual_seeds:
            return self.changes | device
        seeds = count if self.seeds == tuple(range(count)) else list(self.seeds)
        return {**self.changes, "seeds": seeds, **device}

    @property
    def _usual_seeds(self) -> tuple[int, ...]:
        return self.experiment.usual_seeds(self.scale, settings_of(self.experiment, self.scale).seeds)

    @functools.cached_property
    def departures(self) -> tuple[str, ...]:
        """The settings of the paper that have another value here, so that its printed numbers do not compare."""
        return departures(self.settings, settings_of(self.experiment, "paper"))

    @property
    def published(self) -> bool:
        """Whether the numbers that the paper prints may stand beside what is measured here."""
        return self.scale != "smoke" and not self.departures

    def judge(self, rows: Rows) -> list[Claim]:
        """What the rows say of the claims; where the settings are not the paper's, no claim carries its value.

        Arguments:
            rows: the experiment's tidy table.
        """
        claims = judge(self.experiment, self.settings, rows, self.scale)
        return claims if self.published else [replace(claim, paper=None) for claim in claims]

    def table(self, rows: Rows) -> tuple[list[Column], list[dict[str, Any]]]:
        """The table a reader sees: columns and lines; no printed values where the settings are not the paper's.

        Arguments:
            rows: the experiment's tidy table.
        """
        columns, lines = table_of(self.experiment, self.settings, rows)
        return [column for column in columns if self.published or not column.published], lines

    def noticed(self, rows: Rows) -> dict[str, list[str]]:
        """For each claim that holds, the tables made wrong on purpose on which it no longer does.

        Arguments:
            rows: the experiment's tidy table.
        """
        return noticed(self.experiment.claims(self.settings), rows, self.experiment.declared)

    def command(self) -> str:
        """The command that makes it again."""
        if ".py:" not in self.name and (call := self.experiment.call(self.seeds, self.changes)):
            return call
        name = Path(self.name).name if ".py:" in self.name else self.experiment.id
        seeds = [] if self.seeds == self._usual_seeds else [f"--seeds {seeds_word(self.seeds)}"]
        sets = [f"--set {shlex.quote(word)}" for word in self.variant]
        device = [] if self.device == PROCESSOR else [f"--device {self.device}"]
        scale = [f"--scale {self.scale}"] if self.experiment.scaled else []
        return " ".join([f"bk {self.experiment.command}", shlex.quote(name), *scale, *seeds, *sets, *device])


def seeds_word(seeds: Sequence[int]) -> str:
    """Seeds as ``--seeds`` takes them.

    >>> seeds_word((0, 1, 2)), seeds_word((5, 6, 7, 8)), seeds_word((0, 1, 2, 7)), seeds_word((7,))
    ('3', '5..8', '0..2,7', '7..7')
    """
    if tuple(seeds) == tuple(range(len(seeds))):
        return str(len(seeds))
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    alone = len(seeds) == 1  # a single number says how many
    words = (f"{run[0]}..{run[-1]}" if len(run) > 2 or alone else ",".join(map(str, run)) for run in runs)
    return ",".join(words)


def _moved(spec: RunSpec, device: str) -> RunSpec:
    """The same run on a device, if its learner computes there."""
    return spec if device == spec.device or not spec.learner.runs_on(device) else replace(spec, device=device)


def ask(
    name: str | Experiment,
    scale: str = "laptop",
    seeds: int | Sequence[int] | None = None,
    changes: Mapping[str, Any] | None = None,
    device: str = PROCESSOR,
) -> Request:
    """Turn words into a request, or say what is wrong with them.

    Arguments:
        name: an id, ``path/file.py:NAME``, or an experiment itself.
        scale: ``smoke``, ``laptop`` or ``paper``.
        seeds: how many (0, 1, …) or which; by default as the settings say.
        changes: settings to replace, by name.
        device: where the runs are computed that can be computed there.
    """
    require_device_name(device)
    experiment = require_experiment(find(name) if isinstance(name, str) else name)
    if isinstance(name, str) and name.endswith(".py"):  # the only one of a file
        name = f"{name}:{name_in_file(Path(name), experiment)}"
    settings = changed(settings_of(experiment, scale), changes or {})
    which: Any = settings.seeds if seeds is None else seeds
    if isinstance(which, int):
        require_positive("seeds", which)
        require(which <= MOST_SEEDS, f"seeds must be at most {MOST_SEEDS}, got {shown(which)}")
        which = range(which) if seeds is not None else experiment.usual_seeds(scale, which)
    sequence = isinstance(which, Sequence) and not isinstance(which, str)
    require(sequence, f"seeds must be a number of seeds or a list of them, got {shown(which)}")
    require(len(which) <= MOST_SEEDS, f"seeds must be at most {MOST_SEEDS}, got {shown(which)}")
    for seed in which:
        require_whole("seed", seed, None)
    chosen: tuple[int, ...] = tuple(dict.fromkeys(which))  # a seed named twice is one seed
    require(len(chosen) > 0, "seeds must hold at least one seed, got none")
    settings = dataclasses.replace(settings, seeds=len(chosen))
    return Request(name if isinstance(name, str) else experiment.id, experiment, scale, chosen, settings, device)
