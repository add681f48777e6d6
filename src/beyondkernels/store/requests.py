"""What was asked of a store: a small document for each experiment, scale, settings and seeds, the newest kept.

A document is the file ``requests/EXPERIMENT/SCALE-DIGEST.json``, so a variant stands beside the standard run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beyondkernels.core.errors import InputError, StoreError, require, shown
from beyondkernels.store.device import PROCESSOR
from beyondkernels.store.documents import read_bytes, require_size, sealed, unsealed
from beyondkernels.store.errors import DamagedError
from beyondkernels.store.files import entries_of, is_directory, replace_file
from beyondkernels.store.keys import is_key, key_of
from beyondkernels.store.provenance import flaw_in

_ID = re.compile(r"[\w.:+-]+(/[\w.:+-]+)*")
_SCALE = re.compile(r"\w+")
_KINDS = {"name": str, "scale": str, "seeds": list, "settings": dict, "runs": list, "claims": list, "complete": bool}
_IDENTITY = ("scale", "seeds", "settings")


def digest(experiment_id: str, request: Mapping[str, Any]) -> str:
    """Sixteen letters that tell a request from all others of its experiment: by scale, settings, seeds and device."""
    told = {name: request.get(name) for name in _IDENTITY}
    device = {"device": request["device"]} if "device" in request else {}  # said only where it is not the processor
    return key_of({"experiment": experiment_id} | told | device)[:16]


def write(root: Path, temporary: Path, experiment_id: str, request: dict[str, Any]) -> None:
    """Keep a request in place of an earlier one with the same scale, settings and seeds.

    Arguments:
        root: the store's folder of requests.
        temporary: a new name on the same file system.
        experiment_id: the experiment, such as ``features/table1``.
        request: plain JSON data; ``request["scale"]`` names the scale.
    """
    folder = _folder(root, experiment_id)
    if (flaw := _flaw(experiment_id, request)) is not None:
        raise InputError(f"a request {flaw}")
    if not is_directory(folder):
        folder.mkdir(exist_ok=True)
    if not is_directory(folder):
        raise StoreError(f"{folder} is a link or a file, not a folder; bk store verify --put-aside moves it away")
    path = folder / f"{request['scale']}-{digest(experiment_id, request)}.json"
    document = {"experiment": experiment_id, "written": time.time_ns(), "request": request}
    replace_file(path, require_size(sealed(document), path.name), temporary)


def read_all(root: Path) -> list[dict[str, Any]]:
    """The intact requests, the newest last, each with its ``digest`` and when it was ``written``, in nanoseconds."""
    return _intact([path for folder in entries_of(root) for path in _documents(folder)])[0]


def damaged(root: Path) -> list[tuple[str, str, Path]]:
    """What is not as it was written or does not belong there, what is wrong with it, and where it lies."""
    strangers = []
    for folder in entries_of(root):
        if is_directory(folder):
            strangers += [path for path in entries_of(folder) if path.suffix != ".json"]
        else:
            strangers.append(folder)
    _, damage = _intact([path for folder in entries_of(root) for path in _documents(folder)])
    damage += [(path, "does not belong there") for path in strangers]
    return [(f"requests/{path.relative_to(root).with_suffix('').as_posix()}", what, path) for path, what in damage]


def _documents(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix == ".json"]


def _intact(paths: list[Path]) -> tuple[list[dict[str, Any]], list[tuple[Path, str]]]:
    """The requests, the newest last, and what is wrong with the other files."""
    found, damage = [], []
    for path in paths:
        try:
            found.append(_opened(path))
        except DamagedError as error:
            damage.append((path, str(error)))
    return sorted(found, key=lambda request: request["written"]), damage


def _opened(path: Path) -> dict[str, Any]:
    document = unsealed(read_bytes(path), path.name)
    experiment, written, request = (document.get(name) for name in ("experiment", "written", "request"))
    if not isinstance(experiment, str) or type(written) is not int or not isinstance(request, dict):
        raise DamagedError(f"{path.name} is not a request")
    if (flaw := _flaw(experiment, request)) is not None:
        raise DamagedError(f"{path.name} {flaw}")
    # The name is not believed but computed: a file that was copied to another place is not a request there.
    made = digest(experiment, request)
    if path.parent.name != experiment.replace("/", "__") or path.stem != f"{request['scale']}-{made}":
        raise DamagedError(f"{path.name} is not where a request belongs")
    return {**request, "experiment": experiment, "digest": made, "written": written}


def _flaw(experiment_id: str, request: Mapping[str, Any]) -> str | None:
    """What is wrong with a request, if anything: whoever reads one may rely on the kinds of its fields."""
    if not _is_id(experiment_id) or request.get("experiment", experiment_id) != experiment_id:
        return "does not name its experiment"
    scale = request.get("scale")
    if not isinstance(scale, str) or not _SCALE.fullmatch(scale):
        return f"has a scale that must be a word, got {str(scale)[:80]!r}"
    for name, kind in _KINDS.items():
        if name not in request:
            return f"must have {name}"
        if not isinstance(request[name], kind):
            return f"has {name} of the wrong kind, a {type(request[name]).__name__}"
    if not isinstance(request.get("device", PROCESSOR), str):
        return "has a device that must be a word"
    if any(type(seed) is not int for seed in request["seeds"]):
        return "has seeds that are not whole numbers"
    if not all(isinstance(run, dict) and isinstance(run.get("label"), list | dict) for run in request["runs"]):
        return "has runs without a label"
    if not all(isinstance(run.get("key"), str) and is_key(run["key"]) for run in request["runs"]):
        return "has runs without a key"
    if not all(isinstance(claim, dict) and isinstance(claim.get("id"), str) for claim in request["claims"]):
        return "has claims without an id"
    flaw = flaw_in(request.get("provenance"))
    return None if flaw is None else f"has a provenance that is wrong: {flaw}"


def _is_id(experiment_id: str) -> bool:
    # the name becomes a path: no way out of the folder, and no two names that become the same
    fine = _ID.fullmatch(experiment_id) and "__" not in experiment_id
    return bool(fine) and all(part.strip(".") for part in experiment_id.split("/"))


def _folder(root: Path, experiment_id: str) -> Path:
    require(_is_id(experiment_id), f"an experiment's id reads like features/table1, got {shown(experiment_id)}")
    return root / experiment_id.replace("/", "__")
