"""What an audit gives back: sentences, tables, figures, a page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beyondkernels.auditing.checks import WORDS, Finding
from beyondkernels.auditing.experiment import Audit
from beyondkernels.auditing.ladder import MODEL
from beyondkernels.auditing.pictures import no_weight_directions
from beyondkernels.core import Outcome
from beyondkernels.lab import Claim, Result, line_text, select, write_report
from beyondkernels.lab.declaration.rows import OUTCOME

if TYPE_CHECKING:
    from pandas import DataFrame


_NAMED = 3
"""Missing runs that a sentence names."""


@dataclass(frozen=True, repr=False)
class AuditResult:
    """The result of :func:`beyondkernels.audit`.

    Arguments:
        result: the result of the experiment that the audit is.
    """

    result: Result

    @property
    def experiment(self) -> Audit:
        """What was run; it can be run again with :func:`beyondkernels.run`."""
        found = self.result.request.experiment
        assert isinstance(found, Audit)
        return found

    @property
    def sentence(self) -> str:
        """What was found: how much of the accuracy is features, when they appear, and in which blocks.

        While runs are missing it says which, and why.
        """
        missing = [f"{' '.join(map(str, label))} ({why})" for label, why in self.result.missing.items()]
        more = f", and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"Runs are missing: {'; '.join(missing[:_NAMED])}{more}." if missing else self.result.finding

    @property
    def claims(self) -> list[Claim]:
        """What can be said of every model, and whether it holds for this one."""
        return self.result.claims

    @functools.cached_property
    def health(self) -> DataFrame:
        """A row for each check of the training: what was checked, the verdict, the evidence, and what to change.

        ``verdict`` is one of ``fine``, ``note``, ``change this first`` and ``not checked``. Where something has to be
        changed first, the sentence says nothing of features, unless the model is clearly ahead.
        """
        import pandas as pd

        columns = ["check", "verdict", "evidence", "change"]
        return pd.DataFrame(
            [[each.check, WORDS[each.verdict], each.evidence, each.change] for each in self._checks], columns=columns
        )

    @functools.cached_property
    def tuned(self) -> DataFrame:
        """A row for each learner that was searched (``tune=True``): what of it, and the value that was chosen.

        ``held_out`` is its score on the training points that were put aside for the search, ``tried`` how many values
        the search had, and ``on_edge`` whether the best one is the last that it may try.
        """
        import pandas as pd

        columns = ["rung", "given", "chosen", "held_out", "tried", "on_edge"]
        return pd.DataFrame(self.experiment.tuned(self.result.reading.rows), columns=columns)

    @functools.cached_property
    def ladder(self) -> DataFrame:
        """A row for each learner of the ladder: its kind, and the mean score with its spread, in points."""
        return self._scores({"part": "ladder"}, ["rung", "kind"])

    @functools.cached_property
    def frozen(self) -> DataFrame:
        """A row for each block: the score of the model if the block is frozen at its start."""
        return self._scores({"part": "frozen"}, ["block"])

    @functools.cached_property
    def correction(self) -> DataFrame:
        """A row for each block and way: lower blocks alone, fixed, fixed after longer training, or released."""
        return self._scores({"part": "correction"}, ["block", "below"])

    @functools.cached_property
    def when(self) -> DataFrame:
        """A row for each seed and step: scores of the model and of frozen kernels, and the kernels' alignments."""
        return self._series(("tangent/", "conjugate/", "model/"))

    @functools.cached_property
    def layers(self) -> DataFrame:
        """A row for each seed and block: weight correlation, move, and feature similarity with the start."""
        import pandas as pd

        names = self.experiment.subject.block_names
        rows = []
        for seed, run in self._models.items():
            for name in names:
                head = f"layer/{name}/"
                found = {key.removeprefix(head): value for key, value in run.scalars.items() if key.startswith(head)}
                rows.append({"seed": seed, "block": name, **found})
        return pd.DataFrame(rows).drop(columns="place", errors="ignore")

    @functools.cached_property
    def directions(self) -> Mapping[str, Any]:
        """The leading directions of the first seed's model: arrays by name, such as ``end/directions``."""
        for run in self._models.values():
            return {name.removeprefix("ansatz/"): value for name, value in run.arrays.items() if "ansatz/" in name}
        return {}

    @functools.cached_property
    def left_out(self) -> Mapping[str, str]:
        """What this model cannot have, and why: rungs of the ladder, kernels over training, parts of the directions."""
        found = self.experiment.left_out(self.result.request.settings)
        why = next(map(no_weight_directions, self._models.values()), "")
        return found | ({"directions of the first layer": why} if why else {})

    def to_frame(self) -> DataFrame:
        """All runs of all parts as a table."""
        return self.result.to_frame()

    def write(self, out: str | Path = "report") -> Path:
        """Write the page with its figures, and return the path of its index.

        Arguments:
            out: the directory.
        """
        return write_report([self.result.page()], out)

    @property
    def _checks(self) -> list[Finding]:
        settings: Any = self.result.request.settings
        return self.experiment.health(settings, self.result.reading.rows)

    def __str__(self) -> str:
        checks = [f"{each.check}: {WORDS[each.verdict]}. {each.evidence}" for each in self._checks]
        lines = [line_text(self.sentence), "", *checks, *([""] if checks else [])]
        ladder = self.ladder
        width = max(map(len, ladder["rung"]), default=0)
        for row in ladder.to_dict("records"):
            spread = f" ± {row['spread']:.2f}" if row["spread"] == row["spread"] else ""
            score = f"{row['score']:7.2f}" if row["score"] == row["score"] else "diverged"
            lines.append(f"{row['rung']:{width}}  {score}{spread}  {row['kind']}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<AuditResult {self.experiment.id}: {line_text(self.sentence)}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    @property
    def _models(self) -> dict[int, Outcome]:
        """The model's own runs by seed."""
        mine = select(self.result.reading.rows, {"part": "ladder", "rung": MODEL})
        return {
            seed: run
            for seed, run in zip(mine.get("seed", ()), mine.get(OUTCOME, ()), strict=True)
            if run.status == "finished"
        }

    def _scores(self, where: dict[str, Any], by: list[str]) -> DataFrame:
        mine: Any = select(self.to_frame(), where)
        if mine.empty:
            import pandas as pd

            return pd.DataFrame(columns=[*by, "score", "spread", "seconds", "seeds"])
        grouped = mine.groupby(by, sort=False)
        found = grouped.agg(
            score=("score", "mean"), spread=("score", "std"), seconds=("seconds", "mean"), seeds=("score", "count")
        )
        return found.reset_index()

    def _series(self, heads: tuple[str, ...]) -> DataFrame:
        import pandas as pd

        parts = []
        for seed, run in self._models.items():
            found = {name: values for name, values in run.series.items() if name.startswith(heads)}
            steps = next((values for name, values in found.items() if name.endswith("/step")), ())
            columns = {name: values for name, values in found.items() if not name.endswith("/step")}
            parts.append(pd.DataFrame({"seed": seed, "step": [int(step) for step in steps], **columns}))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
