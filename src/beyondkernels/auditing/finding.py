"""What an audit has found, in a few sentences that are computed from its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from beyondkernels.auditing.claims import best_fixed, error_of, means, points
from beyondkernels.auditing.ladder import KINDS, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.frame import Frame, select
from beyondkernels.frame.rows import OUTCOME
from beyondkernels.reports import mean_interval, show_number

Sentence = Callable[[Subject, AuditSettings, Frame], str]


def finding(subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """The answers to the questions of an audit; nothing where runs are missing.

    Arguments:
        subject: what is audited.
        settings: how.
        rows: what its runs say.
    """
    said = [answer(subject, settings, rows) for answer in (diverged, how_much, when, where, corrected)]
    return " ".join(sentence for sentence in said if sentence)


def diverged(_subject: Subject, _settings: AuditSettings, rows: Frame) -> str:
    """With how many seeds the model's training came to no end."""
    runs = select(rows, {"part": "ladder", "rung": MODEL})
    lost = int((runs["status"] == "diverged").sum()) if len(runs) else 0
    if not lost:
        return ""
    seeds = "every seed" if lost == len(runs) else f"{lost} of {len(runs)} seeds"
    return f"The model diverged with {seeds}: its loss stopped being finite. A smaller rate may help."


def how_much(_subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """Of the points between the best fixed features and the model, how many are features."""
    fixed = means(rows, "rung", part="ladder", kind=KINDS["fixed"])
    model = means(rows, "rung", part="ladder").get(MODEL)
    if not fixed or model is None:
        return ""
    best = max(fixed, key=lambda name: fixed[name])
    _, low, high, _ = _difference(rows)
    gap = model - fixed[best]
    pair = f"the best learner with fixed features ({best}, {_score(fixed[best])}) and the model ({_score(model)})"
    if low is None or high is None:
        seeds = "With one seed it cannot be said whether the difference stands beyond seeds."
    else:
        stands = "stands" if low > 0 or high < 0 else "does not stand"
        seeds = f"The difference {stands} beyond seeds (95 % interval {_points(low)} to {_points(high)} points)."
    if gap < settings.tolerance or (low is not None and low <= 0):
        ahead = f"{abs(gap):.1f} points {'ahead of' if gap >= 0 else 'behind'}"
        return (
            f"No gain from learning features shows: the model ({_score(model)}) is {ahead} the best learner with fixed "
            f"features ({best}, {_score(fixed[best])}). {seeds}"
        )
    kernel = means(rows, "rung", part="ladder").get(TRAINED_KERNEL)
    if kernel is None:
        return f"There are {gap:.1f} points between {pair}. {seeds}"
    carried = min(max(kernel - fixed[best], 0.0), gap)
    return (
        f"Of the {gap:.1f} points between {pair}, {carried:.1f} are features: a kernel that is frozen at the end of "
        f"training has them. {seeds}"
    )


def when(subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """The step from which on a frozen kernel does as well as the model."""
    if "when" not in settings.parts:
        return ""
    runs = [run for run in select(rows, {"rung": MODEL}).get(OUTCOME, ()) if run.status == "finished"]
    if not runs:
        return ""
    if not any("kernel_points" in run.scalars for run in runs):  # the model has no tangent kernel
        return ""
    steps = [run.scalars.get("tangent/emergence_step", math.inf) for run in runs]
    there = sorted(step for step in steps if math.isfinite(step))
    many = runs[0].scalars.get("kernel_points", settings.points)
    kernel = f"a tangent kernel that is frozen there and fitted to {many:.0f} points"
    if len(there) < len(steps):
        some = f" with {len(steps) - len(there)} of {len(steps)} seeds" if there else ""
        return f"At no step does {kernel} come to stay within {_near(subject, settings)} of the model{some}."
    first = f"step {there[0]:.0f}" if there[0] == there[-1] else f"steps {there[0]:.0f} to {there[-1]:.0f}, by seed,"
    if there[-1] == 0:
        return f"From the start on, {kernel} stays within {_near(subject, settings)} of the model."
    return f"From {first} of {subject.steps} on, {kernel} stays within {_near(subject, settings)} of the model."


def where(subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """The block whose freezing costs most."""
    if "where" not in settings.parts:
        return ""
    trained = subject.trained_blocks
    still = [name for name in subject.block_names if name not in trained]
    kept = f" The model itself keeps {', '.join(still)} frozen." if still else ""
    if len(trained) == 1 and still:
        return f"All that is learnt is learnt in block {trained[0]}.{kept}"
    model = means(rows, "rung", part="ladder").get(MODEL)
    costs = {name: (model or 0.0) - score for name, score in means(rows, "block", part="frozen").items()}
    if model is None or not costs:
        return ""
    worst = max(costs, key=lambda name: costs[name])
    little = f"less than {points(settings.tolerance)}"
    if costs[worst] < settings.tolerance:
        return f"No block has to learn: freezing any of them at its start costs {little}.{kept}"
    free = [name for name, cost in costs.items() if cost < settings.tolerance]
    rest = f"; freezing {_listed(free)} costs {little}{' each' if len(free) > 1 else ''}" if free else ""
    return f"Block {worst} has to learn most: freezing it at its start costs {costs[worst]:.1f} points{rest}.{kept}"


def corrected(_subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """How much lower blocks that were trained first gain by being trained with those above them."""
    fixed = means(rows, "block", part="correction", below="fixed")
    released = means(rows, "block", part="correction", below="released")
    gains = {name: released[name] - fixed[name] for name in fixed if name in released}
    if not gains:
        return ""
    most = max(gains, key=lambda name: gains[name])
    if gains[most] < settings.tolerance:
        little = f"less than {points(settings.tolerance)}"
        return f"Lower blocks that were trained first need no correction: it gains {little}."
    return (
        f"Backward feature correction matters: if the blocks up to {most} are trained first, training them on with the "
        f"blocks above gains {gains[most]:.1f} points over keeping them fixed."
    )


def _difference(rows: Frame) -> tuple[float | None, float | None, float | None, str]:
    """The model's lead over the best fixed features, seed by seed, with its interval."""
    values = (best_fixed() - error_of(MODEL)).groups(rows)[None]
    return mean_interval([value for value in values if math.isfinite(value)])


def _listed(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _score(points: float) -> str:
    return show_number(points, "%", 1)


def _points(number: float) -> str:
    return show_number(number, decimals=1)


def _near(subject: Subject, settings: AuditSettings) -> str:
    return points(settings.tolerance) if subject.classes else "5 % of the loss"
