"""Documents of a checkout that are made from kept results, in marked parts: ``<!-- results --> … <!-- /results -->``.

``README.md`` counts the claims of each paper. ``docs/results.md`` lists every experiment, every claim that fails, and
every benchmark. ``papers/NAME/README.md`` says where each part of a paper stands, and which parts nothing runs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from beyondkernels.cli.kept_results import Kept, kept_results
from beyondkernels.core import Paper
from beyondkernels.lab import CATALOGUE, PAPERS, find
from beyondkernels.lab.report.claims import LITTLE, LOOSE, Source, Verdict
from beyondkernels.lab.report.files import write_atomically
from beyondkernels.lab.report.numbers import show_number
from beyondkernels.lab.report.verdicts import Counts, verdict_sentence
from beyondkernels.lab.report.views import CAUSES

State = Literal["up to date", "out of date", "written"]
SOURCES = "src/beyondkernels"
SOURCE_WORDS = {"paper": "the paper's", "ours": "ours"}


def update_documents(folder: Path, *, write: bool) -> dict[str, State]:
    """Fill the marked parts of the documents beside a folder of results; those that are not there are left out.

    Arguments:
        folder: where results are kept.
        write: whether to change documents, or only to say which are out of date.
    """
    root, found = folder.resolve().parent, {}
    for name, parts in documents(folder).items():
        path = root / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        made = filled(text, parts)
        if made != text and write:
            write_atomically(path, made)
        found[name] = "up to date" if made == text else "written" if write else "out of date"
    return found


def documents(folder: Path) -> dict[str, dict[str, str]]:
    """For each document, its parts by the name of their marker.

    Arguments:
        folder: where results are kept.
    """
    results = kept_results(folder)
    return {
        "README.md": {"papers": papers_block(results)},
        "docs/results.md": {"results": results_block(results, "../results"), "bench": bench_block(folder)},
        **{
            f"{SOURCES}/papers/{paper.short}/README.md": {"contents": contents_block(paper, results)}
            for paper in PAPERS.values()
        },
    }


def filled(text: str, parts: Mapping[str, str]) -> str:
    r"""A text with the parts between their markers.

    >>> filled("a <!-- results --> old <!-- /results --> b", {"results": "new"})
    'a <!-- results -->\n\nnew\n\n<!-- /results --> b'
    """
    for name, part in parts.items():
        marked = re.compile(rf"(<!-- {name} -->).*?(<!-- /{name} -->)", re.DOTALL)
        text = marked.sub(lambda found, part=part: f"{found[1]}\n\n{part}\n\n{found[2]}", text)
    return text


def papers_block(results: Mapping[str, list[Kept]]) -> str:
    """A line for each paper: how many experiments have a result, and how many of their claims hold."""
    lines = []
    for paper in PAPERS.values():
        kept = [each for name in paper.catalogue for each in results.get(name, [])]
        told = verdict_sentence(_total(kept))
        lines.append(
            f"- [`{paper.short}`]({SOURCES}/papers/{paper.short}/README.md): {paper.authors}, *{paper.title}* "
            f"({paper.year}), [arXiv:{paper.arxiv}]({paper.address}). {len(paper.experiments)} experiments. {told}."
        )
    return "\n".join(lines)


def results_block(results: Mapping[str, list[Kept]], folder: str) -> str:
    """A table of the experiments and how their claims stand, and below it the claims that fail.

    Arguments:
        results: by experiment.
        folder: where links to results lead.
    """
    lines = ["| experiment | what it shows | claims | work |", "| --- | --- | --- | --- |"]
    failing = []
    for name in CATALOGUE:
        each, experiment = results.get(name, []), find(name)
        states = "<br>".join(_state(kept, folder) for kept in each) or "no result kept yet"
        took = "<br>".join(kept.took for kept in each)
        lines.append(f"| `{name}` | {_cell(experiment.title)} | {states} | {took} |")
        failing += [_failing(name, kept, claim) for kept in each for claim in kept.failing]
    if results:
        lines += ["", "Work is the sum of the runs' own times; a busy machine makes them longer."]
        lines += ["", *_verdict_lines(results)]
    for source, heading in {"paper": "Claims of the papers that fail:", "ours": "Claims of ours that fail:"}.items():
        theirs = [words for which, words in failing if which == source]
        lines += ["", heading, "", *theirs] if theirs else []
    return "\n".join(lines)


def _verdict_lines(results: Mapping[str, list[Kept]]) -> list[str]:
    """The claims of each paper by source and verdict, and how many of those that fail have which cause."""
    rows, kept = [], [each for name in CATALOGUE for each in results.get(name, [])]
    for paper in PAPERS.values():
        counts = _total(each for each in kept if each.experiment in paper.catalogue)
        for source, verdicts in counts.items():
            rows.append((f"`{paper.short}`", SOURCE_WORDS[source], *(str(n) for n in verdicts.values())))
    claims = [claim for each in kept for claim in each.claims]
    causes = [claim.get("cause") for claim in claims if claim["holds"] is False]
    by_cause = [f"{words.lower()}: {causes.count(cause)}" for cause, words in CAUSES.items() if cause in causes]
    decided = sum(verdicts["holds"] + verdicts["fails"] for verdicts in _total(kept).values())
    chance = (
        f"{decided} claims are decided. An interval of 95 % lies wholly on the wrong side of a bound that is exactly "
        f"met in 2.5 % of all cases, so up to {decided * 0.025:.0f} of them could fail by chance, if all were true."
    )
    table = _table(("paper", "whose claims", "hold", "fail", "undecided"), rows)
    checks = sum(claim.get("kind") == "check" for claim in claims)
    little = sum((claim.get("slack") or 0) > LITTLE for claim in claims if claim["holds"] and claim["kind"] in LOOSE)
    power = (
        f"Every claim that holds fails on some table that is wrong on purpose, but for {checks} checks of the "
        f"machinery and {little} bounds that hold by more than a factor of {LITTLE:g} and so say little."
    )
    sets = [claim["sets"] for claim in claims if claim.get("sets")]
    torn = sum(True in each and False in each for each in sets)
    seeds = f"{len(sets)} claims are judged on several sets of seeds; the sets disagree on {torn} of them."
    causes_line = f"Claims that fail, by cause: {'; '.join(by_cause)}."
    return [table, "", causes_line, "", power, "", seeds, "", chance]


def _failing(name: str, kept: Kept, claim: Mapping[str, Any]) -> tuple[str, str]:
    """Whose claim it is that fails, and a line about it."""
    place = f" ({claim['place']})" if claim["place"] else ""
    cause = f" {CAUSES[claim['cause']]}: {claim['because'].rstrip('.')}." if claim["cause"] in CAUSES else ""
    text = f"- `{name}`, {kept.scale} scale{place}: {claim['text']}. Measured: {claim['reason']}.{cause}"
    return claim["source"], text


def _total(results: Iterable[Kept]) -> Counts:
    """The claims of several results together."""
    several = [each.verdicts for each in results]
    return {
        source: {verdict: sum(each[source][verdict] for each in several) for verdict in get_args(Verdict)}
        for source in get_args(Source)
    }


def contents_block(paper: Paper, results: Mapping[str, list[Kept]]) -> str:
    """Where each part of a paper stands, with the verdicts of its experiments; below it, what nothing runs.

    Arguments:
        paper: with a file ``contents.toml`` in its folder.
        results: by experiment.
    """
    file = resources.files(paper.package).joinpath("contents.toml")
    parts = tomllib.loads(file.read_text(encoding="utf-8"))["part"] if file.is_file() else []
    rows, idle = [], []
    for part in parts:
        home = f"papers/{paper.short}/"
        code = "<br>".join(f"[`{path.removeprefix(home)}`](../../{path})" for path in part.get("code", ()))
        states = []
        for name in part.get("experiments", ()):
            kept = results.get(f"{paper.short}/{name}", [])
            states += [_short_state(name, each) for each in kept] or [f"`{name}`: no result kept yet"]
        if code or states:
            rows.append((part["place"], part["says"], code, "<br>".join(states)))
            idle += [f"- {part['place']}: {part['missing']}"] if "missing" in part else []
        else:
            idle.append(f"- {part['place']}: {part['says']}")
    table = _table(("in the paper", "what it says", "code", "experiments and verdicts"), rows)
    return "\n".join([table, "", "Nothing runs these yet:", "", *idle] if idle else [table])


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


def _state(kept: Kept, folder: str) -> str:
    return f"{kept.mark} {kept.scale} scale: [{kept.sentence}]({folder}/{kept.experiment}.{kept.scale}.json)"


def _short_state(name: str, kept: Kept) -> str:
    file = f"../../../../results/{kept.experiment}.{kept.scale}.json"
    given = {source: verdicts for source, verdicts in kept.verdicts.items() if any(verdicts.values())}
    held = {source: f"{verdicts['holds']} of {sum(verdicts.values())}" for source, verdicts in given.items()}
    ours = f"ours {held['ours']}" if "ours" in held else ""
    return f"[`{name}`]({file}) {kept.mark} {'; '.join(filter(None, (held.get('paper'), ours)))}"


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
