"""Whether the model was trained well enough to say anything about features."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from beyondkernels.auditing.claims import best_fixed_name
from beyondkernels.auditing.ladder import LINEARISED, MODEL
from beyondkernels.auditing.leads import Lead, lead, signed
from beyondkernels.auditing.probes import FACTORS
from beyondkernels.auditing.scores import error_over_points, score_at_points, scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome
from beyondkernels.lab import Rows, select
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.lab.declaration.runs import FIRST_SEARCH_SEED

Verdict = Literal["fine", "note", "stop", "unknown"]
"""Nothing was found; something was, which is no obstacle by itself; it has to be changed first; it was not checked."""

WORDS: dict[Verdict, str] = {"fine": "fine", "note": "note", "stop": "change this first", "unknown": "not checked"}

GAP = "optimisation gap"
"""The check that has a line of its own."""

NORMAL = 1.96
"""Standard errors of a 95 % interval."""

_LESS_LOSS = 0.1
"""More training is better only if it lowers the loss on held-out points by this share, too. Of labels that are numbers
this share of their variance does as well: a loss of many variances falls slowly."""

_SPREADS, _OFFSET, _SIZE = 10.0, 10.0, 10.0
"""From here on columns are called unscaled: the largest spread over the smallest, a mean in units of its spread, and
the typical size of inputs (or labels) over 1. A layer's usual start expects numbers of size 1. The steps that gradient
descent needs grow with the square of these ratios: a hundred times as many from here on."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Arguments:
        check: what was checked.
        verdict: what came of it.
        evidence: the numbers, in a sentence.
        change: what to change, with the call.
    """

    check: str
    verdict: Verdict
    evidence: str
    change: str = ""


def health(
    subject: Subject, settings: AuditSettings, rows: Rows, rehearsal: Subject | None = None, in_words: bool = True
) -> list[Finding]:
    """All checks, the model's scores first; none without a ladder, or while the model has no run that ended.

    Arguments:
        subject: what is audited.
        settings: how.
        rows: what its runs say.
        rehearsal: the subject of the tries on held-out training points.
        in_words: whether the training rule was given in words, so that the call can name its arguments.
    """
    if "ladder" not in settings.parts or not scores_of(rows, part="ladder", rung=MODEL):
        return []
    tries = _tries(rows, rehearsal)
    words = _Words(subject, tries.factor if tries else 1.0, in_words)
    found = [_fit(subject, settings, rows, words)]
    found += [_rate(settings, rows, tries, words), _end(subject, settings, tries, words)]
    found += [*inputs(subject), *_gap(subject, settings, rows)]
    return found


def stops(found: Sequence[Finding]) -> list[Finding]:
    """The findings without whose change nothing can be said about features."""
    return [each for each in found if each.verdict == "stop"]


@dataclass(frozen=True)
class _Words:
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
            return f"an algorithm with {_times(factor)} the learning rate"
        return f"bk.audit(…, learning_rate={float(f'{rule.first_rate * self.factor * factor:.3g}'):g})"

    def longer(self, factor: float) -> str:
        rule = self.subject.own_rule
        if rule is None or not self.in_words:
            return f"an algorithm with {_times(factor)} the steps"
        epochs = round(self.subject.steps * (rule.batch or self.subject.samples) / self.subject.samples)
        return f"bk.audit(…, epochs={max(1, round(factor * epochs))})"


def _times(factor: float) -> str:
    known = {0.2: "a fifth of", 0.5: "half", 2.0: "twice", 5.0: "five times"}
    return known.get(factor, f"{factor:g} times")


@dataclass(frozen=True)
class _Tries:
    """The model's runs on training points alone, by the factor of the learning rate.

    Arguments:
        subject: the rehearsal.
        runs: those that ended.
        diverged: factors with which training diverged.
        factor: the one with which the model was trained.
    """

    subject: Subject
    runs: Mapping[float, Outcome]
    diverged: tuple[float, ...]
    factor: float

    def score(self, factor: float) -> float:
        return self.subject.score(self.runs[factor].scalars, FIRST_SEARCH_SEED)["score"]

    def error(self, factor: float) -> float:
        """The standard error of the lead of a factor over the model's own, due to the points held out."""
        at = [self._at_points(each) for each in (factor, self.factor)]
        return error_over_points(at[0], at[1], self.subject.classes)

    def _at_points(self, factor: float) -> np.ndarray:
        return score_at_points(self.runs[factor].arrays["test_errors"], self._distances)

    @functools.cached_property
    def _distances(self) -> np.ndarray | None:
        if self.subject.classes:
            return None
        y = self.subject.problem.take("test", self.subject.test, FIRST_SEARCH_SEED).y
        y = y.double().reshape(len(y), -1)
        return (y - y.mean(0)).square().sum(1).numpy(force=True)

    def course(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps, loss and score on the points held out, while the model trains with its own rate."""
        run = self.runs[self.factor]
        steps, loss = run.over("test_loss")
        if self.subject.classes:
            return steps, loss, 100 * run.series["test_accuracy"]
        spread = self.subject.spread("test", FIRST_SEARCH_SEED)
        return steps, loss, 100 * (1 - loss / spread) if self.subject.has_squared_loss else -100 * loss / loss[-1]


def _tries(rows: Rows, rehearsal: Subject | None) -> _Tries | None:
    """What was tried with the model; None if the model's own rate was not, or diverged."""
    mine = select(rows, {"part": "probe", "learner": MODEL})
    if rehearsal is None or mine.empty:
        return None
    runs = dict(zip(mine["factor"].astype(float), mine[OUTCOME], strict=True))
    ended = {factor: run for factor, run in runs.items() if run.status == "finished"}
    model = select(rows, {"part": "ladder", "rung": MODEL})
    chosen = model["factor"].dropna().tolist() if "factor" in model else []
    factor = float(chosen[0]) if chosen else 1.0
    lost = tuple(factor for factor in runs if factor not in ended)
    return _Tries(rehearsal, ended, lost, factor) if factor in ended else None


def _fit(subject: Subject, settings: AuditSettings, rows: Rows, words: _Words) -> Finding:
    """The training score, which must not be below what fixed features reach on new points.

    A trained model knows its training points at least as well as new ones. If fixed features predict new points better
    than the model fits those it was trained on, it is not trained to the end, or too small.
    """
    check = "training and test score"
    runs = select(rows, {"part": "ladder", "rung": MODEL})
    train, test = float(runs["train_score"].mean()), scores_of(rows, part="ladder", rung=MODEL).mean
    evidence = f"The model has {signed(train)} % on training points and {signed(test)} % on test points"
    best = best_fixed_name(rows)
    fixed = scores_of(rows, part="ladder", rung=best or "")
    if best is None or not subject.has_squared_loss:  # another loss does not minimise what the score counts
        return Finding(check, "fine", f"{evidence}.")
    error = _points_error(subject, fixed.errors) * math.sqrt(1 + subject.test / subject.samples)
    if train >= fixed.mean - settings.tolerance - NORMAL * error:
        return Finding(check, "fine", f"{evidence}.")
    how = f"it fits its own training points worse than {best} predicts new ones ({signed(fixed.mean)} %)"
    change = f"train longer, {words.longer(5.0)}, or take a larger model"
    return Finding(check, "stop", f"{evidence}: {how}.", change)


def _points_error(subject: Subject, errors: Mapping[int, np.ndarray]) -> float:
    """The standard error of a score that is due to its test points, of the first seed."""
    if not errors:
        return 0.0
    seed = next(iter(errors))
    distances = None
    if not subject.classes:
        y = subject.problem.take("test", subject.test, seed).y.double().reshape(subject.test, -1)
        distances = (y - y.mean(0)).square().sum(1).numpy(force=True)
    return error_over_points(score_at_points(errors[seed], distances), None, subject.classes)


def _rate(settings: AuditSettings, rows: Rows, tries: _Tries | None, words: _Words) -> Finding:
    """Whether another learning rate is clearly better on training points that were held out."""
    check = "learning rate"
    if tries is None:
        return Finding(check, "unknown", "No other learning rate was tried.")
    others = [factor for factor in tries.runs if factor != tries.factor]
    by_factor = ", ".join(f"{_rate_name(f / tries.factor)} {signed(tries.score(f))} %" for f in sorted(tries.runs))
    lost = "".join(f"; {_rate_name(factor / tries.factor)} diverges" for factor in tries.diverged)
    evidence = f"On {tries.subject.test} held-out training points: {by_factor}{lost}"
    seeds = list(scores_of(rows, part="ladder", rung=MODEL).values())
    # each try has one seed, and the difference of two runs has twice the variance of one
    spread = math.sqrt(2) * float(np.std(seeds, ddof=1)) if len(seeds) > 1 else 0.0

    def better(factor: float) -> bool:
        ahead = tries.score(factor) - tries.score(tries.factor)
        clear = ahead > NORMAL * math.hypot(tries.error(factor), spread)
        return ahead >= settings.tolerance and clear  # a better classifier may be surer, and so have a larger loss

    best = max(filter(better, others), key=tries.score, default=None)
    if best is None:
        edge = settings.tune and tries.factor in (min(tries.runs), max(tries.runs))
        found = ". The best rate lies at the edge of the search" if edge else ""
        return Finding(check, "note" if edge else "fine", f"{evidence}{found}.")
    size = "small" if best > tries.factor else "large"
    change = f"{words.rate(best / tries.factor)}, or bk.audit(…, tune=True) to search"
    return Finding(check, "stop", f"{evidence}, so the learning rate is too {size}.", change)


def _rate_name(factor: float) -> str:
    names = {1.0: "the rate itself", FACTORS[0]: "a fifth of the rate", FACTORS[-1]: "five times the rate"}
    return names.get(float(f"{factor:.6g}"), f"{factor:.3g} times the rate")


def _end(subject: Subject, settings: AuditSettings, tries: _Tries | None, words: _Words) -> Finding:
    """Whether the second half of training still brought much, or took much away, on held-out training points.

    Learning goes on at most as the logarithm of the steps, as a rule. So as many steps again may bring what the second
    half has brought. With classes it must be more than the points held out can show by chance: a difference of the
    share δ on n points has at least the variance δ/n.
    """
    check = "end of training"
    if tries is None:
        return Finding(check, "unknown", "The course of training was not followed on held-out points.")
    steps, loss, score = tries.course()
    half, last = int(np.searchsorted(steps, steps[-1] / 2)), int(np.searchsorted(steps, 0.8 * steps[-1]))
    gain, best = float(score[-1] - score[half]), int(np.argmax(score))
    least = settings.tolerance
    if subject.classes:
        least = max(least, 100 * NORMAL**2 / tries.subject.test)
    how = f"From half of the steps on, the score on held-out training points went from {signed(float(score[half]))} %"
    evidence = f"{how} to {signed(float(score[-1]))} %, and the loss from {loss[half]:.3g} to {loss[-1]:.3g}"
    # Accuracy goes up and down by chance. So the loss must fall as well, and still do so in the last fifth.
    less = loss[-1] <= (1 - _LESS_LOSS) * loss[half] or (not subject.classes and gain >= 100 * _LESS_LOSS)
    falling = less and loss[-1] < 0.99 * loss[last]
    room = 100 - float(score[-1])  # no training gains more
    if min(gain, room) >= least and falling:
        return Finding(check, "stop", f"{evidence}: it is still falling at the end.", words.longer(2.0))
    before = float(score[best] - score[-1])
    if before >= 2 * least and loss[best] <= (1 - _LESS_LOSS) * loss[-1]:
        share = float(f"{max(steps[best], 1) / steps[-1]:.2g}")
        at = f"It was {signed(float(score[best]))} % after {steps[best]:.0f} of {steps[-1]:.0f} steps"
        return Finding(check, "stop", f"{evidence}. {at}: training goes on too long.", words.longer(share))
    return Finding(check, "fine", f"{evidence}.")


def inputs(subject: Subject) -> list[Finding]:
    """Whether inputs, and labels that are numbers, have the size that a layer's usual start expects.

    Columns are compared for points that are vectors, channels for images. A column that never changes has no spread.

    Arguments:
        subject: what is audited.
    """
    sample = subject.problem.take("train", min(subject.samples, 1000), 0)
    found = []
    if sample.x.is_floating_point():
        x = sample.x.double()
        columns = x if x.ndim == 2 else x.reshape(len(x), x.shape[1], -1).transpose(0, 1).reshape(x.shape[1], -1).T
        found.append(_sizes("inputs", columns.numpy(force=True), "standardise inputs: (X - X.mean(0)) / X.std(0)"))
    if not subject.classes:
        y = sample.y.double().reshape(len(sample.y), -1).numpy(force=True)
        found.append(_sizes("labels", y, "standardise labels: (y - y.mean(0)) / y.std(0)"))
    return found


def _sizes(what: str, columns: np.ndarray, change: str) -> Finding:
    """Whether numbers have mean and spread of about the same size, and that size is about 1."""
    means, spreads = np.abs(columns.mean(0)), columns.std(0)
    moving = spreads > 1e-6 * (means + spreads.max(initial=0.0))
    if not moving.any():
        return Finding(what, "note", f"The {what} are all equal.")
    means, spreads = means[moving], spreads[moving]
    size = float(np.sqrt(np.mean(means**2 + spreads**2)))
    ratio, offset = float(spreads.max() / spreads.min()), float((means / spreads).max())
    evidence = f"The {what} have the size {size:.3g}"
    if len(spreads) > 1:
        evidence += f", spreads of columns from {spreads.min():.3g} to {spreads.max():.3g}"
    evidence += f", and means of up to {offset:.2g} spreads."
    odd = ratio > _SPREADS or offset > _OFFSET or not 1 / _SIZE <= size <= _SIZE
    return Finding(what, "note" if odd else "fine", evidence, change if odd else "")


def optimisation_gap(subject: Subject, rows: Rows) -> Lead | None:
    """How far the tangent kernel, solved exactly, is ahead of the same features trained by the model's own rule.

    Arguments:
        subject: what is audited.
        rows: what its runs say.
    """
    exact, trained = (scores_of(rows, part="ladder", rung=rung) for rung in ("tangent kernel", LINEARISED))
    return lead(subject, exact, trained)


def _gap(subject: Subject, settings: AuditSettings, rows: Rows) -> list[Finding]:
    """The optimisation gap, if both rungs ran.

    The model has the rule of the linearised network. So a model that is clearly ahead of that network, and not ahead of
    fixed features that are solved exactly, may have lost to the solver.
    """
    gap = optimisation_gap(subject, rows)
    if gap is None:
        return []
    runs = {rung: select(rows, {"part": "ladder", "rung": rung}) for rung in ("tangent kernel", LINEARISED, MODEL)}
    exact, trained, model = (scores_of(rows, part="ladder", rung=rung) for rung in runs)
    known = f"tangent kernel, solved exactly, {signed(exact.mean)} %; linearised network, by the model's own rule, "
    known += f"{signed(trained.mean)} %"
    size = signed(gap.mean)
    if gap.low is not None and gap.high is not None:
        known += f"; 95 % interval {signed(gap.low)} to {signed(gap.high)}"
    evidence = f"Optimisation gap: {size} points ({known})."
    if gap.mean < settings.tolerance:
        return [Finding(GAP, "fine", evidence)]
    if not gap.above_zero:
        return [Finding(GAP, "note", f"{evidence} More seeds would tell whether it is larger than zero.")]
    fits = {rung: float(each["train_score"].mean()) for rung, each in runs.items()}
    if fits[LINEARISED] >= fits["tangent kernel"] - settings.tolerance:
        return [Finding(GAP, "note", f"{evidence} Both fit the training points, so it is regularisation.")]
    evidence += f" Both have the same features, so {size} points are optimisation."
    ahead = lead(subject, model, trained)
    if ahead is not None and ahead.above_zero and ahead.mean >= settings.tolerance:
        evidence += f" With the same rule, the model is {ahead.size} points ahead of its linearisation."
    return [Finding(GAP, "note", evidence)]


def advice(found: Sequence[Finding]) -> str:
    """What was found, and what to change.

    Arguments:
        found: the checks.
    """
    worst = stops(found)
    causes = [each for each in found if each.check in ("inputs", "labels") and each.verdict == "note"]
    evidence = " ".join(each.evidence for each in (*worst, *causes))
    changes = list(dict.fromkeys(each.change for each in (*causes, *worst) if each.change))
    return f"{evidence} What to change: {'; '.join(changes)}."


def as_markdown(found: Sequence[Finding]) -> str:
    """The checks as a section of a page.

    Arguments:
        found: the checks.
    """
    lines = [f"| {each.check} | {WORDS[each.verdict]} | {each.evidence} | {each.change} |" for each in found]
    head = ["## Is the model trained well enough?", "", "| Check | Verdict | Evidence | What to change |", "|-|-|-|-|"]
    return "\n".join([*head, *lines]) if found else ""
