"""Results that are kept with the code: what ``bk list`` says about each experiment without running it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beyondkernels.experiments import SCALES

_PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (_PACKAGE / "results", _PACKAGE.parents[1] / "results")
"""Where results are looked for: in an installed package, and in a checkout."""


@dataclass(frozen=True)
class Kept:
    """One result: how many claims hold, of how many that say something, and how long it took."""

    experiment: str
    scale: str
    holds: int
    claims: int
    seconds: float | None


def kept_results() -> dict[str, list[Kept]]:
    """The results by experiment, the smallest scale first; a file that is none is passed over."""
    found: dict[str, list[Kept]] = {}
    folder = next((folder for folder in FOLDERS if folder.is_dir()), None)
    for path in sorted(folder.rglob("*.json")) if folder else ():
        if (kept := _read(path)) is not None:
            found.setdefault(kept.experiment, []).append(kept)
    return {name: sorted(each, key=lambda kept: SCALES.index(kept.scale)) for name, each in found.items()}


def _read(path: Path) -> Kept | None:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        experiment, scale = document["experiment"], document["scale"]
        verdicts = [claim["holds"] for claim in document["claims"]]
        seconds = document.get("provenance", {}).get("seconds")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if scale not in SCALES or not isinstance(experiment, str):
        return None
    said = [verdict for verdict in verdicts if verdict is not None]
    return Kept(experiment, scale, sum(said), len(said), seconds if isinstance(seconds, int | float) else None)
