"""What was asked of a store: small documents, one for each experiment and scale, the newest kept."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from beyondkernels.core.errors import require
from beyondkernels.runs.errors import DamagedError, MissingRequestError
from beyondkernels.runs.files import replace_file
from beyondkernels.runs.rundir import read_bytes, sealed, unsealed

_ID = re.compile(r"[\w.:+-]+(/[\w.:+-]+)*")
_SCALE = re.compile(r"\w+")


def write(root: Path, temporary: Path, experiment_id: str, request: dict[str, Any]) -> None:
    """Keep a request in place of the one before it.

    Arguments:
        root: the store's folder of requests.
        temporary: a new name on the same file system.
        experiment_id: the experiment, such as ``features/table1``.
        request: plain JSON data; ``request["scale"]`` names the scale.
    """
    path = _path(root, experiment_id, request.get("scale"))
    path.parent.mkdir(exist_ok=True)
    document = {"experiment": experiment_id, "written": time.time_ns(), "request": request}
    replace_file(path, sealed(document), temporary)


def read(root: Path, experiment_id: str, scale: str | None) -> dict[str, Any]:
    """The newest request of an experiment at a scale, or at any."""
    if scale is None:
        paths = sorted(_folder(root, experiment_id).glob("*.json"))
    else:
        paths = [path for path in [_path(root, experiment_id, scale)] if path.exists()]
    at = "" if scale is None else f" at scale {scale}"
    if not paths:
        raise MissingRequestError(
            f"{experiment_id}{at} has not been run in this store; run it with bk run {experiment_id}"
        )
    found, damage = _intact(paths)
    if not found:
        raise MissingRequestError(f"the request of {experiment_id}{at} is damaged ({damage[0][1]}); run it again")
    return max(found, key=lambda document: document["written"])["request"]


def read_all(root: Path) -> list[dict[str, Any]]:
    """The intact requests, the newest last."""
    found, _ = _intact(sorted(root.glob("*/*.json")))
    return [document["request"] for document in sorted(found, key=lambda document: document["written"])]


def damaged(root: Path) -> list[tuple[str, str]]:
    """The requests that are not what was written, and what is wrong with them."""
    _, damage = _intact(sorted(root.glob("*/*.json")))
    return [(f"requests/{path.parent.name}/{path.stem}", what) for path, what in damage]


def _intact(paths: list[Path]) -> tuple[list[dict[str, Any]], list[tuple[Path, str]]]:
    found, damage = [], []
    for path in paths:
        try:
            document = unsealed(read_bytes(path), path.name)
            if not {"experiment", "written", "request"} <= document.keys():
                raise DamagedError(f"{path.name} is not a request")
            found.append(document)
        except DamagedError as error:
            damage.append((path, str(error)))
    return found, damage


def _folder(root: Path, experiment_id: str) -> Path:
    # the name becomes a path: no way out of the folder, and no two names that become the same
    fine = _ID.fullmatch(experiment_id) and "__" not in experiment_id
    fine = fine and all(part.strip(".") for part in experiment_id.split("/"))
    require(bool(fine), f"an experiment's id reads like features/table1, got {experiment_id!r}")
    return root / experiment_id.replace("/", "__")


def _path(root: Path, experiment_id: str, scale: object) -> Path:
    require(isinstance(scale, str) and _SCALE.fullmatch(scale) is not None, f"scale must be a word, got {scale!r}")
    return _folder(root, experiment_id) / f"{scale}.json"
