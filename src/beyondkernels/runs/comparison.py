"""Several learners on one problem, side by side."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.runs.run import Run
from beyondkernels.runs.views import html_view, in_words

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Comparison:
    """The runs of several learners on one problem, by name."""

    runs: Mapping[str, tuple[Run, ...]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each learner: every scalar's mean over the finished runs, and its spread (standard deviation)."""
        rows = []
        for name, runs in self.runs.items():
            ended = [run for run in runs if run.status == "finished"]
            row: dict[str, Any] = {"learner": name, "seeds": len(runs), "diverged": len(runs) - len(ended)}
            for scalar in ended[0].outcome.scalars if ended else ():
                values = [run.outcome.scalars[scalar] for run in ended]
                row[scalar] = statistics.fmean(values)
                row[f"{scalar}_spread"] = statistics.stdev(values) if len(values) > 1 else None
            rows.append(row)
        return rows

    def to_frame(self) -> DataFrame:
        """A table with a row for each learner and seed: status and scalars."""
        import pandas as pd

        return pd.DataFrame(
            [{"learner": name, "seed": run.seed, **run.as_row()} for name, runs in self.runs.items() for run in runs]
        )

    def __str__(self) -> str:
        rows, score = self.rows, self._score
        width = max(len("learner"), *(len(row["learner"]) for row in rows))
        lines = [f"{'learner':{width}} {'train':>8} {'test':>8} {'spread':>8}"]
        for row in rows:
            numbers = (row.get(f"train_{score}"), row.get(f"test_{score}"), row.get(f"test_{score}_spread"))
            cells = ["–" if value is None else self._number(value) for value in numbers]
            lines.append(f"{row['learner']:{width}} " + " ".join(f"{cell:>8}" for cell in cells))
        return "\n".join(lines)

    def _number(self, value: float) -> str:
        return f"{100 * value:.2f}%" if self._score == "accuracy" else f"{value:.3g}"

    @property
    def _score(self) -> str:
        """What all learners have: accuracy where labels are ±1, else the loss."""
        return "accuracy" if any("test_accuracy" in row for row in self.rows) else "loss"

    @property
    def _facts(self) -> str:
        first = next(iter(self.runs.values()))
        return f"{in_words(first[0].problem)}, n={first[0].samples}, {len(first)} seed{'' if len(first) == 1 else 's'}"

    def __repr__(self) -> str:
        means = {row["learner"]: row.get(f"test_{self._score}") for row in self.rows}
        found = ", ".join(f"{name} {'–' if value is None else self._number(value)}" for name, value in means.items())
        return f"<Comparison on {self._facts}: test {self._score} {found}>"

    def _repr_html_(self) -> str:
        names = [f"{part}_{self._score}" for part in ("train", "validation", "test")]
        shown = {"learner", "seeds", "diverged", *names, *(f"{name}_spread" for name in names)}
        rows = [{name: value for name, value in row.items() if name in shown} for row in self.rows]
        return html_view("Comparison", self._facts, rows)
