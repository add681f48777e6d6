"""Outcomes as bytes and back, exactly, and never with pickle."""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import TYPE_CHECKING, Any, cast

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import InputError, require
from beyondkernels.runs.errors import DamagedError
from beyondkernels.runs.keys import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


def encode_result(outcome: Outcome) -> bytes:
    """Status and scalars; numbers that are not finite become the strings ``nan``, ``inf`` and ``-inf``."""
    require(outcome.status in ("finished", "diverged"), f"a stored run is finished or diverged, got {outcome.status!r}")
    scalars = {_name(name): _number(name, value) for name, value in outcome.scalars.items()}
    return canonical({"status": outcome.status, "scalars": scalars})


def decode_result(content: bytes) -> tuple[Any, dict[str, float]]:
    """The inverse of :func:`encode_result`: status and scalars."""
    data = json.loads(content)
    return data["status"], {name: float(value) for name, value in data["scalars"].items()}


def encode_arrays(outcome: Outcome) -> bytes:
    """Series and arrays as one uncompressed .npz archive, sorted by name, so that equal outcomes are equal bytes."""
    import numpy as np

    named = {**_named("series", outcome.series), **_named("arrays", outcome.arrays)}
    for name, array in named.items():
        require(not array.dtype.hasobject, f"{name} holds Python objects, only arrays of numbers can be stored")
    buffer = io.BytesIO()
    np.savez(buffer, **cast("Any", {name: named[name] for name in sorted(named)}))
    return buffer.getvalue()


def decode_arrays(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The inverse of :func:`encode_arrays`: series and arrays."""
    import numpy as np

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        # what is stored uncompressed cannot unfold to more than the file's size
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise DamagedError("arrays.npz is compressed, which no store writes")
    parts: dict[str, dict[str, np.ndarray]] = {"series": {}, "arrays": {}}
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for full_name in archive.files:
            part, _, name = full_name.partition("/")
            parts[part][name] = archive[full_name]
    return parts["series"], parts["arrays"]


def _named(part: str, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    import numpy as np

    return {f"{part}/{_name(name)}": np.asarray(array) for name, array in arrays.items()}


def _name(name: object) -> str:
    require(isinstance(name, str) and name != "" and name.isprintable(), f"{name!r} cannot name a result")
    return cast("str", name)


def _number(name: str, value: Any) -> float | str:
    try:
        number = float(value)
        exact = number == value or math.isnan(number)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number, exact = math.nan, False
    if not exact:
        raise InputError(f"the scalar {name} must be a number that a float holds, got {value!r}")
    return number if math.isfinite(number) else repr(number)
