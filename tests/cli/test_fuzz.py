"""Whatever is typed behind ``bk``: an answer or one sentence comes out, never a traceback."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz import WORDS

THOROUGH = "BK_FUZZ" in os.environ
"""Set ``BK_FUZZ`` to try every word at every place; otherwise a share of them, another one for each place."""

ODD = [
    *WORDS,
    *("-", "--", "-x", "--nonsense", "--store", "-h", "features/table1", "table1", "../..", "/", ".", "~", "a b"),
    *("missing.py:Own", "typed.py", "typed.py:", ":Own", "typed.py:missing", "é", "\udcff", "\n", "'", "*", "smoke"),
]
"""Words that somebody, a shell or a broken script may hand over."""

CERTIFY = ("certify", "--kernel", "gaussian", "--d", "8", "--k", "2", "--n", "3")
DRY = ("run", "features/table1", "--dry-run")
PLACES: list[tuple[str, ...]] = [
    ("?",),
    ("list", "?"),
    ("show", "?"),
    ("show", "features/table1", "--store", "?"),
    ("run", "--dry-run", "?"),
    *[
        (*DRY, option, "?")
        for option in ("--scale", "--seeds", "--set", "--config", "--workers", "--store", "--device")
    ],
    (*DRY, "--json", "?"),
    (*DRY, "--set", "steps=?"),
    ("report", "?"),
    ("report", "--store", "?"),
    ("results", "--check", "?"),
    ("results", "features/table1", "--check", "--scale", "?"),
    ("results", "features/table1", "--check", "--workers", "?"),
    ("results", "features/table1", "--check", "--out", "?"),
    ("bench", "?"),
    ("certify", "--kernel", "?", "--d", "8", "--k", "2", "--n", "3"),
    *[("certify", "--kernel", "any", *sizes) for sizes in (("--d", "?"), ("--d", "8", "--k", "?", "--n", "3"))],
    *[(*CERTIFY, option, "?") for option in ("--n", "--alpha", "--seed")],
    ("store", "?"),
    *[("store", command, "--store", "?") for command in ("verify", "quarantine", "prune", "size")],
    ("store", "prune", "--days", "?"),
    ("demo", "--workers", "?", "--nonsense"),
]
"""Where a word is tried, in place of the question mark; nothing here trains."""

HARMFUL = {("bench", "kernels"), ("bench", "engine")}


def lines() -> Iterator[tuple[str, ...]]:
    for number, place in enumerate(PLACES):
        for word in ODD if THOROUGH else ODD[number % 9 :: 9]:
            yield tuple(part.replace("?", word) for part in place)


def test_command_lines(bk: Any, user: Path, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(user.read_text(encoding="utf-8"), encoding="utf-8")
    wrong, tried = [], 0
    for words in lines():
        if words in HARMFUL:
            continue
        tried += 1
        result = bk(*words)
        said = result.stderr.splitlines()
        shown = " ".join(word[:30] for word in words)
        if result.exit_code not in (0, 1, 2, 3) or "Traceback" in result.output:
            wrong.append(f"{shown!r} ends with {result.exit_code}: {said[-1:]}")
        elif result.exit_code == 2 and not (len(said) == 1 and said[0].startswith("bk: ") and len(said[0]) < 600):
            wrong.append(f"{shown!r} says {said}")
    assert tried > 200
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong)
