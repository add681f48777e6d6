"""Results that are kept with the code: what ``bk list`` says about each experiment without running it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.execution import duration
from beyondkernels.lab import SCALES
from beyondkernels.lab.report.claims import Source, Verdict
from beyondkernels.lab.report.verdicts import STATES, Counts, State, count_pairs, state_of, verdict_sentence

_PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (_PACKAGE / "results", _PACKAGE.parents[1] / "results")
"""Where results are looked for: in an installed package, and in a checkout."""

_SOURCES: dict[str, Source] = {"paper": "paper", "ours": "ours"}
_VERDICTS: dict[bool | None, Verdict] = {True: "holds", False: "fails", None: "undecided"}


@dataclass(frozen=True)
class Kept:
    """One result.

    Arguments:
        experiment: its id.
        scale: at which scale.
        verdicts: how many claims hold, fail or are undecided, by whose they are.
        core_seconds: what all its runs took on one core; None if that is not known.
        claims: the claims with their verdicts.
    """

    experiment: str
    scale: str
    verdicts: Counts
    core_seconds: float | None
    claims: tuple[Mapping[str, Any], ...] = ()

    @property
    def failing(self) -> list[Mapping[str, Any]]:
        """The claims that fail."""
        return [claim for claim in self.claims if claim["holds"] is False]

    @property
    def state(self) -> State:
        """What became of all claims together."""
        return state_of(self.verdicts)

    @property
    def mark(self) -> str:
        """The sign for :attr:`state`: ✓, ◐, ✗, – or …."""
        return STATES[self.state][0]

    @property
    def sentence(self) -> str:
        """How many claims hold, to go on with after a colon or a mark."""
        told = verdict_sentence(self.verdicts)
        return told[0].lower() + told[1:]

    @property
    def took(self) -> str:
        """What its runs took, in words; nothing if that is not known."""
        return "" if self.core_seconds is None else f"{duration(self.core_seconds)} on one core"


def kept_results(folder: Path | None = None) -> dict[str, list[Kept]]:
    """The results by experiment, the smallest scale first; a file that is none is passed over.

    Arguments:
        folder: where they are; by default those kept with this code.
    """
    found: dict[str, list[Kept]] = {}
    folder = folder or next((folder for folder in FOLDERS if folder.is_dir()), None)
    for path in sorted(folder.rglob("*.json")) if folder else ():
        if (kept := _read(path)) is not None:
            found.setdefault(kept.experiment, []).append(kept)
    return {name: sorted(each, key=lambda kept: SCALES.index(kept.scale)) for name, each in found.items()}


def _read(path: Path) -> Kept | None:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        experiment, scale, claims = document["experiment"], document["scale"], document["claims"]
        counts = count_pairs((_SOURCES[claim["source"]], _VERDICTS[claim["holds"]]) for claim in claims)
        seconds = document.get("core_seconds")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if scale not in SCALES or not isinstance(experiment, str):
        return None
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return Kept(experiment, scale, counts, seconds if known else None, tuple(claims))
