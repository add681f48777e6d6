"""An audit as an experiment: its runs, claims, table and figures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from beyondkernels.auditing import block_learners as where, claims as said, pictures
from beyondkernels.auditing.finding import finding
from beyondkernels.auditing.ladder import ABOUT, KINDS, MODEL, Rung, ladder
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject, subject_of
from beyondkernels.core import Outcome, Reference, require
from beyondkernels.engine import TrainedNetwork
from beyondkernels.lab import At, Experiment, Picture, Rows, Runs, Shown, Statement, Table
from beyondkernels.lab.declaration.runs import Finished, Label, Record
from beyondkernels.measure import Ansatz, KernelCourse, LayerChange, PointErrors, SquaredError
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
        called = name or getattr(self.subject.network, "name", None) or type(self.subject.network).__name__
        require(isinstance(called, str), f"name must be a text, got {called!r}")
        self.id = f"audit/{re.sub(r'[^a-z0-9]+', '-', called.lower()).strip('-') or 'model'}"
        self.summary = _summary(self.subject, called)
        self.quantities = said.quantities(self.subject)

    def rungs(self, settings: AuditSettings) -> list[Rung]:
        """The ladder; without that part the model alone."""
        rungs = ladder(self.subject, settings, self.workers)
        return rungs if "ladder" in settings.parts else [rung for rung in rungs if rung.name == MODEL]

    def runs(self, settings: AuditSettings) -> Sequence[Runs]:
        """The rungs of the ladder, the model with a block frozen, and the model corrected from above."""
        subject = self.subject
        learners = {rung.name: rung for rung in self.rungs(settings) if rung.make is not None}

        def rung(s: AuditSettings, at: At) -> RunSpec:
            make = learners[at.rung].make
            assert make is not None, "only rungs that can be had are run"
            if at.rung == MODEL:
                return self._looked_into(s, at)
            same = not learners[at.rung].drawn and subject.same_sample  # then all seeds share one run
            return self._spec(make(), at.with_(seed=0) if same else at)

        found: list[Runs] = [_Timed(rung, {"part": ["ladder"], "rung": list(learners)}, self._read)]
        if "where" in settings.parts and (blocks := list(where.looked_at(subject, settings))):
            found.append(
                _Timed(
                    lambda _, at: self._spec(where.frozen(subject, at.block), at),
                    {"part": ["frozen"], "block": blocks},
                    self._read,
                )
            )
            found.append(
                _Timed(
                    lambda _, at: self._spec(where.corrected(subject, at.block, at.below), at),
                    {"part": ["correction"], "block": list(where.corrected_blocks(subject, settings))}
                    | {"below": list(where.BELOW)},
                    self._read,
                )
            )
        return found

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
        """What was found, in a few sentences."""
        return finding(self.subject, settings, rows)

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

    def _looked_into(self, s: AuditSettings, at: At) -> RunSpec:
        """The model, with what is recorded and measured while it trains."""
        subject, moments = self.subject, self.subject.moments(s.snapshots)
        records = sorted({round(i * subject.steps / RECORDS) for i in range(RECORDS + 1)})
        measurements: list[Any] = []
        if "when" in s.parts and not subject.no_tangent:
            near = s.tolerance / 100
            measurements.append(KernelCourse(s.points, s.points, accuracy_tolerance=near, variance_tolerance=near))
        if "where" in s.parts:
            measurements.append(LayerChange(s.points))
        if "what" in s.parts:
            measurements.append(Ansatz(s.points))
        kept = {"snapshot_at": moments, "snapshot_names": ("all",)} if measurements else {}
        learner = TrainedNetwork(subject.network, subject.rule, tuple(records), **kept)
        spec = self._spec(learner, at)
        return dataclasses.replace(spec, measurements=(*spec.measurements, *measurements))

    def _spec(self, learner: Any, at: At) -> RunSpec:
        subject = self.subject
        other = isinstance(learner, TrainedNetwork) and not subject.has_squared_loss
        more = (PointErrors(), SquaredError()) if other else (PointErrors(),)
        return RunSpec(subject.problem, learner, subject.samples, subject.test, at.seed, measurements=more)

    def _read(self, settings: AuditSettings, at: At, outcome: Outcome) -> Record:
        """The score on test and training points, what kind of rung it is, and everything else that a run says."""
        kind = {"kind": KINDS[ABOUT[at.rung][0]]} if "rung" in at else {}
        if outcome.status != "finished":
            return kind
        return {**kind, **self.subject.score(outcome.scalars, at.seed), **outcome.scalars}


@dataclass(frozen=True)
class _Timed(Runs):
    """Runs whose rows also say how long each took."""

    def _read(self, settings: Any, at: At, finished: Finished, label: Label | None = None) -> Iterator[Record]:
        run = finished.get(label or at.label)
        for row in super()._read(settings, at, finished, label):
            yield {**row, "seconds": run.provenance.get("seconds") if run is not None else None}


def _seconds(rows: Rows) -> str | None:
    found = rows["seconds"].dropna().tolist() if "seconds" in rows else []
    return f"{sum(found) / len(found):.3g}" if found else None


def _summary(subject: Subject, name: str) -> str:
    what = "the class" if subject.classes else "the numbers"
    return (
        f"The model {name} learns {what} of {subject.samples} points in {subject.steps} steps and is tested on "
        f"{subject.test}. It has {len(subject.blocks)} block{'' if len(subject.blocks) == 1 else 's'}."
    )
