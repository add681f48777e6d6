"""A small experiment that may be killed at any moment: ``drive.py STORE RESULT RUNS`` does what is missing."""

import json
import sys
from pathlib import Path
from typing import Any

from beyondkernels.core import load_file
from beyondkernels.execution import LocalExecutor
from beyondkernels.lab.report.files import write_atomically
from beyondkernels.store import RunSpec, Store

TOYS = Path(__file__).parents[1] / "store" / "toys.py"


def specs(runs: int) -> list[RunSpec]:
    toys = load_file(TOYS)
    return [RunSpec(toys.Line(), toys.Walk(), 5, 5, seed) for seed in range(runs)]


def request(wanted: list[RunSpec], *, complete: bool) -> dict[str, Any]:
    runs = [{"label": ["walk", spec.seed], "key": spec.key} for spec in wanted]
    asked = {"name": "soak", "scale": "smoke", "seeds": list(range(len(wanted))), "settings": {}, "runs": runs}
    return {**asked, "claims": [], "provenance": {}, "complete": complete}


def main(store_path: str, result: str, runs: str) -> None:
    wanted = specs(int(runs))
    store = Store.open(store_path)
    store.write_request("soak/walk", request(wanted, complete=False))
    missing = [spec for spec in wanted if not store.has(spec.key)]
    for event in LocalExecutor(2, [TOYS], save_every=0.0).execute(missing, store):
        if event.status not in (None, "finished"):
            sys.exit(f"{event.key} {event.status}: {event.message}")
    ends = {spec.key: store.read(spec.key).outcome.scalars["end"].hex() for spec in wanted}
    store.write_request("soak/walk", request(wanted, complete=True))
    write_atomically(Path(result), json.dumps(ends))


if __name__ == "__main__":
    main(*sys.argv[1:])
