"""An audit as an experiment: its runs, claims, table and figures."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beyondkernels.auditing import block_learners as where, claims as said, pictures
from beyondkernels.auditing.checks import Finding, as_markdown
from beyondkernels.auditing.data_checks import oddities, repeated_share
from beyondkernels.auditing.finding import finding
from beyondkernels.auditing.health import health
from beyondkernels.auditing.ladder import ABOUT, KINDS, MODEL, Rung, ladder
from beyondkernels.auditing.probes import (
    FACTORS,
    FOLLOWING,
    TUNED,
    axis,
    changed,
    changes,
    missed,
    rehearsals,
    scaled,
    why_not,
)
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.starts import Start, start_of
from beyondkernels.auditing.subject import Subject, subject_of
from beyondkernels.core import Outcome, Reference, require, shown
from beyondkernels.engine import TrainedNetwork
from beyondkernels.lab import At, Experiment, Picture, Rows, Runs, Searched, Shown, Statement, Table, select
from beyondkernels.lab.declaration.runs import FIRST_SEARCH_SEED, Finished, Label, Record
from beyondkernels.measure import Ansatz, KernelCourse, LayerChange, Modes, OutputSpread, PointErrors, SquaredError
from beyondkernels.store import RunSpec

RECORDS = 20
"""How often the loss is recorded while the model trains."""


class Audit(Experiment):
    """How much of a model's accuracy comes from learning features, when they appear, where, and what they are.

    It is an experiment like those of the papers: ``bk.run`` and ``bk run file.py:NAME`` run it, its runs are stored,
    and a report shows it. :func:`beyondkernels.auditing` makes one and runs it.

    Arguments:
        model: a ``torch.nn.Module``, a network, or a named function of (in_dim, out_dim) that makes a module.
        train: training data in any form that :func:`beyondkernels.fit` takes, or a problem.
        test: test data, or the fraction of the data that is put aside.
        name: what to call it.
        settings: fields of :class:`AuditSettings` by name.
        options: as in :func:`beyondkernels.fit`: ``epochs``, ``rate``, ``loss``, ``algorithm``, ``n``, …, and
            ``blocks`` for paths of the modules that are the model's blocks.
    """

    reference = Reference(None, "an audit of one's own model")
    title = "What does the model learn that a kernel does not?"
    scaled, command = False, "audit"
    text_file = "audit.md"

    def __init__(
        self,
        model: Any,
        train: Any,
        test: Any = None,
        *,
        name: str | None = None,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        given = AuditSettings(**(settings or {}))
        self.settings_class = lambda: given
        self.workers = 1  # how many share the memory
        self.subject: Subject = subject_of(model, train, test=test, **options)
        self.rehearsals = rehearsals(self.subject)
        self.in_words = "algorithm" not in options and isinstance(options.get("optimiser", "adam"), str)
        self._given = (name, test, given, options)
        called = name or getattr(self.subject.network, "name", None) or type(self.subject.network).__name__
        require(isinstance(called, str), f"name must be a text, got {called!r}")
        self.id = f"audit/{re.sub(r'[^a-z0-9]+', '-', called.lower()).strip('-') or 'model'}"
        self.summary = _summary(self.subject, called)
        self.quantities = said.quantities(self.subject)

    def rungs(self, settings: AuditSettings) -> list[Rung]:
        """The ladder; without that part the model alone."""
        rungs = self.ladder(self.subject, settings)
        return rungs if "ladder" in settings.parts else [rung for rung in rungs if rung.name == MODEL]

    def ladder(self, subject: Subject, settings: AuditSettings) -> list[Rung]:
        """All rungs.

        Arguments:
            subject: what is audited, or the same with another learning rate.
            settings: how.
        """
        return ladder(subject, settings, self.workers)

    def runs(self, settings: AuditSettings) -> Sequence[Runs]:
        """The rungs of the ladder, other learning rates, the model with a block frozen, and corrected from above."""
        subject = self.subject
        names = [rung.name for rung in self.rungs(settings) if rung.make is not None]
        found = [
            self._grid(settings, self._rung, {"part": ["ladder"], "rung": [name]}, name in (*TUNED, *FOLLOWING))
            for name in names
        ]
        if self.probed(settings) and not settings.tune:
            over = {"part": ["probe"], "learner": [MODEL], "repeat": list(range(len(self.rehearsals)))}
            tries = [{"factor": list(FACTORS)}, {"factor": [1.0], "change": changes(subject)}]
            found += [_Timed(self._tried, over | each, self._read, seeds=1) for each in tries if all(each.values())]
        if "where" in settings.parts and (blocks := list(where.looked_at(subject, settings))):
            over = {"part": ["frozen"], "block": blocks}
            found.append(
                self._grid(settings, lambda _, at: self._spec(where.frozen(self._scaled(at), at.block), at), over)
            )
            below = list(where.BELOW)
            over = {"part": ["correction"], "block": list(where.corrected_blocks(subject, settings)), "below": below}
            found.append(
                self._grid(
                    settings, lambda _, at: self._spec(where.corrected(self._scaled(at), at.block, at.below), at), over
                )
            )
        return found

    def probed(self, settings: AuditSettings) -> bool:
        """Whether other learning rates are tried.

        Arguments:
            settings: how.
        """
        wanted = settings.tune or ("ladder" in settings.parts and settings.probes)
        return wanted and bool(self.rehearsals)

    def _grid(
        self, settings: AuditSettings, spec: Callable[[AuditSettings, At], RunSpec], over: dict[str, Any], tuned=True
    ) -> Runs:
        """Runs over coordinates, and the search for the factor that they are to have if rates are tuned.

        All that follow the model ask for the same search runs, which are done once.
        """
        if not (settings.tune and tuned):
            return _Timed(spec, over, self._read)
        why = why_not(self.subject) or "there are too few training points to put some aside"
        require(bool(self.rehearsals), f"tune must be False here: {why}")
        return _TimedSearch(
            lambda s, at: self._tried(s, at) if at.searching else spec(s, at),
            over,
            self._read,
            axes=lambda _: {"factor": axis(settings)},
            criteria={"held out": lambda _, outcome: missed(self.rehearsals[0], outcome, FIRST_SEARCH_SEED)},
            search_seeds=1,
            show_search=True,
        )

    def _scaled(self, at: At) -> Subject:
        return scaled(self.subject, at.get("factor", 1.0))

    def _rung(self, s: AuditSettings, at: At) -> RunSpec:
        """A rung of the ladder."""
        subject = self._scaled(at)
        if at.rung == MODEL:
            return self._looked_into(subject, s, at)
        rung = next(rung for rung in self.ladder(subject, s) if rung.name == at.rung)
        assert rung.make is not None, "only rungs that can be had are run"
        same = not rung.drawn and subject.same_sample  # then all seeds share one run
        return self._spec(rung.make(), at.with_(seed=0) if same else at)

    def _tried(self, s: AuditSettings, at: At) -> RunSpec:
        """A rung of its own search, or the model, with a factor or another change, on training points alone."""
        repeat = at.get("repeat", 0)
        subject = changed(scaled(self.rehearsals[repeat], at.factor), at.get("change"))
        at = at.with_(seed=FIRST_SEARCH_SEED + repeat)  # so that a search finds what was tried without one
        name = at.get("rung", MODEL)
        if name == MODEL or name not in TUNED:  # what follows the model asks for the model's search
            learner = TrainedNetwork(subject.network, subject.rule, _records(subject))
            return self._spec(learner, at, subject)
        rung = next(rung for rung in self.ladder(subject, s) if rung.name == name)
        assert rung.make is not None, "only rungs that can be had are run"
        return self._spec(rung.make(), at, subject)

    def claims(self, settings: AuditSettings) -> Sequence[Statement]:
        """What can be said of every model, and turns out true or false of this one."""
        return said.claims(self.subject, settings, [rung.name for rung in self.rungs(settings) if rung.make])

    def table(self, settings: AuditSettings) -> Table:
        """The ladder."""
        interval = Shown("interval", show=lambda rows: said.interval_of(self.subject, rows))
        return Table(
            ["rung", "kind"], ["score", interval, "train_score", Shown("seconds", show=_seconds)], {"part": "ladder"}
        )

    def figures(self, settings: AuditSettings) -> Sequence[Picture]:
        """The ladder, and what each part has found."""
        return pictures.pictures(self.subject, settings, self.table(settings))

    def finding(self, settings: AuditSettings, rows: Rows) -> str:
        """What was found, in a few sentences, the health of the training first."""
        return finding(self.subject, settings, rows, self.health(settings, rows))

    def health(self, settings: AuditSettings, rows: Rows) -> list[Finding]:
        """Whether the model is trained well enough to speak of.

        Arguments:
            settings: how it is audited.
            rows: what the runs say.
        """
        odd, repeated = self._oddities
        return health(self.subject, settings, rows, self.rehearsals, self.in_words, self._start, odd, repeated)

    @functools.cached_property
    def _oddities(self) -> tuple[dict[str, str], float]:
        return oddities(self.subject), repeated_share(self.subject)

    @functools.cached_property
    def _start(self) -> Start | None:
        return start_of(self.subject)

    def tuned(self, rows: Rows) -> list[dict[str, Any]]:
        """What the searches chose; nothing if nothing was searched.

        Arguments:
            rows: what the runs say.
        """
        found = []
        for rung in TUNED:
            runs = select(rows, {"part": "ladder", "rung": rung})
            tried = select(rows, {"part": "probe", "learner": rung})
            if "choice" not in runs or runs["choice"].isna().all():
                continue
            factor = float(runs["factor"].iloc[0])
            rule = self.subject.own_rule
            given = rule.first_rate if rule is not None else math.nan
            found.append(
                {
                    "rung": rung,
                    "given": given,
                    "chosen": given * factor,
                    "held_out": float(tried[tried["factor"] == factor]["score"].iloc[0]),
                    "tried": len(tried),
                    "on_edge": bool(runs["on_edge"].iloc[0]),
                }
            )
        return found

    def opening(self, settings: AuditSettings, rows: Rows) -> str:
        """The checks of the training."""
        return as_markdown(self.health(settings, rows))

    def call(self, seeds: Sequence[int], changes: Mapping[str, Any]) -> str:
        """The call that makes this audit; a module and data have no names that could be known here."""
        name, test, given, options = self._given
        usual = {field.name: field.default for field in dataclasses.fields(AuditSettings)}
        settings = {key: value for key, value in vars(given).items() if value != usual[key]} | dict(changes)
        which = len(seeds) if list(seeds) == list(range(len(seeds))) else list(seeds)
        points = [] if test is None else [str(test) if isinstance(test, int | float) else "test"]
        named = ({} if name is None else {"name": name}) | options | settings | {"seeds": which}
        words = ["model", "train", *points, *(f"{key}={shown(value, 300)}" for key, value in named.items())]
        return f"bk.audit({', '.join(words)})"

    def remarks(self, settings: AuditSettings) -> Sequence[str]:
        """What each rung is, and which could not be had."""
        rungs = self.rungs(settings)
        listed = "\n".join(f"- **{rung.name}** ({KINDS[rung.kind]}): {rung.about}" for rung in rungs if rung.make)
        missing = [f"{name} ({why})" for name, why in self.left_out(settings).items()]
        blocks = ", ".join(f"`{name}`" for name in self.subject.block_names)
        told = [f"## The rungs\n\n{listed}", f"## The blocks\n\nFrom input to output: {blocks}."]
        return [*told, *([f"Left out: {'; '.join(missing)}."] if missing else [])]

    def left_out(self, settings: AuditSettings) -> dict[str, str]:
        """The rungs and measurements that this model cannot have, and why."""
        found = {rung.name: rung.why for rung in self.rungs(settings) if rung.make is None}
        if "when" in settings.parts and self.subject.no_tangent:
            found["kernels over training"] = self.subject.no_tangent
        return found

    def _looked_into(self, subject: Subject, s: AuditSettings, at: At) -> RunSpec:
        """The model, with what is recorded and measured while it trains."""
        moments = subject.moments(s.snapshots)
        measurements: list[Any] = []
        if "when" in s.parts and not subject.no_tangent:
            near = s.tolerance / 100
            measurements.append(KernelCourse(s.points, s.points, accuracy_tolerance=near, variance_tolerance=near))
        if "where" in s.parts:
            measurements.append(LayerChange(s.points))
        if "what" in s.parts:
            measurements.append(Ansatz(s.points))
        kept = {"snapshot_at": moments, "snapshot_names": ("all",)} if measurements else {}
        learner = TrainedNetwork(subject.network, subject.rule, _records(subject), **kept)
        spec = self._spec(learner, at)
        batch = subject.own_rule.batch if subject.own_rule is not None else None
        ends = (OutputSpread(), Modes(batch)) if "ladder" in s.parts else ()
        return dataclasses.replace(spec, measurements=(*spec.measurements, *ends, *measurements))

    def _spec(self, learner: Any, at: At, subject: Subject | None = None) -> RunSpec:
        subject = subject or self.subject
        other = isinstance(learner, TrainedNetwork) and not subject.has_squared_loss
        more = (PointErrors(), SquaredError()) if other else (PointErrors(),)
        return RunSpec(subject.problem, learner, subject.samples, subject.test, at.seed, measurements=more)

    def _read(self, settings: AuditSettings, at: At, outcome: Outcome) -> Record | list[Record]:
        """The score on test and training points, what kind of rung it is, and everything else that a run says."""
        tried = at.searching or at["part"] == "probe"
        learner = at.get("learner", at.get("rung"))
        if tried and learner not in TUNED:
            return []  # the search of the model, which has rows of its own
        repeat = at.get("repeat", 0)
        subject, seed = (self.rehearsals[repeat], FIRST_SEARCH_SEED + repeat) if tried else (self.subject, at.seed)
        kind = (
            {"part": "probe", "rung": None, "learner": learner}
            if tried
            else {"kind": KINDS[ABOUT[at.rung][0]]}
            if "rung" in at
            else {}
        )
        if outcome.status != "finished":
            return kind
        return {**kind, **subject.score(outcome.scalars, seed), **outcome.scalars}


@dataclass(frozen=True)
class _Timed(Runs):
    """Runs whose rows also say how long each took."""

    def _read(self, settings: Any, at: At, finished: Finished, label: Label | None = None) -> Iterator[Record]:
        run = finished.get(label or at.label)
        for row in super()._read(settings, at, finished, label):
            yield {**row, "seconds": run.provenance.get("seconds") if run is not None else None}


@dataclass(frozen=True)
class _TimedSearch(_Timed, Searched):
    """The same for runs with a coordinate that a search finds."""


def _records(subject: Subject) -> tuple[int, ...]:
    """The steps at which the loss is recorded."""
    return tuple(sorted({round(i * subject.steps / RECORDS) for i in range(RECORDS + 1)}))


def _seconds(rows: Rows) -> str | None:
    found = rows["seconds"].dropna().tolist() if "seconds" in rows else []
    return f"{sum(found) / len(found):.3g}" if found else None


def _summary(subject: Subject, name: str) -> str:
    what = "the class" if subject.classes else "the numbers"
    return (
        f"The model {name} learns {what} of {subject.samples} points in {subject.steps} steps and is tested on "
        f"{subject.test}. It has {len(subject.blocks)} block{'' if len(subject.blocks) == 1 else 's'}."
    )
