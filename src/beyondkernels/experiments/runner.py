"""Runs an experiment: plans in rounds, executes what is missing, reads back what is there."""

from __future__ import annotations

import dataclasses
import functools
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beyondkernels.core import InputError, require, require_positive
from beyondkernels.experiments.catalogue import CATALOGUE, find, portable, source_file
from beyondkernels.frame import Experiment, Frame, Label, Reading, as_word, changed, described, expected, plan, tidy
from beyondkernels.reports import Claim, ExperimentPage, Setting
from beyondkernels.reports.numbers import plain
from beyondkernels.runs import (
    Event,
    Executor,
    LocalExecutor,
    MissingRunError,
    RunSpec,
    Store,
    StoredRun,
    gather,
    provenance,
)

DEFAULT_STORE = "store"
"""Where runs are kept unless ``--store`` or ``BK_STORE`` says otherwise."""

_PROVENANCE = ("version", "commit", "dirty", "command", "libraries", "cpu", "seconds")


@dataclass(frozen=True)
class Request:
    """What is asked: an experiment at a scale, with seeds and settings."""

    name: str
    experiment: Experiment
    scale: str
    seeds: tuple[int, ...]
    settings: Any

    @functools.cached_property
    def first_round(self) -> dict[Label, RunSpec]:
        """The runs that are needed to begin with; asking for it finds out settings that are impossible."""
        return plan(self.experiment, self.settings, self.seeds, {})

    def page_command(self) -> str:
        """The command that makes it again; where the seeds are not 0, 1, 2, …, the call from Python that does."""
        reference = self.experiment.settings(self.scale)
        other = {
            field.name: getattr(self.settings, field.name)
            for field in dataclasses.fields(self.settings)
            if getattr(self.settings, field.name) != getattr(reference, field.name) and field.name != "seeds"
        }
        name = Path(self.name).name if ".py:" in self.name else self.experiment.id
        if self.seeds != tuple(range(len(self.seeds))):
            settings = f", settings={other}" if other else ""
            return f"bk.run({name!r}, {self.scale!r}, seeds={list(self.seeds)}{settings})"
        seeds = [f"--seeds {len(self.seeds)}"] if len(self.seeds) != reference.seeds else []
        sets = [f"--set {shlex.quote(f'{key}={as_word(value)}')}" for key, value in other.items()]
        return " ".join(["bk run", shlex.quote(name), f"--scale {self.scale}", *seeds, *sets])


@dataclass(frozen=True)
class Result:
    """What came of a request: rows, claims, and what is missing (by label, with the reason)."""

    request: Request
    finished: Mapping[Label, StoredRun]
    missing: Mapping[Label, str]
    provenance: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def reading(self) -> Reading:
        """What the finished runs say."""
        asked = self.request
        return Reading(asked.experiment, asked.settings, asked.seeds, self.finished, asked.scale)

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row for each run."""
        return plain(self.to_frame().to_dict("records"))

    def to_frame(self) -> Frame:
        """The rows as a pandas DataFrame: coordinates, numbers, status, how each run was chosen."""
        return tidy(self.reading.rows)

    @functools.cached_property
    def claims(self) -> list[Claim]:
        """What the paper says, and whether it holds here; while runs are missing, no claim is decided."""
        missing, all_runs = len(self.missing), len(self.missing) + len(self.finished)
        reason = f"{missing} of {all_runs} runs {'is' if missing == 1 else 'are'} missing"
        return [
            dataclasses.replace(claim, holds=None, reason=reason) if missing and claim.holds is not None else claim
            for claim in self.reading.claims
        ]

    @property
    def settings(self) -> list[Setting]:
        """The numbers with their origin."""
        return described(self.request.settings, self.request.experiment.settings("paper"))

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return not any(claim.holds is False for claim in self.claims)

    def as_json(self) -> dict[str, Any]:
        """The result as ``bk run --json`` writes it."""
        return plain(
            {
                "experiment": self.request.experiment.id,
                "scale": self.request.scale,
                "seeds": list(self.request.seeds),
                "settings": dataclasses.asdict(self.request.settings),
                "rows": self.rows,
                "claims": [claim.as_dict() for claim in self.claims],
                "provenance": {name: self.provenance.get(name) for name in _PROVENANCE},
            }
        )

    def page(self) -> ExperimentPage:
        """The result as a page of a report."""
        experiment, settings = self.request.experiment, self.request.settings
        columns, rows = self.reading.table
        gaps = [f"Missing runs: {len(self.missing)} ({'; '.join(sorted(set(self.missing.values())))})."]
        return ExperimentPage(
            id=experiment.id,
            title=experiment.title,
            summary=experiment.summary_of(settings),
            reference=str(experiment.reference),
            scale=self.request.scale,
            seeds=self.request.seeds,
            claims=self.claims,
            rows=rows,
            columns=columns,
            figures=self.reading.figures,
            settings=self.settings,
            provenance=self.provenance,
            command=self.request.page_command(),
            notes=[*experiment.notes(settings), *(gaps if self.missing else [])],
        )


class Observer:
    """Is told how a request goes; by default says nothing."""

    def planned(self, request: Request, todo: Mapping[str, str], stored: int) -> None:
        """A round begins: these runs (by key, with their names) are to be done, so many are stored already."""

    def happened(self, event: Event) -> None:
        """An executor told something."""


def ask(
    name: str | Experiment,
    scale: str = "laptop",
    seeds: int | Sequence[int] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Request:
    """Turn words into a request, or say what is wrong with them.

    Arguments:
        name: an id, ``path/file.py:NAME``, or an experiment itself.
        scale: ``smoke``, ``laptop`` or ``paper``.
        seeds: how many (0, 1, …) or which; by default as the settings say.
        changes: settings to replace, by name.
    """
    experiment = find(name) if isinstance(name, str) else name
    settings = experiment.settings(scale)
    require(hasattr(settings, "seeds"), f"the settings of {experiment.id} must have a field seeds")
    settings = changed(settings, changes or {})
    which: int | Sequence[int] = settings.seeds if seeds is None else seeds
    if isinstance(which, int):
        require_positive("seeds", which)
        which = range(which)
    require(len(which) > 0, "seeds must hold at least one seed, got none")
    settings = dataclasses.replace(settings, seeds=len(which))
    return Request(name if isinstance(name, str) else experiment.id, experiment, scale, tuple(which), settings)


def run(
    name: str | Experiment | Request,
    scale: str = "laptop",
    *,
    seeds: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    command: str | None = None,
    observer: Observer | None = None,
    executor: Executor | None = None,
) -> Result:
    """Run an experiment, or what is missing of it, and return its result: the twin of ``bk run``.

    Arguments:
        name: an id, ``path/file.py:NAME``, an experiment itself, or a request, which has scale, seeds and settings.
        scale: ``smoke``, ``laptop`` or ``paper``.
        seeds: how many, or which.
        settings: settings to replace, by name.
        workers: worker processes; by default one for each core.
        store: where runs are kept.
        command: the command line, kept as provenance.
        observer: is told how it goes.
        executor: what performs the runs; by default local workers.
    """
    request = name if isinstance(name, Request) else ask(name, scale, seeds, settings)
    _ = request.first_round  # whatever is wrong with the input is said before a store is made
    executor = executor or LocalExecutor(workers, load=source_file(request.name, request.experiment), command=command)
    where = store if isinstance(store, Store) else Store.open(store_path(store))
    started = time.monotonic()
    made = provenance(command or request.page_command())
    # kept from the start, so that a report can show what an interrupted call has done
    where.write_request(request.experiment.id, _document(request, request.first_round, [], made))
    finished, missing, specs = _rounds(request, where, executor, observer or Observer())
    made["seconds"] = round(time.monotonic() - started, 1)
    result = Result(request, finished, missing, made)
    where.write_request(request.experiment.id, _document(request, specs, result.claims, made))
    return result


def stored(document: Mapping[str, Any], store: Store, name: str | None = None) -> Result:
    """The result of an earlier request, from stored runs alone.

    Arguments:
        document: a request as the store keeps it.
        store: the store.
        name: the user's file that this call names, as ``path/file.py:NAME``. Without it only experiments of this
            package are found: a store may come from anybody, so no file is loaded because a store names it.
    """
    if name is None and document["experiment"] not in CATALOGUE:
        raise InputError(f"{document['experiment']} is no experiment of this package: name its file, as FILE.py:NAME")
    request = ask(name or document["experiment"], document["scale"], document["seeds"], document["settings"])
    finished: dict[Label, StoredRun] = {}
    missing: dict[Label, str] = {}
    while new := _new(request, finished, missing):
        for label, spec in new.items():
            try:
                finished[label] = store.read(spec.key)
            except MissingRunError:
                missing[label] = "not in the store"
    return Result(request, finished, missing, dict(document["provenance"]))


def store_path(given: str | Path | None) -> Path:
    """The store's directory: what is given, else ``BK_STORE``, else ``store`` here."""
    require(given is None or str(given) != "", "the store must be a directory, got an empty name")
    return Path(given or os.environ.get("BK_STORE") or DEFAULT_STORE)


def dry_run(request: Request, store: Store | None) -> dict[str, Any]:
    """How many runs the first round needs, how many are stored, and what the rest may take on one core."""
    later = expected(request.experiment, request.settings, request.seeds)[1]
    keys = {spec.key for spec in request.first_round.values()}
    there = sum(store.has(key) for key in keys) if store else 0
    each = request.experiment.seconds_per_run.get(request.scale)
    return {
        "runs": len(keys),
        "stored": there,
        "later": later,
        "core_seconds": None if each is None else each * (len(keys) - there + later),
    }


def _rounds(
    request: Request, store: Store, executor: Executor, observer: Observer
) -> tuple[dict[Label, StoredRun], dict[Label, str], dict[Label, RunSpec]]:
    finished: dict[Label, StoredRun] = {}
    missing: dict[Label, str] = {}
    specs: dict[Label, RunSpec] = {}
    while new := _new(request, finished, missing):
        specs |= new
        names = {spec.key: " ".join(map(str, label)) for label, spec in new.items()}
        planned = functools.partial(_tell, observer, request, names)
        found = gather(new.values(), store, executor, planned, observer.happened)
        # in the plan's order, whatever was stored before: a resumed call gives the rows of an undisturbed one
        finished |= {label: found.runs[spec.key] for label, spec in new.items() if spec.key in found.runs}
        missing |= {label: found.missing[spec.key] for label, spec in new.items() if spec.key in found.missing}
    return finished, missing, specs


def _tell(observer: Observer, request: Request, names: dict[str, str], todo: Sequence[RunSpec], stored: int) -> None:
    observer.planned(request, {spec.key: names[spec.key] for spec in todo}, stored)


def _new(request: Request, finished: Mapping[Label, StoredRun], missing: Mapping[Label, str]) -> dict[Label, RunSpec]:
    begun = finished or missing
    wanted = plan(request.experiment, request.settings, request.seeds, finished) if begun else request.first_round
    return {label: spec for label, spec in wanted.items() if label not in finished and label not in missing}


def _document(
    request: Request, specs: Mapping[Label, RunSpec], claims: Sequence[Claim], made: dict[str, Any]
) -> dict[str, Any]:
    return plain(
        {
            "name": portable(request.name),
            "experiment": request.experiment.id,
            "scale": request.scale,
            "seeds": list(request.seeds),
            "settings": dataclasses.asdict(request.settings),
            "runs": [{"label": list(label), "key": spec.key} for label, spec in specs.items()],
            "claims": [claim.as_dict() for claim in claims],
            "provenance": made,
        }
    )
