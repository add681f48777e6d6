"""Small figures and pages of every kind, made from a string that may be hostile."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from beyondkernels.lab import report as reports


def make_figures(text: str) -> list[reports.Figure]:
    draw = np.random.Generator(np.random.Philox(7))
    words: Any = {"title": text, "caption": text, "alt": text}
    steps = np.array([0, 1, 2, 5, 10, 50, 200, 600])
    rising = 50 + 50 * steps / (steps + 5) + draw.normal(size=(5, 8))
    points = draw.normal(size=(40, 2))
    names = [f"{text}{i}" for i in range(4)]
    shares = [reports.Distribution(name, draw.uniform(size=50) ** (i + 1)) for i, name in enumerate(names)]
    cosines = [reports.Dot(0.9, 0.8, 0.95), reports.Dot(), reports.Dot(published=0.1), reports.Dot(0.2)]
    return [
        reports.Curves(
            name="curves",
            **words,
            lines=[reports.Line(name, steps, rising - 3 * (i // 2)) for i, name in enumerate(names)],
            levels=[reports.Level(text, 84.4)],
            x_label=text,
            y_label=text,
            x_scale="steps",
        ),
        reports.Directions(
            name="directions",
            **words,
            panels=[reports.Panel(text, points * scale, [[1, 0], [-1, 0]], text) for scale in (1.0, 0.5)],
            star_labels=[text, text],
            near=np.arange(40) % 3 - 1,
            near_label=text,
        ),
        reports.Histogram(name="panels", **words, distributions=shares, x_label=text, y_label=text),
        reports.Histogram(
            name="overlaid", **words, distributions=shares, x_label=text, y_label=text, layout="overlaid", y_scale="log"
        ),
        reports.Dots(
            name="dots",
            **words,
            methods=names,
            quantities=[
                reports.DotColumn(text, [reports.Dot(v, v - 3, v + 3, v - 1) for v in (99, 84, 75, 52)], chance=50),
                reports.DotColumn(text, cosines),
            ],
            interval=text,
        ),
        reports.Pictures(
            name="pictures",
            **words,
            rows=[
                reports.PictureRow(text, draw.normal(size=(4, 3, 5, 5)), names),
                reports.PictureRow(text, draw.normal(size=(2, 6))),
            ],
        ),
    ]


def claimed(text: str, test: reports.Condition, values: list[float], paper: Any, unit: str) -> reports.Claim:
    found = test.judge(values, unit)
    ends = (found.low, found.high, found.interval, found.holds, found.reason)
    return reports.Claim(text, text, paper, found.measured, *ends, unit, values=found.values)


def make_page(text: str, name: str = "features/table1", kinds: int = 1, missing: int = 0) -> reports.ExperimentPage:
    return reports.ExperimentPage(
        name,
        title=text,
        summary=text,
        reference=text,
        scale=text,
        seeds=(0, 1, 2),
        claims=[
            claimed(text, reports.AtLeast(95), [99.0, 100.0, 99.0, 100.0], paper=100.0, unit="%"),
            claimed(text, reports.AtMost(0.5), [0.9, 0.91], paper=text, unit=text),
            reports.Claim(text, text, reason=text),
        ],
        rows=[
            {"method": text, "test": 99.5, "seeds": [99.0, 100.0], "printed": 52.0, text: text},
            {"method": "plain", "test": None, text: [text, {text: text}]},
        ],
        columns=[
            reports.Column("method", text),
            reports.Column("test", text, ".1f", values="seeds", about=text),
            reports.Column("printed", text, ".1f", beside="test"),
            reports.Column(text, text),
        ],
        figures=make_figures(text)[:kinds],
        settings=[reports.Setting(text, text, "paper", text), reports.Setting("rate", (1e-8, text), "theorem", text)],
        provenance={"version": text, "libraries": {text: text}, text: text},
        command=text,
        notes=[text, f"# {text}\n\n- {text}\n\n${text}$"],
        differences=[reports.Difference(text, text, text, text)],
        banner=text,
        variant={text: text},
        missing=missing,
        resume_command=text,
    )


@pytest.fixture
def figures() -> Callable[[str], list[reports.Figure]]:
    return make_figures


@pytest.fixture
def page() -> Callable[..., reports.ExperimentPage]:
    return make_page
