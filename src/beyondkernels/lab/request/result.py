"""What came of a request: rows, claims, table, page."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beyondkernels.execution import Event
from beyondkernels.lab.declaration import Label, Reading, Rows, described, tidy
from beyondkernels.lab.report import Claim, Column, ExperimentPage, Setting
from beyondkernels.lab.report.claims import NOT_EVALUATED
from beyondkernels.lab.report.numbers import plain
from beyondkernels.lab.report.verdicts import count_verdicts, verdict_sentence
from beyondkernels.lab.request.checks import settings_of
from beyondkernels.lab.request.request import Request
from beyondkernels.store import PROCESSOR, StoredRun

_PROVENANCE = ("version", "commit", "dirty", "command", "libraries", "cpu", "seconds")
_OF_A_USER = ("file", "known_by_code_only")


@dataclass(frozen=True, repr=False)
class Result:
    """What came of a request; everything below is computed once, from the runs that are there.

    Arguments:
        request: what was asked.
        finished: the runs that are there, by label.
        missing: the runs that are not, by label, each with the reason.
        provenance: with what it was made.
        interrupted: whether the call that made it came to no end.
        crashes: the last event of each run that crashed in this call, with its ``message``, the ``frames`` in the
            user's code and the whole ``traceback``.
    """

    request: Request
    finished: Mapping[Label, StoredRun]
    missing: Mapping[Label, str]
    provenance: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    crashes: Mapping[Label, Event] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Result {self.request.words()}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from beyondkernels.lab.report.notebook import experiment_html

        return experiment_html(self.page())

    @property
    def finding(self) -> str:
        """What was found, in a few sentences, where the experiment says such; nothing while runs are missing."""
        return "" if self.missing else self.reading.finding

    @property
    def verdict(self) -> str:
        """How many runs are missing, and how many claims hold, fail or are undecided."""
        told = verdict_sentence(count_verdicts(self.claims))
        return f"{self._gap}; {told}" if self.missing else told

    @functools.cached_property
    def reading(self) -> Reading:
        """What the finished runs say."""
        asked = self.request
        return Reading(asked.experiment, asked.settings, asked.seeds, self.finished, asked.scale)

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a dict for each row."""
        return plain(self.to_frame().to_dict("records"))

    def to_frame(self) -> Rows:
        """The rows as a pandas DataFrame: coordinates, numbers, status, how each run was chosen."""
        return tidy(self.reading.rows)

    @functools.cached_property
    def claims(self) -> list[Claim]:
        """What the paper says, and whether it holds here; while runs are missing no claim is decided."""
        claims = self.request.judge(self.reading.rows)
        if not self.missing:
            return claims
        open_ = {"holds": None, "reason": self._gap, "cause": None, "because": "", "sets": ()}
        return [claim if claim.reason == NOT_EVALUATED else dataclasses.replace(claim, **open_) for claim in claims]

    @functools.cached_property
    def table(self) -> tuple[list[Column], list[dict[str, Any]]]:
        """The table a reader sees: columns and rows; no printed values where the settings are not the paper's."""
        return self.request.table(self.reading.rows)

    @property
    def settings(self) -> list[Setting]:
        """The numbers with their origin."""
        return described(self.request.settings, settings_of(self.request.experiment, "paper"))

    @property
    def holds(self) -> bool:
        """Whether no claim of the paper fails; where none is the paper's, whether none of ours does."""
        papers = [claim for claim in self.claims if claim.source == "paper"]
        return not any(claim.holds is False for claim in papers or self.claims)

    def as_json(self) -> dict[str, Any]:
        """The result as ``bk run --json`` writes it."""
        return plain(
            {
                "experiment": self.request.experiment.id,
                "scale": self.request.scale,
                "seeds": list(self.request.seeds),
                "settings": dataclasses.asdict(self.request.settings),
                **({} if self.request.device == PROCESSOR else {"device": self.request.device}),
                "rows": self.rows,
                "claims": [claim.as_dict() for claim in self.claims],
                "provenance": {name: self.provenance.get(name) for name in _PROVENANCE}
                | {name: self.provenance[name] for name in _OF_A_USER if name in self.provenance},
            }
        )

    def page(self) -> ExperimentPage:
        """What ``bk report`` writes for this result: claims, table, figures, settings, notes."""
        request, experiment = self.request, self.request.experiment
        columns, rows = self.table
        return ExperimentPage(
            id=experiment.id,
            title=experiment.title,
            finding=self.finding,
            opening="" if self.missing else self.reading.opening,
            summary=experiment.summary_of(request.settings),
            reference=str(experiment.reference),
            scale=request.scale if experiment.scaled else "",
            seeds=request.seeds,
            claims=self.claims,
            rows=rows,
            columns=columns,
            figures=self.reading.figures,
            settings=self.settings,
            provenance=self.provenance,
            command=request.command(),
            notes=[*experiment.notes(request.settings), *self._missing_notes()],
            published=request.published,
            departures=request.departures,
            variant=request.differences,
            missing=len(self.missing),
        )

    @property
    def _gap(self) -> str:
        missing, all_runs = len(self.missing), len(self.missing) + len(self.finished)
        return f"{missing} of {all_runs} runs {'is' if missing == 1 else 'are'} missing"

    def _missing_notes(self) -> list[str]:
        """Why runs are missing; of a call that was interrupted the page itself says so."""
        if not self.missing or self.interrupted:
            return []
        why = "; ".join(sorted(set(self.missing.values())))
        return [f"Missing runs: {len(self.missing)} ({why})."]
