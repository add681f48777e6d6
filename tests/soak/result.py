"""Computes a kept result anew, from nothing, and compares every number with the one that is kept.

``python tests/soak/result.py features/lemma5 [--workers 2] [--tolerance 1e-6]`` prints what differs and ends with 1 if
anything does. Constructions and exact solutions agree everywhere; what is trained agrees to the bit on the same kind of
processor and version of torch, and elsewhere as far as training allows.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import beyondkernels as bk
from beyondkernels.lab.request.kept_results import kept_document

RESULTS = Path(__file__).parents[2] / "results"


def differences(name: str, folder: Path, tolerance: float, workers: int | None = None) -> Iterator[str]:
    """What a result computed anew has otherwise than the one that is kept.

    Arguments:
        name: the experiment.
        folder: for the runs; new or empty.
        tolerance: how far numbers may differ, relative to their size.
        workers: worker processes.
    """
    kept: Any = json.loads((RESULTS / f"{name}.laptop.json").read_text(encoding="utf-8"))
    anew = json.loads(json.dumps(kept_document(bk.run(name, store=folder, workers=workers, progress=False))))
    for part in ("rows", "claims"):
        yield from _differences(part, kept[part], anew[part], tolerance)


def _differences(where: str, one: Any, other: Any, tolerance: float) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _differences(f"{where}.{name}", one[name], other[name], tolerance)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{where}[{i}]", a, b, tolerance)
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance**2):
            yield f"{where}: {one!r} is kept, {other!r} comes out"
    elif one != other:
        yield f"{where}: {one!r} is kept, {other!r} comes out"


def main() -> None:
    """Compare one result, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(differences(asked.experiment, Path(folder), asked.tolerance, asked.workers))
    print("\n".join(found[:50]) or f"{asked.experiment}: every number is the one that is kept")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
