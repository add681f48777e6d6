"""What an audit has found, in a few sentences that are computed from its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from beyondkernels.auditing.claims import best_fixed_name, by_seed, points
from beyondkernels.auditing.ladder import MODEL, TRAINED_KERNEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.frame import Frame, select
from beyondkernels.frame.rows import OUTCOME
from beyondkernels.reports import mean_interval

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
    best = best_fixed_name(rows)
    model, fixed = by_seed(rows, part="ladder", rung=MODEL), by_seed(rows, part="ladder", rung=best or "")
    both = [seed for seed in model if seed in fixed]
    if best is None or not both:
        return ""
    lead = Lead.of([model[seed] - fixed[seed] for seed in both])
    at, floor = _mean(model, both), _mean(fixed, both)
    known = f"the best learner with fixed features ({best}, {_score(floor)})"
    behind = f"the model ({_score(at)}) is {lead.size} points {'ahead of' if lead.mean >= 0 else 'behind'} {known}"
    kernel = by_seed(rows, part="ladder", rung=TRAINED_KERNEL)
    seen = [seed for seed in both if seed in kernel]
    if lead.mean < settings.tolerance and not lead.above_zero:
        unused = _unused(Lead.of([kernel[seed] - fixed[seed] for seed in seen]), settings) if seen else ""
        return f"No gain from learning features shows: {behind}. {lead.sentence}{unused}"
    if lead.mean < settings.tolerance:
        return f"Learning features gains less than {points(settings.tolerance)}: {behind}. {lead.sentence}"
    if not lead.above_zero and lead.low is not None:
        return f"It cannot be said whether learning features gains anything: {behind}. {lead.sentence}"
    between = f"the {lead.size} points between {known} and the model ({_score(at)})"
    if not seen:
        return f"There are {between.removeprefix('the ')}. {lead.sentence}"
    reached = _mean(kernel, seen)
    carried = min(reached - _mean(fixed, seen), lead.mean)
    if carried < 0.05:  # it would be shown as 0.0
        return (
            f"Of {between}, none can be put down to features: a kernel that is frozen at the end of training is no "
            f"better than fixed features ({_score(reached)}). {lead.sentence}"
        )
    least = "at least " if carried < lead.mean - 0.05 else ""  # early features may show more than the kernel does
    return (
        f"Of {between}, {least}{carried:.1f} are features: a kernel that is frozen at the end of training has them "
        f"({_score(reached)}). {lead.sentence}"
    )


def _unused(kernel: Lead, settings: AuditSettings) -> str:
    """What is to be added where a kernel of the trained model beats fixed features although the model does not."""
    if kernel.mean < settings.tolerance or not kernel.above_zero:
        return ""
    return (
        f" Yet training has made better features: a kernel that is frozen at the end of training is {kernel.size} "
        "points ahead of fixed features. The model does not make the best of its own features."
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
    missing, near = len(steps) - len(there), _near(subject, settings)
    if missing:
        some = f"With {missing} of {len(steps)} seeds there" if there else "There"
        return f"{some} is no step from which on {kernel} {near}."
    if there[-1] == 0:
        return f"From the start on, {kernel} {near}."
    span = f"step {there[0]:.0f}" if there[0] == there[-1] else f"a step between {there[0]:.0f} and {there[-1]:.0f}"
    seeds = "" if there[0] == there[-1] else ", which depends on the seed"
    return f"From {span} of {subject.steps} on{seeds}, {kernel} {near}."


def where(subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """The block whose freezing costs most."""
    if "where" not in settings.parts:
        return ""
    trained = subject.trained_blocks
    still = [name for name in subject.block_names if name not in trained]
    kept = f" The model itself keeps {', '.join(still)} frozen." if still else ""
    if len(trained) == 1 and still:
        return f"All that is learnt is learnt in block {trained[0]}.{kept}"
    model = by_seed(rows, part="ladder", rung=MODEL)
    costs = _leads(trained, lambda name: (model, by_seed(rows, part="frozen", block=name)))
    if not costs:
        return ""
    worst = max(costs, key=lambda name: costs[name].mean)
    little = f"less than {points(settings.tolerance)}"
    if costs[worst].mean < settings.tolerance:
        of = f"{'any one of ' if len(costs) > 1 else ''}{_listed(list(costs))}"
        tried = "any one" if len(costs) == len(trained) else of
        return f"No single block has to learn: freezing {tried} at its start costs {little}.{kept}"
    free = [name for name, cost in costs.items() if cost.mean < settings.tolerance]
    rest = f"; freezing {_listed(free)} costs {little}{' each' if len(free) > 1 else ''}" if free else ""
    cost = f"freezing it at its start costs {costs[worst].size} points{costs[worst].doubt}"
    return f"Block {worst} has to learn most: {cost}{rest}.{kept}"


def corrected(subject: Subject, settings: AuditSettings, rows: Frame) -> str:
    """How much lower blocks that were trained first gain by being trained with those above them."""

    def ways(name: str) -> tuple[dict[int, float], dict[int, float]]:
        released, fixed = (by_seed(rows, part="correction", block=name, below=way) for way in ("released", "fixed"))
        return released, fixed

    gains = _leads(subject.block_names, ways)
    if not gains:
        return ""
    most = max(gains, key=lambda name: gains[name].mean)
    gain = gains[most]
    if gain.mean < settings.tolerance:
        little = f"less than {points(settings.tolerance)}"
        return f"Lower blocks that were trained first need no correction: it gains {little}."
    said = "matters" if gain.above_zero or gain.low is None else "does not show clearly"
    return (
        f"Backward feature correction {said}: if the blocks up to {most} are trained first, training them on with the "
        f"blocks above gains {gain.size} points over keeping them fixed{gain.doubt}."
    )


@dataclass(frozen=True)
class Lead:
    """By how many points one learner is ahead of another one, seed by seed.

    Arguments:
        mean: over seeds.
        low: the lower end of its 95 % interval; None with one seed.
        high: the upper end.
    """

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, differences: Sequence[float]) -> Lead:
        """The lead with these differences, at least one."""
        mean, low, high, _ = mean_interval(differences)
        assert mean is not None, "there is a seed"
        return cls(mean, low, high)

    @property
    def size(self) -> str:
        """Its size in words."""
        return f"{abs(self.mean):.1f}"

    @property
    def above_zero(self) -> bool:
        """Whether the interval lies above zero."""
        return self.low is not None and self.low > 0

    @property
    def sentence(self) -> str:
        """Whether the difference stands beyond seeds."""
        if self.low is None or self.high is None:
            return "With one seed it cannot be said whether the difference stands beyond seeds."
        stands = "stands" if self.low > 0 or self.high < 0 else "does not stand"
        return (
            f"The difference {stands} beyond seeds (95 % interval {_signed(self.low)} to {_signed(self.high)} points)."
        )

    @property
    def doubt(self) -> str:
        """What has to be added where a gain does not stand beyond seeds."""
        if self.above_zero or self.low is None or self.high is None:
            return ""
        return f" (not beyond seeds: 95 % interval {_signed(self.low)} to {_signed(self.high)})"


def _leads(
    names: Sequence[str], pair: Callable[[str], tuple[Mapping[int, float], Mapping[int, float]]]
) -> dict[str, Lead]:
    """The lead of the first over the second at each name for which a seed has both."""
    found = {}
    for name in names:
        first, second = pair(name)
        differences = [first[seed] - second[seed] for seed in first if seed in second]
        if differences:
            found[name] = Lead.of(differences)
    return found


def _mean(scores: Mapping[int, float], seeds: Sequence[int]) -> float:
    return sum(scores[seed] for seed in seeds) / len(seeds)


def _listed(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _signed(number: float) -> str:
    return f"{round(number, 1) + 0.0:.1f}".replace("-", "−")  # adding zero takes the sign from a rounded zero


def _score(points: float) -> str:
    return f"{_signed(points)} %"


def _near(subject: Subject, settings: AuditSettings) -> str:
    """What a kernel does that counts as well as the model. It may be better."""
    if subject.classes:
        return f"stays at most {points(settings.tolerance)} below the trained model"
    return "keeps its loss at most 5 % above the trained model's"
