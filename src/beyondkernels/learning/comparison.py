"""Several learners on one problem, side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.learning.curves import comparison_pictures
from beyondkernels.learning.notebook_views import html_view, in_words
from beyondkernels.learning.run import PARTS, Run

if TYPE_CHECKING:
    from pandas import DataFrame

_SHARES = frozenset(f"{part}_accuracy" for part in PARTS)
"""The scalars that are shares and shown in per cent."""


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
                if not all(scalar in run.outcome.scalars for run in ended):  # such as a ridge, where one seed has none
                    continue
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
        """What all learners have: accuracy where labels are classes, else the squared error.

        Learners that minimise the squared error call it their loss.
        """
        if any("test_accuracy" in row for row in self.rows):
            return "accuracy"
        both = [
            (row["test_loss"], row.get("test_squared_error", row["test_loss"]))
            for row in self.rows
            if "test_loss" in row
        ]
        same = all(math.isclose(loss, error, rel_tol=1e-4, abs_tol=1e-9) for loss, error in both)
        return "loss" if same else "squared_error"

    @property
    def _facts(self) -> str:
        first = next(iter(self.runs.values()))
        return f"{in_words(first[0].problem)}, n={first[0].samples}, {len(first)} seed{'' if len(first) == 1 else 's'}"

    def __repr__(self) -> str:
        means = {row["learner"]: row.get(f"test_{self._score}") for row in self.rows}
        found = ", ".join(f"{name} {'–' if value is None else self._number(value)}" for name, value in means.items())
        return f"<Comparison on {self._facts}: test {self._score} {found}>"

    def _repr_html_(self) -> str:
        others = ("squared_error", "log_loss", "r2")
        names = [f"{part}_{self._score}" for part in PARTS]
        names += [
            f"test_{other}" for other in others if (other != self._score and self._score != "loss") or other == "r2"
        ]
        rows = []
        for row in self.rows:
            cells = {"learner": row["learner"], "seeds": row["seeds"]} | {name: _cell(row, name) for name in names}
            rows.append(cells | ({"diverged": row["diverged"]} if row["diverged"] else {}))
        empty = {name for name in names if all(row[name] == "–" for row in rows)}
        rows = [{name.replace("_", " "): cell for name, cell in row.items() if name not in empty} for row in rows]
        outcomes = {name: [run.outcome for run in runs] for name, runs in self.runs.items()}
        return html_view("Comparison", self._facts, rows, comparison_pictures(outcomes, self._score))


def _cell(row: Mapping[str, Any], name: str) -> str:
    """The mean of a scalar, and its spread where there are several seeds."""
    mean, spread = row.get(name), row.get(f"{name}_spread")
    if mean is None:
        return "–"
    unit, digits, sign = (100, ".2f", "%") if name in _SHARES else (1, ".3g", "")
    return f"{unit * mean:{digits}}{sign}" + ("" if spread is None else f" ± {unit * spread:.2g}{sign}")
