"""The parts of a README that are made from kept results: between ``<!-- results -->`` and ``<!-- /results -->``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from beyondkernels.cli.kept import Kept, kept_results
from beyondkernels.experiments import CATALOGUE, find
from beyondkernels.reports.files import write_atomically
from beyondkernels.reports.numbers import show_number


def update_readme(readme: Path, folder: Path, *, write: bool) -> Literal["up to date", "out of date", "written"] | None:
    """Fill the marked parts of a README; None if there is nothing to fill.

    Arguments:
        readme: the file.
        folder: where results are kept, beside it.
        write: whether to change it, or only to say.
    """
    if not readme.is_file():
        return None
    text = readme.read_text(encoding="utf-8")
    made = filled(text, blocks(folder))
    if made == text:
        return "up to date" if "<!-- results -->" in text else None
    if write:
        write_atomically(readme, made)
    return "written" if write else "out of date"


def filled(text: str, parts: Mapping[str, str]) -> str:
    r"""A text with the parts between their markers.

    >>> filled("a <!-- results --> old <!-- /results --> b", {"results": "new"})
    'a <!-- results -->\n\nnew\n\n<!-- /results --> b'
    """
    for name, part in parts.items():
        marked = re.compile(rf"(<!-- {name} -->).*?(<!-- /{name} -->)", re.DOTALL)
        text = marked.sub(lambda found, part=part: f"{found[1]}\n\n{part}\n\n{found[2]}", text)
    return text


def blocks(folder: Path) -> dict[str, str]:
    """All parts by the name of their marker."""
    return {"results": results_block(folder), "bench": bench_block(folder)}


def results_block(folder: Path) -> str:
    """A table of the experiments and how their claims stand, and below it the claims that fail."""
    results = kept_results(folder)
    lines = ["| experiment | what it shows | claims | work |", "| --- | --- | --- | --- |"]
    failing = []
    for name in CATALOGUE:
        each, experiment = results.get(name, []), find(name)
        states = "<br>".join(_state(kept, folder) for kept in each) or "no result kept yet"
        took = "<br>".join(kept.took for kept in each)
        lines.append(f"| `{name}` | {_cell(experiment.title)} | {states} | {took} |")
        failing += [
            f"- `{name}`, {kept.scale} scale: {text}. Measured: {why}." for kept in each for text, why in kept.failing
        ]
    if results:
        lines += ["", "Work is the sum of the runs' own times; a busy machine makes them longer."]
    lines += ["", "The claims that fail:", "", *failing] if failing else []
    return "\n".join(lines)


def bench_block(folder: Path) -> str:
    """What ``bk bench`` measured: kernels and training against the usual recipes, grids against a plain loop."""
    parts = []
    for name in ("kernels", "audit"):
        if rows := _rows(folder / f"bench-{name}.json"):
            head = (f"`bk bench {name}`", "against", "times as fast", "times less memory", "size")
            cells = [
                (row["name"], row["against"], _times(row["ratio"]), _times(row["memory_ratio"]), row["remark"])
                for row in rows
            ]
            parts.append(_table(head, cells))
    if engine := _rows(folder / "bench-engine.json"):
        backends = list(dict.fromkeys(row["backend"] for row in engine))
        places = list(dict.fromkeys((row["network"], row["width"], row["members"]) for row in engine))
        ratio = {(row["network"], row["width"], row["backend"]): row["ratio_plain"] for row in engine}
        parts.append(
            _table(
                ("`bk bench engine`", "width", *(f"against a plain loop, {each}" for each in backends)),
                [
                    (
                        f"{members} networks, {network}",
                        str(width),
                        *(_times(ratio.get((network, width, b))) for b in backends),
                    )
                    for network, width, members in places
                ],
            )
        )
    head = "Measured on one core, by processor time: how many times as fast, where a number below 1 is slower."
    return "\n\n".join([head, *parts]) if parts else "Nothing is measured yet."


def _state(kept: Kept, folder: Path) -> str:
    where = f"{folder.name}/{kept.experiment}.{kept.scale}.json"
    return f"{kept.mark} {kept.scale} scale: [{kept.sentence}]({where})"


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a benchmark that came to its end."""
    if not path.is_file():
        return []
    document: Any = json.loads(path.read_text(encoding="utf-8"))
    return document["rows"] if document["complete"] else []


def _times(value: float | None) -> str:
    return "" if value is None else show_number(value)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
