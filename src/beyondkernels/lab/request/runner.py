"""Runs an experiment: plans in rounds, executes what is missing, reads back what is there."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beyondkernels.core import InputError, StoreError, require
from beyondkernels.execution import Event, Executor, LocalExecutor, gather
from beyondkernels.execution.costs import Costs, Round, kind_of
from beyondkernels.lab.catalogue import CATALOGUE
from beyondkernels.lab.declaration import Experiment, Label
from beyondkernels.lab.declaration.user_files import portable, source_file
from beyondkernels.lab.report import Claim
from beyondkernels.lab.report.numbers import plain
from beyondkernels.lab.request.progress import Display, Observer
from beyondkernels.lab.request.request import Request, ask
from beyondkernels.lab.request.result import Result
from beyondkernels.store import PROCESSOR, RunSpec, Store, StoredRun, provenance, require_device
from beyondkernels.store.keys import checksum
from beyondkernels.store.witness import forget_witnesses

DEFAULT_STORE = "store"
"""Where runs are kept unless ``--store`` or ``BK_STORE`` says otherwise."""

MOST_ROUNDS = 100
"""An experiment that asks for new runs more often than this will never come to an end."""


def run(
    name: str | Experiment | Request,
    scale: str = "laptop",
    *,
    seeds: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = PROCESSOR,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    progress: bool = True,
    command: str | None = None,
    observer: Observer | None = None,
    executor: Executor | None = None,
) -> Result:
    """Run an experiment, or what is missing of it, and return its result: the twin of ``bk run``.

    Arguments:
        name: an id, ``path/file.py:NAME``, an experiment itself, or a request, which says all that follows.
        scale: ``smoke``, ``laptop`` or ``paper``.
        seeds: how many, or which.
        settings: settings to replace, by name.
        device: where networks train, such as ``cuda``; runs that compute nowhere else stay on the processor.
        workers: worker processes; by default one for each core.
        store: where runs are kept.
        progress: whether to show how far it is: a bar on a terminal or in a notebook, lines elsewhere.
        command: the command line, kept as provenance.
        observer: is told how it goes, in place of that display.
        executor: what performs the runs; by default local workers.

    The result has ``claims``, ``rows``, ``table`` and ``to_frame()``; a notebook shows it as a page.
    """
    request = name if isinstance(name, Request) else ask(name, scale, seeds, settings, device)
    require_device(request.device)
    forget_witnesses()
    _ = request.first_round  # whatever is wrong with the input is said before a store is made
    files = source_file(request.name, request.experiment)
    executor = executor or LocalExecutor(workers, load=files, command=command)
    where, executor = _opened(store_path(store), executor) if not isinstance(store, Store) else (store, executor)
    started = time.monotonic()
    made = provenance(command or request.command()) | _of_the_user(files)
    # kept from the start, so that a report can show what an interrupted call has done
    if not where.read_only:
        document = _document(request, request.first_round, {}, [], made, complete=False)
        where.write_request(request.experiment.id, document)
    with Display() if progress and observer is None else contextlib.nullcontext(observer or Observer()) as told:
        finished, missing, specs, crashes = _rounds(request, where, executor, told)
    made["seconds"] = round(time.monotonic() - started, 1)
    if by_code := sorted({name for spec in specs.values() for name in (spec.witness or {}).get("by_code", ())}):
        made["known_by_code_only"] = ", ".join(by_code)
    result = Result(request, finished, missing, made, crashes=crashes)
    if not where.read_only:
        document = _document(request, specs, finished, result.claims, made, complete=True)
        where.write_request(request.experiment.id, {**document, "costs": _costs(specs, finished).as_json()})
    return result


def stored(document: Mapping[str, Any], store: Store, name: str | None = None) -> Result:
    """The result of an earlier request, from stored runs alone.

    No file that only the document names is loaded: a store from elsewhere must not run code here.

    Arguments:
        document: a request as the store keeps it.
        store: the store.
        name: the user's file that this call names, as ``path/file.py:NAME``. Without it only experiments of this
            package are found: a store may come from anybody, so no file is loaded because a store names it.
    """
    if name is None and document["experiment"] not in CATALOGUE:
        raise InputError(f"{document['experiment']} is no experiment of this package: name its file, as FILE.py:NAME")
    device = document.get("device", PROCESSOR)
    request = ask(name or document["experiment"], document["scale"], document["seeds"], document["settings"], device)
    finished: dict[Label, StoredRun] = {}
    missing: dict[Label, str] = {}
    for new in _new(request, finished, missing):
        there = {label: run for label, spec in new.items() if (run := store.find(spec)) is not None}
        finished |= there
        missing |= {label: "not in the store" for label in new if label not in there}
    interrupted = not document["complete"]
    return Result(request, finished, missing, dict(document["provenance"]), interrupted)


def store_path(given: str | Path | None) -> Path:
    """The store's directory: what is given, else ``BK_STORE``, else ``store`` here."""
    require(given is None or str(given) != "", "the store must be a directory, got an empty name")
    return Path(given or os.environ.get("BK_STORE") or DEFAULT_STORE)


@dataclasses.dataclass(frozen=True)
class _Refusing:
    """Performs nothing, since the store cannot be written.

    Arguments:
        error: why.
    """

    error: StoreError

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Generator[Event]:
        missing = f"{len(specs)} run{'s are' if len(specs) > 1 else ' is'} missing in it"
        raise StoreError(f"{self.error}; {missing}") from self.error


def _opened(path: Path, executor: Executor) -> tuple[Store, Executor]:
    """The store, and what performs runs: a store that can only be read serves what it holds."""
    try:
        return Store.open(path), executor
    except StoreError as error:
        if not path.is_dir():
            raise
        with contextlib.suppress(StoreError):
            return Store.open(path, create=False, read_only=True), _Refusing(error)
        raise


def _of_the_user(files: Sequence[str | Path]) -> dict[str, Any]:
    """Where an experiment comes from that is none of this package: its file, and not the commit of the package."""
    told = [f"{Path(file).name}, SHA-256 {checksum(Path(file).read_bytes())[:16]}" for file in files]
    return {"commit": None, "dirty": None, "file": "; ".join(told)} if told else {}


def _rounds(
    request: Request, store: Store, executor: Executor, observer: Observer
) -> tuple[dict[Label, StoredRun], dict[Label, str], dict[Label, RunSpec], dict[Label, Event]]:
    crashes: dict[Label, Event] = {}
    finished: dict[Label, StoredRun] = {}
    missing: dict[Label, str] = {}
    specs: dict[Label, RunSpec] = {}
    remembered = Costs.of_requests(d for d in store.requests() if d["experiment"] == request.experiment.id)
    for new in _new(request, finished, missing):
        specs |= new
        names = {spec.key: " ".join(map(str, label)) for label, spec in new.items()}
        costs = remembered | _costs(specs, finished)

        def planned(todo: Sequence[RunSpec], stored: int, names: dict[str, str] = names, costs: Costs = costs) -> None:
            kinds = {spec.key: kind_of(spec) for spec in todo}
            observer.planned(request, Round({key: names[key] for key in kinds}, stored, kinds, costs))

        found = gather(new.values(), store, executor, planned, observer.happened)
        # in the plan's order, whatever was stored before: a resumed call gives the rows of an undisturbed one
        finished |= {label: found.runs[spec.key] for label, spec in new.items() if spec.key in found.runs}
        missing |= {label: found.missing[spec.key] for label, spec in new.items() if spec.key in found.missing}
        crashes |= {label: found.crashes[spec.key] for label, spec in new.items() if spec.key in found.crashes}
    return finished, missing, specs, crashes


def _new(
    request: Request, finished: Mapping[Label, StoredRun], missing: Mapping[Label, str]
) -> Iterator[dict[Label, RunSpec]]:
    """Round after round, the runs that are asked for the first time. Between rounds the caller fills both dicts."""
    wanted = request.first_round
    for _ in range(MOST_ROUNDS):
        new = {label: spec for label, spec in wanted.items() if label not in finished and label not in missing}
        if not new:
            return
        yield new
        wanted = request.specs(finished)
    raise InputError(
        f"{type(request.experiment).__name__}.runs asked for new runs {MOST_ROUNDS} times in a row; "
        "a plan must come to an end (finished runs are kept)"
    )


def _costs(specs: Mapping[Label, RunSpec], finished: Mapping[Label, StoredRun]) -> Costs:
    """What the finished runs took, by kind."""
    costs = Costs()
    for label, run in finished.items():
        if (seconds := run.provenance.get("seconds")) is not None:
            costs.add(kind_of(specs[label]), seconds)
    return costs


def _document(
    request: Request,
    specs: Mapping[Label, RunSpec],
    finished: Mapping[Label, StoredRun],
    claims: Sequence[Claim],
    made: dict[str, Any],
    *,
    complete: bool,
) -> dict[str, Any]:
    return plain(
        {
            "name": portable(request.name),
            "experiment": request.experiment.id,
            "scale": request.scale,
            "seeds": list(request.seeds),
            "settings": dataclasses.asdict(request.settings),
            **({} if request.device == PROCESSOR else {"device": request.device}),
            "differences": request.differences,
            # as it is in the store: a model may be known again by numbers from another machine, under another key
            "runs": [
                {"label": list(label), "key": finished[label].key if label in finished else spec.key}
                for label, spec in specs.items()
            ],
            "claims": [claim.as_dict() for claim in claims],
            "complete": complete,
            "provenance": made,
        }
    )
