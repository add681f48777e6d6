"""Short tries of other rates and rules on held-out training points, and how to say what to change."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from beyondkernels.auditing.ladder import MODEL
from beyondkernels.auditing.probes import CHANGES, Change
from beyondkernels.auditing.scores import error_over_points, score_at_points
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome
from beyondkernels.lab import Rows, select
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.lab.declaration.runs import FIRST_SEARCH_SEED

NORMAL = 1.96
"""Standard errors of a 95 % interval."""


@dataclass(frozen=True)
class Words:
    """How to say what to change.

    Arguments:
        subject: what is audited.
        factor: of the learning rate, with which the model was trained.
        in_words: whether the rule was given in words.
    """

    subject: Subject
    factor: float
    in_words: bool

    def rate(self, factor: float) -> str:
        rule = self.subject.own_rule
        if rule is None or not self.in_words:
            return f"an algorithm with {times(factor)} the learning rate"
        return f"bk.audit(…, learning_rate={float(f'{rule.first_rate * self.factor * factor:.3g}'):g})"

    def longer(self, factor: float) -> str:
        rule = self.subject.own_rule
        if rule is None or not self.in_words:
            return f"an algorithm with {times(factor)} the steps"
        epochs = round(self.subject.steps * (rule.batch or self.subject.samples) / self.subject.samples)
        return f"bk.audit(…, epochs={max(1, round(factor * epochs))})"


def times(factor: float) -> str:
    """A factor in words, such as ``half``."""
    known = {0.2: "a fifth of", 0.5: "half", 2.0: "twice", 5.0: "five times"}
    return known.get(factor, f"{factor:g} times")


Try = tuple[float, Change | None]
"""The factor of the learning rate, and what else is changed."""


@dataclass(frozen=True)
class Tries:
    """The model's runs on training points alone, by what was changed; of each one for every split of the points.

    Arguments:
        subjects: the rehearsals, one for each split.
        runs: those that ended with every split.
        diverged: those with which training diverged.
        factor: the one with which the model was trained.
    """

    subjects: Sequence[Subject]
    runs: Mapping[Try, Sequence[Outcome]]
    diverged: Sequence[Try]
    factor: float

    @property
    def own(self) -> Try:
        """The model's own rule."""
        return self.factor, None

    @property
    def points(self) -> float:
        """How many different points are held out in all splits together, as a rule."""
        first, splits = self.subjects[0], len(self.runs[self.own])
        every = first.test + first.samples
        return every * (1 - (first.samples / every) ** splits)

    @property
    def where(self) -> str:
        """On which points, in words."""
        times = len(self.runs[self.own])
        each = f"{self.subjects[0].test} held-out training points"
        return f"{times} times {each}" if times > 1 else each

    def score(self, of: Try) -> float:
        """The mean over splits."""
        return float(np.mean(self._scores(of)))

    def lead(self, of: Try, spread: float) -> tuple[float, float]:
        """How far a try is ahead of the model's own rule, and half of the 95 % interval of that.

        Splits of the same points overlap. So the variance of a mean over k splits is not 1/k of that of one, but
        1/k + m/n for m points held out and n that are left (Nadeau & Bengio 2003).

        Arguments:
            of: the try.
            spread: the standard deviation over seeds of a difference of two runs, for a single split.
        """
        ahead = np.subtract(self._scores(of), self._scores(self.own))
        error = error_over_points(self._at_points(of), self._at_points(self.own), self.subjects[0].classes)
        k = len(ahead)
        if k == 1:
            return float(ahead[0]), NORMAL * math.hypot(error, spread)
        share = self.subjects[0].test / self.subjects[0].samples
        over_splits = float(student.ppf(0.975, k - 1)) * float(ahead.std(ddof=1)) * math.sqrt(1 / k + share)
        return float(ahead.mean()), max(NORMAL * error, over_splits)

    def _scores(self, of: Try) -> list[float]:
        return [
            subject.score(run.scalars, FIRST_SEARCH_SEED + i)["score"]
            for i, (subject, run) in enumerate(zip(self.subjects, self.runs[of], strict=False))
        ]

    def _at_points(self, of: Try) -> np.ndarray:
        runs = zip(self.runs[of], self._distances, strict=False)
        return np.concatenate([score_at_points(run.arrays["test_errors"], distances) for run, distances in runs])

    @functools.cached_property
    def _distances(self) -> list[np.ndarray | None]:
        if self.subjects[0].classes:
            return [None] * len(self.subjects)
        return [subject.label_distances(FIRST_SEARCH_SEED + i) for i, subject in enumerate(self.subjects)]

    def course(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps, loss and score on the points held out, while the model trains with its own rule; means over splits."""
        losses, scores, steps = [], [], np.zeros(0)
        for i, run in enumerate(self.runs[self.own]):
            subject = self.subjects[i]
            steps, loss = run.over("test_loss")
            if subject.classes:
                score = 100 * run.series["test_accuracy"]
            elif subject.has_squared_loss:
                score = 100 * (1 - loss / subject.spread("test", FIRST_SEARCH_SEED + i))
            else:
                score = -100 * loss / loss[-1]
            losses.append(loss)
            scores.append(score)
        return steps, np.mean(losses, 0), np.mean(scores, 0)


def tries_of(rows: Rows, rehearsals: Sequence[Subject]) -> Tries | None:
    """What was tried with the model; None if the model's own rule was not, or diverged."""
    mine = select(rows, {"part": "probe", "learner": MODEL})
    if not rehearsals or mine.empty:
        return None
    runs: dict[Try, list[Outcome]] = {}
    for row in mine.to_dict("records"):
        change: Change | None = next((each for each in CHANGES if each == row.get("change")), None)
        runs.setdefault((float(row["factor"]), change), []).append(row[OUTCOME])  # splits come in their order
    ended = {key: each for key, each in runs.items() if all(run.status == "finished" for run in each)}
    model = select(rows, {"part": "ladder", "rung": MODEL})
    chosen = model["factor"].dropna().tolist() if "factor" in model else []
    factor = float(chosen[0]) if chosen else 1.0
    lost = [key for key in runs if key not in ended]
    return Tries(rehearsals, ended, lost, factor) if (factor, None) in ended else None
