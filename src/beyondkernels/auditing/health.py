"""Whether the model was trained well enough to say anything about features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from beyondkernels.auditing.checks import Finding
from beyondkernels.auditing.claims import best_fixed_name
from beyondkernels.auditing.data_checks import REPEATED, REPEATS
from beyondkernels.auditing.input_sizes import inputs
from beyondkernels.auditing.ladder import LINEARISED, MODEL
from beyondkernels.auditing.leads import Lead, lead, signed
from beyondkernels.auditing.probes import FACTORS, Change
from beyondkernels.auditing.scores import error_over_points, score_at_points, scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.starts import Start
from beyondkernels.auditing.subject import Subject
from beyondkernels.auditing.tries import NORMAL, Tries, Try, Words, tries_of
from beyondkernels.lab import Rows, select

GAP = "optimisation gap"
"""The check that has a line of its own."""

COARSE = 5.0
"""The sentence says what the checks would not have shown from so many points on."""

_LESS_LOSS = 0.1
"""More training is better only if it lowers the loss on held-out points by this share, too. Of labels that are numbers
this share of their variance does as well: a loss of many variances falls slowly."""

_GENERALISES = 10.0
"""From so many points between training and test score on, the page says that the model does not generalise."""

_STANDS = 0.98
"""A loss that is still at this share of what it was after half of the steps stands: more steps are no advice."""

_MODES = 10.0
"""From so many points between training mode and evaluation mode on, the page says so."""

_FLAT, _LOUD, _SILENT = 0.99, 10.0, 1e-3
"""A start is odd if outputs do not change with the input at this share of points, or if its loss is so many times that
of outputs zero. Outputs that differ by less than the last number, in units of the labels, are all equal."""


def health(
    subject: Subject,
    settings: AuditSettings,
    rows: Rows,
    rehearsals: Sequence[Subject] = (),
    in_words: bool = True,
    start: Start | None = None,
    odd: Mapping[str, str] = MappingProxyType({}),
    repeated: float = 0.0,
) -> list[Finding]:
    """All checks, the model's scores first; none without a ladder, or while the model has no run that ended.

    Arguments:
        subject: what is audited.
        settings: how.
        rows: what its runs say.
        rehearsals: the subjects of the tries on held-out training points.
        in_words: whether the training rule was given in words, so that the call can name its arguments.
        start: what a fresh start of the model looks like.
        odd: what is odd about the data.
        repeated: the share of test points that are training points.
    """
    if "ladder" not in settings.parts or not scores_of(rows, part="ladder", rung=MODEL):
        return []
    tries = tries_of(rows, rehearsals)
    words = Words(subject, tries.factor if tries else 1.0, in_words)
    found = [_rate(settings, rows, tries, words), _end(subject, settings, tries, words)]
    found += [*_changes(settings, rows, tries, words), *_start(settings, rows, start)]
    found += _modes(subject, settings, rows)
    fit = _fit(subject, settings, rows, words, tries, found)
    found += [*inputs(subject), *_gap(subject, settings, rows), *_oddities(subject, rows, odd, repeated)]
    return [fit, *found]


def _oddities(subject: Subject, rows: Rows, odd: Mapping[str, str], repeated: float) -> list[Finding]:
    """What is odd about the data: a note, but for repeated points that may be all of a lead."""
    fixed = scores_of(rows, part="ladder", rung=best_fixed_name(rows) or "")
    ahead = lead(subject, scores_of(rows, part="ladder", rung=MODEL), fixed)
    memory = repeated >= REPEATED and ahead is not None and abs(ahead.mean) <= 100 * repeated
    changes = {REPEATS: "leave these points out of the test"}
    return [
        Finding(name, "stop" if name == REPEATS and memory else "note", said, changes.get(name, ""))
        for name, said in odd.items()
    ]


def of_memory(found: Sequence[Finding]) -> bool:
    """Whether so many test points are training points that no lead can be put down to features."""
    return any(each.verdict == "stop" and each.check == REPEATS for each in found)


def _fit(
    subject: Subject,
    settings: AuditSettings,
    rows: Rows,
    words: Words,
    tries: Tries | None,
    others: Sequence[Finding],
) -> Finding:
    """The training score, which must not be below what fixed features reach on new points.

    A trained model knows its training points at least as well as new ones. If fixed features predict new points better
    than the model fits those it was trained on, it is not trained to the end, or too small. More steps are advised
    only if no other check has found the cause, and if the loss was still falling. A model that fits its training points
    and not the test points may be trained as well as it can be: that is said, and is no fault.
    """
    check = "training and test score"
    runs = select(rows, {"part": "ladder", "rung": MODEL})
    model = scores_of(rows, part="ladder", rung=MODEL)
    train, test = float(runs["train_score"].mean()), model.mean
    evidence = f"The model has {signed(train)} % on training points and {signed(test)} % on test points"
    best = best_fixed_name(rows)
    fixed = scores_of(rows, part="ladder", rung=best or "")
    error = _points_error(subject, fixed.errors) * math.sqrt(1 + subject.test / subject.samples)
    # another loss than the squared one does not minimise what the score of numbers counts
    if best is None or not subject.has_squared_loss or train >= fixed.mean - settings.tolerance - NORMAL * error:
        end = others[1]
        if train - test < max(_GENERALISES, NORMAL * _points_error(subject, model.errors)):
            return Finding(check, "fine", f"{evidence}.")
        evidence += ": it fits the training points and does not generalise as well."
        if end.verdict == "fine":
            evidence += " On held-out points it did not clearly get worse in training: nothing speaks for fewer steps."
        return Finding(check, "note", evidence)
    how = f"it fits its own training points worse than {best} predicts new ones ({signed(fixed.mean)} %)"
    if _silent(subject, runs):
        how += ", and gives the same output at all test points"
    if any(each.verdict == "stop" for each in others):
        return Finding(check, "stop", f"{evidence}: {how}.")
    change = f"train longer, {words.longer(5.0)}, or take a larger model"
    if tries is not None:
        steps, loss, _ = tries.course()
        if loss[-1] > _STANDS * loss[int(np.searchsorted(steps, steps[-1] / 2))]:
            how += ". Its loss on held-out training points stood still in the second half of the training"
            change = "take a larger model, another start, or another rate (bk.audit(…, tune=True) searches it)"
    return Finding(check, "stop", f"{evidence}: {how}.", change)


def _silent(subject: Subject, runs: Rows) -> bool:
    """Whether the model's outputs are the same at all test points, with every seed."""
    if "output_spread" not in runs or runs["output_spread"].dropna().empty:
        return False
    unit = 1.0 if subject.classes else math.sqrt(subject.spread("test", 0))
    return float(runs["output_spread"].max()) <= _SILENT * unit


def _points_error(subject: Subject, errors: Mapping[int, np.ndarray]) -> float:
    """The standard error of a score that is due to its test points, of the first seed."""
    if not errors:
        return 0.0
    seed = next(iter(errors))
    distances = None if subject.classes else subject.label_distances(seed)
    return error_over_points(score_at_points(errors[seed], distances), None, subject.classes)


def _rate(settings: AuditSettings, rows: Rows, tries: Tries | None, words: Words) -> Finding:
    """Whether another learning rate is clearly better on training points that were held out."""
    check = "learning rate"
    if tries is None:
        return Finding(check, "unknown", "No other learning rate was tried.")
    factors = sorted(factor for factor, change in tries.runs if change is None)
    by_factor = ", ".join(f"{_rate_name(f / tries.factor)} {signed(tries.score((f, None)))} %" for f in factors)
    lost = "".join(f"; {_rate_name(f / tries.factor)} diverges" for f, change in tries.diverged if change is None)
    evidence = f"On {tries.where}: {by_factor}{lost}"
    others = [factor for factor in factors if factor != tries.factor]
    best, unseen = _better(settings, rows, tries, [(factor, None) for factor in others])
    if best is None:
        edge = settings.tune and tries.factor in (factors[0], factors[-1])
        found = ". The best rate lies at the edge of the search" if edge else ""
        less = f" A lead of less than {signed(unseen)} points would not show." if unseen > settings.tolerance else ""
        return Finding(check, "note" if edge else "fine", f"{evidence}{found}.{less}", unseen=unseen)
    size = "small" if best[0] > tries.factor else "large"
    change = f"{words.rate(best[0] / tries.factor)}, or bk.audit(…, tune=True) to search"
    return Finding(check, "stop", f"{evidence}, so the learning rate is too {size}.", change)


def _better(settings: AuditSettings, rows: Rows, tries: Tries, others: Sequence[Try]) -> tuple[Try | None, float]:
    """The best of the tries that are clearly better than the model's own rule, and what would not have shown."""
    seeds = list(scores_of(rows, part="ladder", rung=MODEL).values())
    # each try has one seed, and the difference of two runs has twice the variance of one
    spread = math.sqrt(2) * float(np.std(seeds, ddof=1)) if len(seeds) > 1 else 0.0
    leads = {each: tries.lead(each, spread) for each in others}
    # a better classifier may be surer of itself, and so have a larger loss: scores alone count
    clear = [each for each, (ahead, half) in leads.items() if ahead >= settings.tolerance and ahead > half]
    room = 100 - tries.score(tries.own)  # nothing gains more
    unseen = max((min(max(half, settings.tolerance), room) for _, half in leads.values()), default=0.0)
    return max(clear, key=tries.score, default=None), unseen


def _changes(settings: AuditSettings, rows: Rows, tries: Tries | None, words: Words) -> list[Finding]:
    """Whether the model is clearly better without its weight decay, or with Adam, on points that were held out."""
    found = []
    for change, (check, call, why) in _CHANGES.items():
        key: Try = (1.0, change)
        if tries is None or key not in tries.runs:
            continue
        named = f"{change} {signed(tries.score(key))} %"
        evidence = f"On {tries.where}: the model's rule {signed(tries.score(tries.own))} %, {named}"
        best, unseen = _better(settings, rows, tries, [key])
        if best is None:
            found.append(Finding(check, "fine", f"{evidence}.", unseen=unseen))
        else:
            advice = f"bk.audit(…, {call})" if words.in_words else "an algorithm with that"
            found.append(Finding(check, "stop", f"{evidence}, so {why}.", advice))
    return found


_CHANGES: dict[Change, tuple[str, str, str]] = {
    "no weight decay": ("weight decay", "weight_decay=0", "the weight decay is too large"),
    "Adam": ("optimiser", "optimiser='adam', learning_rate=0.001", "another optimiser is better"),
}
"""Of each change the name of the check, the call, and what it says if the change is clearly better."""


def _start(settings: AuditSettings, rows: Rows, start: Start | None) -> list[Finding]:
    """Whether the outputs of a fresh model depend on its input, and whether they have a sensible size.

    A model may recover from its start. So an odd one is a reason to change it only if the model is behind fixed
    features.
    """
    if start is None:
        return []
    said, changes = [], []
    if start.flat is not None and start.flat >= _FLAT:
        said.append(
            f"At a fresh start, and after {start.steps} steps, no output changes with the input at "
            f"{100 * start.flat:.0f} % of the training points: units are dead or saturated, weights are zero, or the "
            "model does not use its input"
        )
        changes.append("a forward that uses the input, and weights and biases as PyTorch's layers draw them")
    if start.loss > _LOUD * start.loss_of_zero:
        said.append(f"At a fresh start the loss is {start.loss:.3g}, and {start.loss_of_zero:.3g} for outputs zero")
        changes.append("a start with smaller outputs: a smaller last layer, or smaller inputs")
    if not said:
        return [Finding("start", "fine", f"At a fresh start the loss is {start.loss:.3g}.")]
    return [Finding("start", "stop" if _behind(settings, rows) else "note", f"{'. '.join(said)}.", "; ".join(changes))]


def _behind(settings: AuditSettings, rows: Rows) -> bool:
    """Whether the model is behind fixed features, on average."""
    fixed = scores_of(rows, part="ladder", rung=best_fixed_name(rows) or "")
    return bool(fixed) and scores_of(rows, part="ladder", rung=MODEL).mean < fixed.mean - settings.tolerance


def _modes(subject: Subject, settings: AuditSettings, rows: Rows) -> list[Finding]:
    """Whether the model that is tested, in evaluation mode, is much the same as the one that was trained.

    Dropout makes training mode worse, as it is meant to. Running statistics that are far from those of batches make
    evaluation mode worse, which is a fault if the model is behind fixed features.
    """
    runs = select(rows, {"part": "ladder", "rung": MODEL})
    if "training_mode_error" not in runs or runs["training_mode_error"].dropna().empty:
        return []
    unit = 100.0 if subject.classes else 100 / (subject.spread("train", 0) or 1.0)
    training, evaluation = (
        100 - unit * float(runs[f"{mode}_mode_error"].mean()) for mode in ("training", "evaluation")
    )
    if abs(training - evaluation) < _MODES:
        return []
    evidence = (
        f"On training points the model has {signed(training)} % in training mode and {signed(evaluation)} % in "
        "evaluation mode."
    )
    if training < evaluation:
        return [Finding("modes", "note", evidence, "less dropout, if the model fits its training points badly")]
    change = "batch normalisation with a larger momentum, or more steps for its running statistics"
    return [Finding("modes", "stop" if _behind(settings, rows) else "note", evidence, change)]


def _rate_name(factor: float) -> str:
    names = {1.0: "the rate itself", FACTORS[0]: "a fifth of the rate", FACTORS[-1]: "five times the rate"}
    return names.get(float(f"{factor:.6g}"), f"{factor:.3g} times the rate")


def _end(subject: Subject, settings: AuditSettings, tries: Tries | None, words: Words) -> Finding:
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
        least = max(least, 100 * NORMAL**2 / tries.points)
    how = f"From half of the steps on, the score on held-out training points went from {signed(float(score[half]))} %"
    evidence = f"{how} to {signed(float(score[-1]))} %, and the loss from {loss[half]:.3g} to {loss[-1]:.3g}"
    # Accuracy goes up and down by chance. So the loss must fall as well, and still do so in the last fifth.
    less = loss[-1] <= (1 - _LESS_LOSS) * loss[half] or (not subject.classes and gain >= 100 * _LESS_LOSS)
    falling = less and loss[-1] < 0.99 * loss[last]
    room = 100 - float(score[-1])  # no training gains more
    if min(gain, room) >= least and falling:
        return Finding(check, "stop", f"{evidence}: it is still falling at the end.", words.longer(2.0))
    before = float(score[best] - score[-1])
    learnt = float(score[best] - score[0])  # a model that never was better than its start has not been trained too long
    clear = before >= 2 * least
    if subject.classes:  # as if both erred independently: the best of many records is high by chance, too
        right = np.array([score[best], score[-1]]) / 100
        clear = clear and before > 100 * NORMAL * math.sqrt(float((right * (1 - right)).sum()) / tries.points)
    if clear and learnt >= least and loss[best] <= (1 - _LESS_LOSS) * loss[-1]:
        share = float(f"{steps[best] / steps[-1]:.2g}")
        at = f"It was {signed(float(score[best]))} % after {steps[best]:.0f} of {steps[-1]:.0f} steps"
        gives = f"stopping there would give {signed(before)} points more"
        return Finding(check, "stop", f"{evidence}. {at}: {gives}.", words.longer(share))
    return Finding(check, "fine", f"{evidence}.")


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
