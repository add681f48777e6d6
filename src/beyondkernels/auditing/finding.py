"""What an audit has found, in a few sentences that are computed from its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beyondkernels.auditing.block_learners import KEPT
from beyondkernels.auditing.checks import Finding, advice, stops
from beyondkernels.auditing.claims import FIXED, best_fixed_name, counted, points
from beyondkernels.auditing.data_checks import LEAK, REPEATS, SHIFT, TAILS
from beyondkernels.auditing.health import COARSE, GAP, of_memory
from beyondkernels.auditing.ladder import ABOUT, KINDS, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.leads import Lead, lead, leads, shown_points, signed
from beyondkernels.auditing.scores import Scores, scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.lab import Rows, select
from beyondkernels.lab.declaration.rows import OUTCOME

ODD = (REPEATS, LEAK, TAILS, SHIFT)
"""The checks of the data, which the sentence repeats."""

Sentence = Callable[[Subject, AuditSettings, Rows], str]


def finding(subject: Subject, settings: AuditSettings, rows: Rows, checks: Sequence[Finding] = ()) -> str:
    """The answers to the questions of an audit; nothing where runs are missing.

    Arguments:
        subject: what is audited.
        settings: how.
        rows: what its runs say.
        checks: whether the model is trained well enough.
    """
    first = [diverged(subject, settings, rows), trained(subject, settings, rows, checks)]
    first += [each.evidence for each in checks if each.check in ODD]
    first.append(how_much(subject, settings, rows, checks))
    first += [each.evidence for each in checks if each.check == GAP and each.verdict != "fine"]
    said = [*first, *(answer(subject, settings, rows) for answer in (uncounted, when, where, corrected))]
    return " ".join(sentence for sentence in said if sentence)


def trained(subject: Subject, settings: AuditSettings, rows: Rows, checks: Sequence[Finding]) -> str:
    """Whether the model is trained well enough to speak of, and what to change if it is not."""
    if not checks:
        return ""
    if not stops(checks):
        how = "As far as it was checked, the" if any(each.verdict == "unknown" for each in checks) else "The"
        unseen = max(each.unseen for each in checks)
        coarse = f", but a fault that costs less than {signed(unseen)} points would not show" if unseen > COARSE else ""
        return f"{how} model is trained well enough to compare{coarse}."
    fixed = scores_of(rows, part="ladder", rung=best_fixed_name(rows) or "")
    ahead = lead(subject, scores_of(rows, part="ladder", rung=MODEL), fixed)
    if ahead is not None and ahead.mean >= settings.tolerance and ahead.above_zero:
        return f"The model could be trained better, so its lead may be larger. {advice(checks)}"
    return f"The model is not trained well enough to tell whether learning features gains anything. {advice(checks)}"


def diverged(_subject: Subject, _settings: AuditSettings, rows: Rows) -> str:
    """With how many seeds the model's training came to no end."""
    runs = select(rows, {"part": "ladder", "rung": MODEL})
    lost = int((runs["status"] == "diverged").sum()) if len(runs) else 0
    if not lost:
        return ""
    seeds = "every seed" if lost == len(runs) else f"{lost} of {len(runs)} seeds"
    return f"The model diverged with {seeds}: its loss stopped being finite. A smaller rate may help."


def uncounted(_subject: Subject, _settings: AuditSettings, rows: Rows) -> str:
    """Learners with fixed features that the model is not compared with, because they diverged where it did not."""
    names = [name for name, (kind, _) in ABOUT.items() if KINDS[kind] in FIXED and name not in counted(rows)]
    ended = scores_of(rows, part="ladder", rung=MODEL)
    lost = [name for name in names if len(select(rows, {"part": "ladder", "rung": name}))]
    if not lost or not ended:
        return ""
    verb = "does not count: it diverged" if len(lost) == 1 else "do not count: they diverged"
    return f"Among the learners with fixed features, {_joined(lost)} {verb} with a seed with which the model did not."


def how_much(subject: Subject, settings: AuditSettings, rows: Rows, checks: Sequence[Finding] = ()) -> str:
    """Of the points between the best fixed features and the model, how many are features.

    Where a check forbids it, no more is said than how the scores compare, unless the lead is clear: with better
    training it would hardly be smaller.
    """
    best = best_fixed_name(rows)
    model, fixed = scores_of(rows, part="ladder", rung=MODEL), scores_of(rows, part="ladder", rung=best or "")
    ahead = lead(subject, model, fixed)
    if best is None or ahead is None:
        return ""
    both = [seed for seed in model if seed in fixed]
    at, floor = model.among(both).mean, fixed.among(both).mean
    known = f"the best learner with fixed features ({best}, {_score(floor)})"
    behind = f"the model ({_score(at)}) is {ahead.size} points {'ahead of' if ahead.mean >= 0 else 'behind'} {known}"
    kernel = scores_of(rows, part="ladder", rung=TRAINED_KERNEL).among(both)
    carried = lead(subject, kernel, fixed)
    if of_memory(checks):
        return f"As it is tested, {behind}. Nothing can be said about features. {ahead.sentence}"
    if stops(checks) and not (ahead.mean >= settings.tolerance and ahead.above_zero):
        return f"As it is trained, {behind}. {ahead.sentence}"
    if not _anything_learnt(subject, rows, best):
        floor = "the largest class" if subject.classes else "the mean of the labels"
        known = f"neither the model nor fixed features are clearly better than {floor}"
        return f"Nothing shows that these labels can be learnt: {known}, and {behind}."
    if ahead.mean < settings.tolerance and not ahead.above_zero:
        unused = _unused(carried, settings) if carried is not None else ""
        return f"No gain from learning features shows: {behind}. {ahead.sentence}{unused}"
    if ahead.mean < settings.tolerance:
        mean = "" if ahead.high is not None and ahead.high < settings.tolerance else " on average"
        return f"Learning features gains less than {points(settings.tolerance)}{mean}: {behind}. {ahead.sentence}"
    if not ahead.above_zero and ahead.low is not None:
        return f"It cannot be said whether learning features gains anything: {behind}. {ahead.sentence}"
    between = f"the {ahead.size} points between {known} and the model ({_score(at)})"
    if carried is None:
        return f"There are {between.removeprefix('the ')}. {ahead.sentence}"
    return f"Of {between}, {_features(carried, ahead, kernel.mean)}. {ahead.sentence}"


def _anything_learnt(subject: Subject, rows: Rows, best: str) -> bool:
    """Whether the model, its trained kernel or the best fixed features are clearly better than the constant."""
    constant = scores_of(rows, part="ladder", rung="constant")
    if not constant:
        return True
    for name in (MODEL, TRAINED_KERNEL, best):
        over = lead(subject, scores_of(rows, part="ladder", rung=name), constant)
        if over is not None and (over.low is None or over.above_zero) and over.mean > 0:
            return True
    return False


def _features(carried: Lead, ahead: Lead, reached: float) -> str:
    """How many points of a lead are features: those by which a kernel of the trained model is ahead of fixed ones."""
    if signed(carried.mean) == signed(0.0) or carried.mean < 0:
        return (
            "none can be put down to features: a kernel that is frozen at the end of training is no better than fixed "
            f"features ({_score(reached)})"
        )
    if not carried.above_zero and carried.low is not None:
        return (
            "it cannot be said how many are features: a kernel that is frozen at the end of training "
            f"({_score(reached)}) is {carried.size} points ahead of fixed features{carried.doubt}"
        )
    has = min(carried.mean, ahead.mean)
    least = "at least " if shown_points(has) != ahead.size else ""  # early features may show more than the kernel does
    return (
        f"{least}{shown_points(has)} are features: a kernel that is frozen at the end of training has them "
        f"({_score(reached)})"
    )


def _unused(kernel: Lead, settings: AuditSettings) -> str:
    """What is to be added where a kernel of the trained model beats fixed features although the model does not."""
    if kernel.mean < settings.tolerance or not kernel.above_zero:
        return ""
    return (
        f" Yet training has made better features: a kernel that is frozen at the end of training is {kernel.size} "
        "points ahead of fixed features. The model does not make the best of its own features."
    )


def when(subject: Subject, settings: AuditSettings, rows: Rows) -> str:
    """The step from which on a frozen kernel does as well as the model."""
    if "when" not in settings.parts:
        return ""
    model = select(rows, {"part": "ladder", "rung": MODEL})
    runs = [run for run in model.get(OUTCOME, ()) if run.status == "finished"]
    if not runs:
        return ""
    if not any("kernel_points" in run.scalars for run in runs):  # the model has no tangent kernel
        return ""
    steps = [run.scalars.get("tangent/emergence_step", math.inf) for run in runs]
    there = sorted(step for step in steps if math.isfinite(step))
    many = runs[0].scalars.get("kernel_points", settings.points)
    kernel = f"a tangent kernel that is frozen there and fitted to {many:.0f} points"
    missing, near = len(steps) - len(there), _near(subject, settings)
    if missing:
        some = f"With {missing} of {len(steps)} seeds there" if there else "There"
        return f"{some} is no step from which on {kernel} {near}."
    if there[-1] == 0:
        return f"From the start on, {kernel} {near}."
    span = f"step {there[0]:.0f}" if there[0] == there[-1] else f"a step between {there[0]:.0f} and {there[-1]:.0f}"
    seeds = "" if there[0] == there[-1] else ", which depends on the seed"
    return f"From {span} of {subject.steps} on{seeds}, {kernel} {near}."


def where(subject: Subject, settings: AuditSettings, rows: Rows) -> str:
    """The block whose freezing costs most."""
    if "where" not in settings.parts:
        return ""
    trained = subject.trained_blocks
    still = [name for name in subject.block_names if name not in trained]
    kept = f" The model itself keeps {', '.join(still)} frozen." if still else ""
    if len(trained) == 1 and still:
        return f"All that is learnt is learnt in block {trained[0]}.{kept}"
    model = scores_of(rows, part="ladder", rung=MODEL)
    costs = leads(subject, trained, lambda name: (model, scores_of(rows, part="frozen", block=name)))
    if not costs:
        return ""
    worst = max(costs, key=lambda name: costs[name].mean)
    little = f"less than {points(settings.tolerance)}"
    if costs[worst].mean < settings.tolerance:
        tried = "any one" if len(costs) == len(trained) else _listed(list(costs))
        more = _more(costs, settings)
        return (
            f"No block is seen to have to learn: freezing {tried} at its start costs {little} on average{more}.{kept}"
        )
    free = [name for name, cost in costs.items() if cost.mean < settings.tolerance]
    rest = f"; freezing {_listed(free)} costs {little} on average" if free else ""
    cost = f"costs {costs[worst].size} points{costs[worst].doubt}"
    rivals = _rivals(subject, rows, costs, worst)
    if rivals:
        return f"Freezing block {worst} at its start {cost}, not clearly more than freezing {rivals}{rest}.{kept}"
    return f"Block {worst} has to learn most: freezing it at its start {cost}{rest}.{kept}"


def _rivals(subject: Subject, rows: Rows, costs: Mapping[str, Lead], worst: str) -> str:
    """The blocks whose freezing may cost as much as that of the worst one, with what it costs."""
    frozen = {name: scores_of(rows, part="frozen", block=name) for name in costs}
    others = [name for name in costs if name != worst]
    ahead = leads(subject, others, lambda name: (frozen[name], frozen[worst]))
    near = [name for name, each in ahead.items() if each.low is not None and not each.above_zero]
    return _listed([f"{name} ({signed(costs[name].mean)})" for name in near]) if near else ""


def corrected(subject: Subject, settings: AuditSettings, rows: Rows) -> str:
    """How much lower blocks that were trained first gain by being trained with those above them.

    Compared is the better one of the ways in which nothing from above corrects them.
    """

    def scores(name: str, way: str) -> Scores:
        return scores_of(rows, part="correction", block=name, below=way)

    def better(name: str) -> str:
        return max(KEPT, key=lambda way: scores(name, way).mean if scores(name, way) else -math.inf)

    kept: dict[str, Any] = {name: better(name) for name in subject.block_names}
    gains = leads(subject, subject.block_names, lambda name: (scores(name, "released"), scores(name, kept[name])))
    if not gains:
        return ""
    most = max(gains, key=lambda name: gains[name].mean)
    gain, over = gains[most], KEPT[kept[most]]
    how = f"if the blocks up to {most} are trained first, training them on with the blocks above"
    if gain.mean < settings.tolerance:
        gained = f"gains {gain.size}" if gain.mean >= 0 else f"loses {gain.size}"
        where_ = f"; elsewhere it gains less{_more(gains, settings)}" if len(gains) > 1 else _more(gains, settings)
        return f"No backward feature correction shows: {how} {gained} points on average{where_}."
    said = "matters" if gain.above_zero else "may matter" if gain.low is None else "does not show clearly"
    return f"Backward feature correction {said}: {how} gains {gain.size} points over {over}{gain.doubt}."


def _more(leads: Mapping[str, Lead], settings: AuditSettings) -> str:
    """What has to be added to small means if they may be larger: the block of which least is known."""
    if any(each.low is None for each in leads.values()):
        return " (with one seed)" if any(each.seeds == 1 for each in leads.values()) else ""
    highs = {name: each.high for name, each in leads.items() if each.high is not None}
    widest = max(highs, key=lambda name: highs[name])
    if highs[widest] <= settings.tolerance:
        return ""
    over = leads[widest].over
    return f" ({over} do not rule out {signed(highs[widest])} points for {widest})"


def _listed(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _score(points: float) -> str:
    return f"{signed(points)} %"


def _near(subject: Subject, settings: AuditSettings) -> str:
    """What a kernel does that counts as well as the model. It may be better."""
    if subject.classes:
        return f"stays at most {points(settings.tolerance)} below the trained model"
    if subject.has_squared_loss:
        return f"stays at most {points(settings.tolerance)}, or 5 % of the error, behind the trained model"
    return "keeps its loss at most 5 % above the trained model's"
