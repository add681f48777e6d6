"""Curves of runs: when to record them, and what a notebook shows of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.core.contracts import Outcome

_SHARE = 0.04
"""Points looked at for curves, as a share of the points trained on. Looking costs a third of training."""

_PAUSES, _LEAST_STEPS = 20, 3
_MOST_POINTS, _LEAST_POINTS = 2000, 64
_PARTS = ("train", "validation", "test")
_MOST_LINES = 8


@dataclass(frozen=True)
class Picture:
    """Lines as plain data, for whoever draws them.

    Arguments:
        title: what it shows.
        y_label: what is on the vertical axis.
        lines: label, places and values, (points,) or (seeds, points).
        levels: labels and values of horizontal lines.
        x_label: what is on the horizontal axis.
        x_scale: ``linear`` or ``log``.
        y_scale: ``linear`` or ``log``.
    """

    title: str
    y_label: str
    lines: Sequence[tuple[str, Sequence[float], Any]]
    levels: Sequence[tuple[str, float]] = field(default=())
    x_label: str = "step"
    x_scale: str = "linear"
    y_scale: str = "linear"


def recording(algorithm: Algorithm, n: int, samples: int) -> dict[str, Any]:
    """At how many steps, and on how many points, curves are recorded unless someone says so.

    At the start and at most 20 steps after it. Their cost stays below 3 % of the training's.

    Arguments:
        algorithm: the training rule.
        n: how many points it trains on.
        samples: how many samples are recorded: training and test, and validation where there is one.

    >>> from beyondkernels.algorithms import GradientDescent
    >>> recording(GradientDescent(steps=1000, learning_rate=0.1, batch=64), n=6400, samples=2)
    {'record_at': (0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000), 'record_points': 64}
    """
    stages = algorithm.stages()
    steps = sum(stage.steps for stage in stages)
    budget = _SHARE * sum(stage.steps * (stage.batch or n) for stage in stages) / samples
    count = int(min(_PAUSES + 1, max(_LEAST_STEPS, budget / _LEAST_POINTS), steps + 1))
    points = int(min(_MOST_POINTS, max(_LEAST_POINTS, budget / count)))
    # Training pauses at every twentieth of its steps to tell its progress. A record at these needs no other pause.
    stride = max(1, steps // _PAUSES) * math.ceil(_PAUSES / max(1, count - 1))
    times = (*(step for step in range(0, steps, stride) if step == 0 or step <= steps - stride / 2), steps)
    return {"record_at": times, "record_points": points}


def run_pictures(outcome: Outcome) -> list[Picture]:
    """Loss and, where there is one, accuracy over the steps of a run."""
    pictures = []
    for score in ("loss", "accuracy"):
        lines = [
            (part, *_over(outcome, f"{part}_{score}"))
            for part in _PARTS
            if len(outcome.series.get(f"{part}_{score}", ())) > 1
        ]
        if lines:
            pictures.append(_picture(f"{score} over training", score, lines))
    return pictures


def comparison_pictures(outcomes: Mapping[str, Sequence[Outcome]], score: str) -> list[Picture]:
    """The test score over steps of all learners that have recorded it, and the end of the others as levels.

    Arguments:
        outcomes: of each learner, one for each seed.
        score: ``accuracy``, ``loss``, …
    """
    lines, levels = [], []
    for name, ended in outcomes.items():
        series = [
            _over(outcome, f"test_{score}") for outcome in ended if len(outcome.series.get(f"test_{score}", ())) > 1
        ]
        ends = [outcome.scalars[f"test_{score}"] for outcome in ended if f"test_{score}" in outcome.scalars]
        if series and all(len(x) == len(series[0][0]) for x, _ in series):
            lines.append((name, series[0][0], [_in_units(score, y) for _, y in series]))
        elif ends:
            levels.append((name, _in_units(score, [sum(ends) / len(ends)])[0]))
    if not lines:
        return []
    lines = [(name, x, y) for name, x, y in lines]
    return [
        _scaled(Picture(f"test {score} over training", _label(f"test {score}", score), lines[:_MOST_LINES], levels))
    ]


def sweep_pictures(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[Picture]:
    """The test score over the setting with the most values; a line for each value of another setting.

    Arguments:
        rows: settings, status and scalars of each run.
        names: the settings.
    """
    ended = [row for row in rows if row["status"] == "finished"]
    score = next((each for each in ("accuracy", "loss") if all(f"test_{each}" in row for row in ended)), None)
    kinds: dict[str, list[Any]] = {
        name: list(dict.fromkeys(row.get(name) for row in ended)) for name in names if name != "seed"
    }
    numeric = [
        name
        for name, values in kinds.items()
        if len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    if score is None or not ended or not numeric:
        return []
    axis = max(numeric, key=lambda name: len(kinds[name]))
    other = next((name for name in kinds if name != axis and 1 < len(kinds[name]) <= _MOST_LINES), None)
    x = sorted(kinds[axis])
    lines = []
    for value in kinds[other] if other else [None]:
        means = []
        for place in x:
            found = [
                row[f"test_{score}"]
                for row in ended
                if row.get(axis) == place and (other is None or row.get(other) == value)
            ]
            means.append(sum(found) / len(found) if found else math.nan)
        lines.append((f"{other} = {value}" if other else "mean", x, [_in_units(score, means)]))
    log = x[0] > 0 and x[-1] >= 10 * x[0]
    picture = Picture(f"test {score}", _label(f"test {score}", score), lines, (), axis, "log" if log else "linear")
    return [_scaled(picture)]


def _over(outcome: Outcome, name: str) -> tuple[list[float], list[float]]:
    return outcome.series["step"].tolist(), outcome.series[name].tolist()


def _picture(title: str, score: str, lines: Sequence[tuple[str, list[float], list[float]]]) -> Picture:
    drawn = [(label, x, [_in_units(score, y)]) for label, x, y in lines]
    return _scaled(Picture(title, _label(score, score), drawn))


def _label(words: str, score: str) -> str:
    return f"{words}, %" if score == "accuracy" else words


def _in_units(score: str, values: Sequence[float]) -> list[float]:
    return [100 * value for value in values] if score == "accuracy" else list(values)


def _scaled(picture: Picture) -> Picture:
    """With a logarithmic axis where losses differ by more than a factor of ten."""
    values = [value for _, _, rows in picture.lines for row in rows for value in row if math.isfinite(value)]
    log = "loss" in picture.y_label and values and min(values) > 0 and max(values) > 10 * min(values)
    return Picture(**{**vars(picture), "y_scale": "log"}) if log else picture
